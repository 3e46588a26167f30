// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsProduct.cpp - Products with mma.sync ---------------===//
//
// vector.contract as products of squares, whose operands are loaded one by one.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gpu/SharedTile.h"
#include "passes/gpu/VectorsToThreadsSquares.h"

using namespace mlir;
using namespace gatefold;

vector::TransferReadOp gatefold::getOperandRead(Value operand) {
  if (auto extension = operand.getDefiningOp<arith::ExtFOp>())
    operand = extension.getIn();
  return operand.getDefiningOp<vector::TransferReadOp>();
}

/// Whether products alone use the value, as factors.
static bool isFactorOnly(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           auto product = dyn_cast<vector::ContractionOp>(use.getOwner());
           return product && (use.getOperandNumber() < 2);
         });
}

bool gatefold::isOperandRead(Operation *op) {
  if (auto extension = dyn_cast<arith::ExtFOp>(op))
    return extension.getIn().getDefiningOp<vector::TransferReadOp>() &&
           isFactorOnly(extension);
  auto read = dyn_cast<vector::TransferReadOp>(op);
  return read && !read->use_empty() &&
         llvm::all_of(read->getUses(), [](OpOperand &use) {
           if (auto extension = dyn_cast<arith::ExtFOp>(use.getOwner()))
             return isFactorOnly(extension);
           return isa<vector::ContractionOp>(use.getOwner()) &&
                  use.getOperandNumber() < 2;
         });
}

/// The parts of a right operand that the first of two products loads, in the
/// order in which it does, and where the second one uses them, too.
struct gatefold::RightParts {
  struct Part {
    SquareProduct::Registers columns;
    /// In front of this operation.
    Operation *place;
  };
  /// Where the first product begins, for each step of k.
  SmallVector<Operation *> steps;
  SmallVector<Part> parts;
};

namespace {
class LowerProduct : public VectorPattern<vector::ContractionOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::ContractionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  ProductOperand makeOperand(vector::ContractionOp op, OperandRole role,
                             ValueRange values,
                             ConversionPatternRewriter &rewriter) const;
};
} // namespace

/// Registers of what loops carry and of operands that are kept through them
/// together; an operand for which there is no room is loaded in each turn. The
/// others are for scores, for operands on their way, and for places.
static constexpr int64_t mostKeptRegisters = 100;

static bool isSixteenBits(Type type) { return type.isF16() || type.isBF16(); }

/// Whether something between the read and the product may write to the memory.
/// A tile in shared memory stays as it is for all that reads it.
static bool mayBeOverwritten(vector::TransferReadOp read, Operation *product) {
  if (succeeded(SharedTile::get(cast<MemRefType>(read.getBase().getType()))))
    return false;
  Operation *end = read->getBlock()->findAncestorOpInBlock(*product);
  for (Operation *op = read->getNextNode(); op != end; op = op->getNextNode())
    if (mightHaveEffect<MemoryEffects::Write>(op))
      return true;
  return end != product && mightHaveEffect<MemoryEffects::Write>(end);
}

/// Whether the operand is loaded where it is read, and not by each product.
static bool isKept(vector::TransferReadOp read, Operation *product,
                   int64_t squares, int64_t &registers) {
  if (mayBeOverwritten(read, product))
    return true;
  if (read->getBlock() == product->getBlock())
    return false;
  // Of 32 bits the parts that are multiplied are kept: they do not change.
  bool isNarrow = isSixteenBits(read.getVectorType().getElementType());
  int64_t needed = squares * (isNarrow ? 4 : 16);
  if (registers + needed > mostKeptRegisters)
    return false;
  registers += needed;
  return true;
}

ProductOperand
LowerProduct::makeOperand(vector::ContractionOp op, OperandRole role,
                          ValueRange values,
                          ConversionPatternRewriter &rewriter) const {
  bool isLeft = role == OperandRole::Left;
  Value value = isLeft ? op.getLhs() : op.getRhs();
  auto type = cast<VectorType>(value.getType());
  vector::TransferReadOp read = getOperandRead(value);
  if (isLeft && (!read || !isOperandRead(read))) {
    auto extension = value.getDefiningOp<arith::ExtFOp>();
    Type exact =
        getElementTypeOrSelf(extension ? extension.getIn().getType() : type);
    return {makeValuesLoader(function.place.getLayout(type), values),
            type.getElementType(), isSixteenBits(exact)};
  }
  // What stays where it is read, the loops around it may be new ones already.
  auto makeLoader = [&]() {
    SmallVector<Value> indices;
    for (Value index : read.getIndices())
      indices.push_back(rewriter.getRemappedValue(index));
    return makeMemoryLoader(rewriter, op.getLoc(), function, role, read,
                            rewriter.getRemappedValue(read.getBase()), indices);
  };
  Type element = read.getVectorType().getElementType();
  WarpGrid grid = function.place.getGrid();
  int64_t outer = type.getDimSize(role == OperandRole::RightColumns ? 1 : 0) /
                  (isLeft ? grid.rows : grid.columns);
  int64_t squaresOfK =
      type.getDimSize(role == OperandRole::RightColumns ? 0 : 1) /
      (16 * grid.terms);
  int64_t squaresOfOuter = llvm::divideCeil(outer, 16);
  std::pair<Operation *, int> key(read, int(role));
  if (function.kept.count(key) == 0 &&
      !isKept(read, op, squaresOfOuter * squaresOfK, function.registers))
    return {makeLoader(), element, isSixteenBits(element)};
  std::shared_ptr<OperandLoader> &kept = function.kept[key];
  if (!kept) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(read);
    kept =
        makeKeptLoader(rewriter, op.getLoc(), *makeLoader(), outer, squaresOfK);
  }
  return {kept, element, isSixteenBits(element)};
}

/// Stands for a place between operations. Nothing uses its result.
static Operation *createPlace(OpBuilder &builder, Location loc) {
  return arith::ConstantIntOp::create(builder, loc, 0, 1);
}

LogicalResult
LowerProduct::matchAndRewrite(vector::ContractionOp op, OneToNOpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  VectorLayout layout =
      function.place.getLayout(cast<VectorType>(op.getResultType()));
  Type element = op.getLhsType().getElementType();
  AffineMap rightMap = op.getIndexingMapsArray()[1];
  bool hasRowsOfK = rightMap.getResult(0) == rewriter.getAffineDimExpr(2);
  OperandRole role =
      hasRowsOfK ? OperandRole::RightColumns : OperandRole::RightRows;
  // The second of two products stands in what the first one has become.
  auto joined = op->getAttrOfType<BoolAttr>(joinedName);
  bool isFirst = joined && joined.getValue(), isSecond = joined && !isFirst;
  if (isFirst)
    function.rightParts = std::make_shared<RightParts>();
  RightParts *shared = joined ? function.rightParts.get() : nullptr;
  if (isSecond)
    rewriter.setInsertionPoint(shared->steps.front());
  ProductOperand left =
      makeOperand(op, OperandRole::Left, adaptor.getLhs(), rewriter);
  ProductOperand right;
  if (!isSecond)
    right = makeOperand(op, role, {}, rewriter);
  SmallVector<Value> sums(adaptor.getAcc());
  SquareProduct product(rewriter, loc, element, left, right,
                        function.hasFastProducts);
  int64_t rowTiles = layout.getRowTiles();
  int64_t columnTiles = layout.getColumnTiles();
  auto add = [&](ArrayRef<SquareProduct::Registers> rows,
                 const SquareProduct::Registers &columns, int64_t tile) {
    for (int64_t i = 0; i < rowTiles; ++i) {
      int64_t first = layout.getIndex(2 * i, 2 * tile);
      int64_t second = layout.getIndex(2 * i + 1, 2 * tile);
      Accumulators part = {sums[first], sums[first + 1], sums[second],
                           sums[second + 1]};
      product.add(part, rows[i], columns);
      sums[first] = part[0];
      sums[first + 1] = part[1];
      sums[second] = part[2];
      sums[second + 1] = part[3];
    }
  };
  int64_t squaresOfK =
      op.getLhsType().getDimSize(1) / (16 * function.place.getGrid().terms);
  for (int64_t k = 0; k < squaresOfK; ++k) {
    if (isFirst)
      shared->steps.push_back(createPlace(rewriter, loc));
    if (isSecond)
      rewriter.setInsertionPoint(shared->steps[k]);
    SmallVector<SquareProduct::Registers> rows;
    for (int64_t i = 0; i < rowTiles; ++i)
      rows.push_back(product.getLeft(
          left.loader->load(rewriter, loc, i, k, /*isHalf=*/false)));
    OperandSquare square;
    for (int64_t j = 0; j < columnTiles; ++j) {
      if (isSecond) {
        const RightParts::Part &part = shared->parts[k * columnTiles + j];
        rewriter.setInsertionPoint(part.place);
        add(rows, part.columns, j);
        continue;
      }
      bool isHalf = j + 1 == columnTiles;
      if (j % 2 == 0)
        square = right.loader->load(rewriter, loc, j / 2, k, isHalf);
      SquareProduct::Registers columns =
          product.getRight(ArrayRef<OperandPair>(square).slice(2 * (j % 2), 2));
      add(rows, columns, j);
      if (isFirst)
        shared->parts.push_back({columns, createPlace(rewriter, loc)});
    }
  }
  rewriter.replaceOpWithMultiple(op, {sums});
  return success();
}

void gatefold::populateProductPatterns(const VectorFunction &function,
                                       RewritePatternSet &patterns) {
  patterns.add<LowerProduct>(patterns.getContext(), function);
}
