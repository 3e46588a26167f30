// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearMatch.cpp - Which operations are products ----------------===//
//
// Sees a sum of products, of any maps, as a product of rows and columns.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/support/ParameterValues.h"
#include "passes/tile/TileLinear.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

int64_t Contraction::count(ArrayRef<unsigned> loops) const {
  int64_t product = 1;
  for (unsigned loop : loops)
    if (ShapedType::isDynamic(ranges[loop]) ||
        llvm::MulOverflow(product, ranges[loop], product))
      return ShapedType::kDynamic;
  return product;
}

int64_t Contraction::countOverlaps() const {
  int64_t overlaps = 1;
  for (AffineExpr expression : xMap.getResults()) {
    if (isa<AffineDimExpr>(expression))
      continue;
    // Taps of a window, and by how much the next one is further on.
    SmallVector<unsigned> taps;
    for (unsigned loop : summed)
      if (expression.isFunctionOfDim(loop))
        taps.push_back(loop);
    int64_t stride = 1;
    for (unsigned row : rows) {
      SmallVector<AffineExpr> values(
          xMap.getNumDims(), getAffineConstantExpr(0, xMap.getContext()));
      values[row] = getAffineConstantExpr(1, xMap.getContext());
      if (auto step =
              dyn_cast<AffineConstantExpr>(expression.replaceDims(values)))
        stride = std::max(stride, step.getValue());
    }
    int64_t count = this->count(taps);
    if (ShapedType::isDynamic(count) ||
        llvm::MulOverflow(overlaps,
                          std::max<int64_t>(llvm::divideCeil(count, stride), 1),
                          overlaps))
      return ShapedType::kDynamic;
  }
  return overlaps;
}

bool gatefold::isZeroTensor(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return matchPattern(value, m_AnyZeroFloat());
}

static Value peelExtension(Value scalar) {
  while (auto extension = scalar.getDefiningOp<arith::ExtFOp>())
    scalar = extension.getIn();
  return scalar;
}

/// The body is out + a * b, of inputs as they are or as wider floats.
bool gatefold::isProductSum(LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 ||
      op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumResults() != 1)
    return false;
  Block *body = op.getBlock();
  Operation *yield = body->getTerminator();
  auto sum = yield->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  for (auto [sumSide, productSide] : {std::pair(sum.getLhs(), sum.getRhs()),
                                      std::pair(sum.getRhs(), sum.getLhs())}) {
    auto product = productSide.getDefiningOp<arith::MulFOp>();
    if (!product || sumSide != body->getArgument(2))
      continue;
    Value left = peelExtension(product.getLhs());
    Value right = peelExtension(product.getRhs());
    Value a = body->getArgument(0), b = body->getArgument(1);
    if ((left == a && right == b) || (left == b && right == a))
      return true;
  }
  return false;
}

LogicalResult
gatefold::markingProducts(AttentionOp op,
                          llvm::function_ref<LogicalResult()> lower) {
  // Operations of its own on both sides, since the lowering may erase any other
  // that is next to the attention.
  OpBuilder builder(op);
  Operation *before = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  builder.setInsertionPointAfter(op);
  Operation *behind = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
  LogicalResult result = lower();
  auto unit = UnitAttr::get(behind->getContext());
  for (Operation *made = before->getNextNode(); made != behind;
       made = made->getNextNode())
    made->walk([&](LinalgOp inner) {
      if (isProductSum(inner))
        inner->setAttr(attentionProductName, unit);
    });
  before->erase();
  behind->erase();
  return result;
}

static bool isSupportedElement(Type type, Type result) {
  return (type.isF16() || type.isBF16() || type.isF32() || type.isF64()) &&
         type.isF64() == result.isF64();
}

/// What an operand was before it was made wider: products take it as it is.
static Value peelWidening(Value tensor) {
  auto isSource = [](Type type) { return type.isF16() || type.isBF16(); };
  if (auto extension = tensor.getDefiningOp<arith::ExtFOp>())
    if (isSource(getElementTypeOrSelf(extension.getIn())))
      return extension.getIn();
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return tensor;
  auto extension = generic.getBody()
                       ->getTerminator()
                       ->getOperand(0)
                       .getDefiningOp<arith::ExtFOp>();
  if (!extension || extension.getIn() != generic.getBody()->getArgument(0) ||
      !isSource(extension.getIn().getType()))
    return tensor;
  return generic.getDpsInputOperand(0)->get();
}

/// Sorts the loops by the operands that they are in.
static bool classify(Contraction &contraction, std::string &reason) {
  unsigned loops = contraction.xMap.getNumDims();
  SmallVector<unsigned> inResult;
  for (AffineExpr expression : contraction.resultMap.getResults())
    inResult.push_back(cast<AffineDimExpr>(expression).getPosition());
  for (unsigned loop : inResult) {
    bool isX = contraction.xMap.isFunctionOfDim(loop);
    bool isWeight = contraction.weightsMap.isFunctionOfDim(loop);
    if (!isX && !isWeight) {
      reason = "the result repeats along a dimension";
      return false;
    }
    (isX && isWeight ? contraction.batch
     : isX           ? contraction.rows
                     : contraction.columns)
        .push_back(loop);
  }
  for (unsigned loop = 0; loop < loops; ++loop) {
    if (llvm::is_contained(inResult, loop))
      continue;
    if (!contraction.xMap.isFunctionOfDim(loop) ||
        !contraction.weightsMap.isFunctionOfDim(loop)) {
      reason = "it sums over a dimension of one operand alone";
      return false;
    }
    contraction.summed.push_back(loop);
  }
  if (contraction.summed.empty()) {
    reason = "nothing is summed";
    return false;
  }
  return true;
}

FailureOr<Contraction> gatefold::matchContraction(LinalgOp op,
                                                  std::string &reason) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[2].isProjectedPermutation() ||
      llvm::any_of(maps,
                   [](AffineMap map) { return map.getNumSymbols() != 0; })) {
    reason = "its maps are not those of a product";
    return failure();
  }
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  SmallVector<Value> operands;
  for (OpOperand *input : op.getDpsInputOperands()) {
    operands.push_back(peelWidening(input->get()));
    if (!isa<RankedTensorType>(input->get().getType()) ||
        !isSupportedElement(getElementTypeOrSelf(input->get()), result)) {
      reason = "its elements are not f16, bf16, f32 or f64";
      return failure();
    }
  }

  SmallVector<Contraction, 2> candidates;
  for (unsigned weights : {1u, 0u}) {
    Contraction candidate;
    candidate.op = op;
    candidate.x = operands[1 - weights];
    candidate.xMap = maps[1 - weights];
    candidate.weights = operands[weights];
    candidate.weightsMap = maps[weights];
    candidate.resultMap = maps[2];
    candidate.ranges = op.getStaticLoopRanges();
    candidate.isPrepared = dependsOnParametersOnly(candidate.weights);
    // A transposition that the operand comes through costs nothing here.
    while (std::optional<AffineMap> map = getTransposition(candidate.x)) {
      candidate.xMap = map->compose(candidate.xMap);
      candidate.x = candidate.x.getDefiningOp()->getOperand(0);
    }
    if (!candidate.weightsMap.isProjectedPermutation()) {
      if (reason.empty())
        reason = "its maps are not those of a product";
      continue;
    }
    if (classify(candidate, reason))
      candidates.push_back(std::move(candidate));
  }
  if (candidates.empty())
    return failure();
  if (candidates.size() == 1)
    return candidates[0];
  // Weights are packed once; else the columns are those of the result, so that
  // it comes out in its order.
  if (candidates[0].isPrepared != candidates[1].isPrepared)
    return candidates[candidates[1].isPrepared];
  unsigned last = candidates[0].resultMap.getNumResults() - 1;
  auto givesColumns = [&](const Contraction &contraction) {
    return contraction.resultMap.getNumResults() != 0 &&
           llvm::is_contained(contraction.columns,
                              contraction.resultMap.getDimPosition(last));
  };
  return candidates[!givesColumns(candidates[0]) &&
                    givesColumns(candidates[1])];
}
