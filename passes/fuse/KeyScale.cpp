// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeyScale.cpp - A scale of keys -------------------------------------===//
//
// Finds operations that scale keys, and repeats them on a query.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/KeyScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether the body gives its argument `key` times and divided by what does not
/// depend on it.
static bool isProductWith(Block *body, Value key) {
  llvm::DenseSet<Value> scaled = {key};
  for (Operation &inner : body->without_terminator()) {
    if (isa<arith::ConstantOp>(inner))
      continue;
    if (inner.getNumRegions() != 0 || inner.getNumResults() != 1 ||
        !OpTrait::hasElementwiseMappableTraits(&inner))
      return false;
    unsigned count = llvm::count_if(inner.getOperands(), [&](Value operand) {
      return scaled.contains(operand);
    });
    if (count == 0)
      continue;
    bool holds =
        isa<arith::NegFOp>(inner) ||
        (count == 1 &&
         (isa<arith::MulFOp>(inner) ||
          (isa<arith::DivFOp>(inner) && scaled.contains(inner.getOperand(0)))));
    if (!holds)
      return false;
    scaled.insert(inner.getResult(0));
  }
  return scaled.contains(body->getTerminator()->getOperand(0));
}

std::optional<KeyScale> KeyScale::match(GenericOp scale) {
  if (scale.getNumDpsInits() != 1 || !scale.hasPureTensorSemantics() ||
      scale.getNumParallelLoops() != scale.getNumLoops() ||
      !scale.getMatchingIndexingMap(scale.getDpsInitOperand(0)).isIdentity() ||
      scale.payloadUsesValueFromOperand(scale.getDpsInitOperand(0)))
    return std::nullopt;
  for (OpOperand *input : scale.getDpsInputOperands())
    if (scale.getMatchingIndexingMap(input).isIdentity() &&
        input->get().getType() == scale.getResult(0).getType() &&
        // The factors are known from the keys by their value.
        llvm::count(scale.getInputs(), input->get()) == 1 &&
        isProductWith(scale.getBody(), scale.getMatchingBlockArgument(input)))
      return KeyScale(scale, input->getOperandNumber());
  return std::nullopt;
}

bool KeyScale::variesAlong(unsigned loop) const {
  GenericOp generic = scale;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    if (input->getOperandNumber() == keyInput)
      continue;
    AffineMap map = generic.getMatchingIndexingMap(input);
    for (auto [dim, expression] : llvm::enumerate(map.getResults()))
      if (expression.isFunctionOfDim(loop) &&
          tensorType(input->get()).getDimSize(dim) != 1)
        return true;
  }
  return false;
}

Value KeyScale::scaleQuery(IRRewriter &rewriter, Value query,
                           ArrayRef<Value> factors,
                           ArrayRef<AffineMap> maps) const {
  SmallVector<Value> inputs(factors);
  SmallVector<AffineMap> allMaps(maps);
  inputs[keyInput] = query;
  allMaps[keyInput] = rewriter.getMultiDimIdentityMap(1);
  allMaps.push_back(allMaps[keyInput]);
  Location loc = GenericOp(scale).getLoc();
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, query),
      tensorType(query).getElementType());
  auto scaled = GenericOp::create(
      rewriter, loc, TypeRange(empty.getType()), inputs, ValueRange(empty),
      allMaps, {utils::IteratorType::parallel},
      [&](OpBuilder &builder, Location, ValueRange elements) {
        IRMapping mapping;
        mapping.map(getBody()->getArguments(), elements);
        for (Operation &inner : *getBody())
          builder.clone(inner, mapping);
      });
  Value result = scaled.getResult(0);
  return result.getType() == query.getType()
             ? result
             : tensor::CastOp::create(rewriter, loc, query.getType(), result)
                   .getResult();
}

std::optional<std::pair<Value, Value>> gatefold::matchRowProduct(Value value) {
  auto generic = value.getDefiningOp<GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 2 ||
      generic.getNumResults() != 1 || generic.getNumParallelLoops() != 1 ||
      generic.getNumLoops() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  Block *body = generic.getBody();
  auto product = dyn_cast<arith::MulFOp>(body->front());
  if (!product || !llvm::hasSingleElement(body->without_terminator()) ||
      product.getLhs() == product.getRhs() ||
      body->getTerminator()->getOperand(0) != product.getResult() ||
      llvm::any_of(product->getOperands(), [&](Value operand) {
        return operand != body->getArgument(0) &&
               operand != body->getArgument(1);
      }))
    return std::nullopt;
  return std::pair(generic.getInputs()[0], generic.getInputs()[1]);
}
