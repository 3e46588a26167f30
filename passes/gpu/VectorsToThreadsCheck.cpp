// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsCheck.cpp - What is known on vectors ---------------===//
//
// Refuses what gf-vectors-to-threads cannot lower, each with its reason, so
// that the patterns need no second look.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/SharedTile.h"
#include "passes/gpu/VectorsToThreads.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

namespace {
class VectorCheck {
public:
  explicit VectorCheck(WarpGrid grid) : grid(grid) {}
  LogicalResult check(Operation *op);

private:
  LogicalResult checkLayout(Operation *op, Type type);
  LogicalResult checkTransfer(VectorTransferOpInterface op);
  LogicalResult checkConstant(arith::ConstantOp op);
  LogicalResult checkBroadcast(vector::BroadcastOp op);
  LogicalResult checkShapeCast(vector::ShapeCastOp op);
  LogicalResult checkSlice(vector::ExtractStridedSliceOp op);
  LogicalResult checkReduction(vector::MultiDimReductionOp op);
  LogicalResult checkProduct(vector::ContractionOp op);
  LogicalResult checkOther(Operation *op);

  WarpGrid grid;
};
} // namespace

static bool isVector(Type type) { return isa<VectorType>(type); }

LogicalResult VectorCheck::checkLayout(Operation *op, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || succeeded(VectorLayout::get(vector, grid)))
    return success();
  return op->emitError("no warps share ")
         << vector << ": of " << grid.rows << " x " << grid.columns
         << " each takes rows in groups of 16 and columns in groups of 8";
}

LogicalResult VectorCheck::checkTransfer(VectorTransferOpInterface op) {
  if (op.getMask())
    return op->emitError("a vector that is read or written under a mask is not "
                         "compiled for a GPU");
  if (!isa<MemRefType>(op.getBase().getType()))
    return op->emitError("reads or writes no buffer but ")
           << op.getBase().getType();
  AffineMap map = op.getPermutationMap();
  int64_t last = -1;
  for (AffineExpr result : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim)
      continue;
    if (int64_t(dim.getPosition()) <= last)
      return op->emitError("a transposed vector is not compiled for a GPU");
    last = dim.getPosition();
  }
  return success();
}

LogicalResult VectorCheck::checkConstant(arith::ConstantOp op) {
  if (isa<SplatElementsAttr>(op.getValue()))
    return success();
  return op.emitError("the numbers of a constant vector differ; threads know "
                      "of ones that are all the same");
}

LogicalResult VectorCheck::checkBroadcast(vector::BroadcastOp op) {
  auto source = dyn_cast<VectorType>(op.getSourceType());
  if (!source || isUseOfStep(op) || source.getRank() == op.getType().getRank())
    return success();
  return op.emitError("a vector of rank ")
         << source.getRank() << " is no tile, row or column of "
         << op.getType();
}

LogicalResult VectorCheck::checkShapeCast(vector::ShapeCastOp op) {
  VectorType from = op.getSourceVectorType(), to = op.getType();
  auto getColumns = [](VectorType type) {
    return type.getRank() == 2 ? type.getDimSize(1) : 1;
  };
  if (isUseOfStep(op)) {
    if (to.getRank() == 2 && (to.getDimSize(0) == 1) != (to.getDimSize(1) == 1))
      return success();
  } else if (from.getRank() <= 2 && to.getRank() <= 2 &&
             from.getDimSize(0) == to.getDimSize(0) &&
             getColumns(from) == getColumns(to)) {
    return success();
  }
  return op.emitError("threads do not have ")
         << to << " where they have " << from;
}

LogicalResult VectorCheck::checkSlice(vector::ExtractStridedSliceOp op) {
  VectorType from = op.getSourceVectorType(), to = op.getType();
  if (from.getRank() == 2 && to.getRank() == 2 && !op.hasNonUnitStrides() &&
      from.getDimSize(0) == to.getDimSize(0) && from.getDimSize(1) % 8 == 0 &&
      to.getDimSize(1) % 8 == 0 &&
      cast<IntegerAttr>(op.getOffsets()[1]).getInt() % 8 == 0 &&
      grid.columns == 1)
    return success();
  return op.emitError("a warp has all rows of whole groups of 8 columns, and "
                      "takes nothing else from ")
         << from << "; found " << to;
}

LogicalResult VectorCheck::checkReduction(vector::MultiDimReductionOp op) {
  auto dims = op.getReductionDims();
  Type element = op.getSourceVectorType().getElementType();
  if (op.getSourceVectorType().getRank() != 2 || dims.size() != 1 ||
      dims[0] != 1)
    return op.emitError("a reduction that is not along the rows of a tile is "
                        "not compiled for a GPU");
  if (op.getSourceVectorType().getDimSize(1) == 1)
    return op.emitError("reduces rows of one element");
  if (grid.columns != 1)
    return op.emitError("a row lies in ")
           << grid.columns << " warps; reductions are within one";
  if (!element.isF32() && !element.isF16() && !element.isBF16() &&
      !(element.isInteger() && element.getIntOrFloatBitWidth() <= 32))
    return op.emitError("lanes do not exchange ") << element;
  return success();
}

LogicalResult VectorCheck::checkProduct(vector::ContractionOp op) {
  AffineExpr m, n, k;
  bindDims(op.getContext(), m, n, k);
  using Maps = ArrayRef<ArrayRef<AffineExpr>>;
  auto hasMaps = [&](Maps maps) {
    return op.getIndexingMapsArray() ==
           AffineMap::inferFromExprList(maps, op.getContext());
  };
  if (op.getKind() != vector::CombiningKind::ADD ||
      !(hasMaps({{m, k}, {n, k}, {m, n}}) || hasMaps({{m, k}, {k, n}, {m, n}})))
    return op.emitError("a product of [M, K] with [N, K] or [K, N] is compiled "
                        "for a GPU, and no other");
  Type left = op.getLhsType().getElementType();
  Type right = op.getRhsType().getElementType();
  if (left != right || !(left.isF32() || left.isF16() || left.isBF16()))
    return op.emitError("products are of two operands in f32, f16 or bf16, "
                        "not of ")
           << left << " with " << right;
  if (!cast<VectorType>(op.getAccType()).getElementType().isF32())
    return op.emitError("sums of products are in f32, not in ")
           << op.getAccType();
  bool hasRowsOfK = op.getIndexingMapsArray()[1].getResult(0) == k;
  int64_t length = op.getLhsType().getDimSize(1);
  int64_t columns = op.getRhsType().getDimSize(hasRowsOfK ? 1 : 0);
  if (length % (16 * grid.terms) != 0 || op.getLhsType().getDimSize(0) == 1 ||
      columns == 1)
    return op.emitError("a product is of whole tiles, and of a multiple of ")
           << 16 * grid.terms << " terms; found " << op.getLhsType() << " with "
           << op.getRhsType();
  if (!getOperandRead(op.getRhs()))
    return op.emitError("the second operand of a product is read from memory, "
                        "perhaps extended; this one is computed");
  auto read = getOperandRead(op.getLhs());
  if (!read || !isOperandRead(read)) {
    if (grid.columns != 1)
      return op.emitError("the first operand is computed, and of a row a warp "
                          "has a part of ")
             << grid.columns << " alone";
    if (grid.terms != 1)
      return op.emitError("the first operand is computed, and warps share its "
                          "terms");
    return checkLayout(op, op.getLhsType());
  }
  return success();
}

LogicalResult VectorCheck::checkOther(Operation *op) {
  if (isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op))
    return success();
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
    return success();
  return op->emitError("'")
         << op->getName() << "' on vectors is not compiled for a GPU";
}

LogicalResult VectorCheck::check(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), isVector) &&
      llvm::none_of(op->getResultTypes(), isVector))
    return success();
  LogicalResult result =
      TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](VectorTransferOpInterface op) { return checkTransfer(op); })
          .Case([&](arith::ConstantOp op) { return checkConstant(op); })
          .Case([&](vector::BroadcastOp op) { return checkBroadcast(op); })
          .Case([&](vector::ShapeCastOp op) { return checkShapeCast(op); })
          .Case(
              [&](vector::ExtractStridedSliceOp op) { return checkSlice(op); })
          .Case([&](vector::MultiDimReductionOp op) {
            return checkReduction(op);
          })
          .Case([&](vector::ContractionOp op) { return checkProduct(op); })
          .Case([&](vector::GatherOp) { return success(); })
          .Case([&](vector::StepOp step) -> LogicalResult {
            for (Operation *user : step->getUsers())
              if (!isUseOfStep(user))
                return step.emitError("numbers are those of rows or of "
                                      "columns, by vector.shape_cast or "
                                      "vector.broadcast alone");
            return success();
          })
          .Default([&](Operation *op) { return checkOther(op); });
  if (failed(result))
    return failure();
  // Operands of products have forms of their own.
  if (isOperandRead(op) || isa<vector::StepOp>(op))
    return success();
  for (Type type : op->getResultTypes())
    if (failed(checkLayout(op, type)))
      return failure();
  return success();
}

LogicalResult gatefold::checkVectors(func::FuncOp function, WarpGrid grid) {
  VectorCheck checker(grid);
  WalkResult result = function.walk(
      [&](Operation *op) { return WalkResult(checker.check(op)); });
  return failure(result.wasInterrupted());
}
