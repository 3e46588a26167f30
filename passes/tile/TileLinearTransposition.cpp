// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearTransposition.cpp - Transpositions behind what follows ---===//
//
// A product leaves its columns side by side. Where the program has them
// elsewhere, as the channels of a convolution, its result is transposed; what
// follows element by element is computed before that, where the elements lie
// side by side, and the next product reads them there: the transposition is
// gone. The values are the same ones.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/TileLinear.h"

using namespace mlir;
using namespace gatefold;

std::optional<AffineMap> gatefold::getTransposition(Value value) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || !generic.hasPureTensorSemantics() ||
      generic.getNumReductionLoops() != 0)
    return std::nullopt;
  if (generic.getBody()->getTerminator()->getOperand(0) !=
      generic.getBody()->getArgument(0))
    return std::nullopt;
  AffineMap source = generic.getIndexingMapsArray()[0];
  AffineMap result = generic.getIndexingMapsArray()[1];
  if (!source.isPermutation() || !result.isIdentity())
    return std::nullopt;
  return source;
}

/// `values[place of each dimension of the source]`, from the order of the
/// result.
template <typename T>
static SmallVector<T> inSourceOrder(AffineMap map, ArrayRef<T> values) {
  SmallVector<T> ordered;
  for (AffineExpr expression : map.getResults())
    ordered.push_back(values[cast<AffineDimExpr>(expression).getPosition()]);
  return ordered;
}

Value gatefold::makeTransposition(OpBuilder &builder, Location loc,
                                  Value source, AffineMap map) {
  AffineMap inverse = inversePermutation(map);
  SmallVector<OpFoldResult> sizes = inSourceOrder<OpFoldResult>(
      inverse, tensor::getMixedSizes(builder, loc, source));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes,
                                        getElementTypeOrSelf(source.getType()));
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), source, empty,
             ArrayRef<AffineMap>{
                 map, builder.getMultiDimIdentityMap(map.getNumDims())},
             SmallVector<utils::IteratorType>(map.getNumDims(),
                                              utils::IteratorType::parallel),
             [](OpBuilder &inner, Location bodyLoc, ValueRange arguments) {
               linalg::YieldOp::create(inner, bodyLoc, arguments[0]);
             })
      .getResult(0);
}

/// Whether an operation computes element by element of `transposed`, from it
/// and from what is smaller or transposed in the same way.
static bool canFollow(linalg::GenericOp op, AffineMap map) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() != 0)
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isIdentity() ||
        op.payloadUsesValueFromOperand(&init))
      return false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap inputMap = op.getMatchingIndexingMap(input);
    if (getTransposition(input->get()) == map && inputMap.isIdentity())
      continue;
    // A transposition of a smaller operand costs little.
    unsigned used = 0;
    for (unsigned loop = 0; loop < inputMap.getNumDims(); ++loop)
      used += inputMap.isFunctionOfDim(loop);
    if (used == inputMap.getNumDims())
      return false;
  }
  return true;
}

/// The operation on what its operands are transpositions of; gives its
/// results, which are to be transposed.
static SmallVector<Value> followGeneric(IRRewriter &rewriter,
                                        linalg::GenericOp op, AffineMap map) {
  AffineMap inverse = inversePermutation(map);
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap inputMap = op.getMatchingIndexingMap(input);
    bool isTransposed =
        inputMap.isIdentity() && getTransposition(input->get()) == map;
    inputs.push_back(isTransposed ? input->get().getDefiningOp()->getOperand(0)
                                  : input->get());
    maps.push_back(isTransposed
                       ? rewriter.getMultiDimIdentityMap(map.getNumDims())
                       : inputMap.compose(inverse));
  }
  SmallVector<OpFoldResult> sizes = inSourceOrder<OpFoldResult>(
      map,
      tensor::getMixedSizes(rewriter, op.getLoc(), op.getDpsInits().front()));
  SmallVector<Type> types;
  for (Value init : op.getDpsInits()) {
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                          getElementTypeOrSelf(init.getType()));
    inits.push_back(empty);
    types.push_back(empty.getType());
    maps.push_back(rewriter.getMultiDimIdentityMap(map.getNumDims()));
  }
  auto moved =
      linalg::GenericOp::create(rewriter, op.getLoc(), types, inputs, inits,
                                maps, op.getIteratorTypesArray());
  rewriter.cloneRegionBefore(op.getRegion(), moved.getRegion(),
                             moved.getRegion().begin());
  moved.getBody()->walk([&](linalg::IndexOp index) {
    auto place = cast<AffineDimExpr>(inverse.getResult(index.getDim()));
    index.setDim(place.getPosition());
  });
  return llvm::to_vector_of<Value>(moved.getResults());
}

/// The results of `user` in the order of the source of a transposition, or
/// nothing where that costs more than it saves.
static SmallVector<Value> follow(IRRewriter &rewriter, Operation *user,
                                 Value transposed, AffineMap map) {
  Value source = transposed.getDefiningOp()->getOperand(0);
  rewriter.setInsertionPoint(user);
  if (auto generic = dyn_cast<linalg::GenericOp>(user))
    return canFollow(generic, map) ? followGeneric(rewriter, generic, map)
                                   : SmallVector<Value>();
  if (auto pad = dyn_cast<tensor::PadOp>(user)) {
    Value value = pad.getConstantPaddingValue();
    if (!value)
      return {};
    RankedTensorType type = pad.getResultType();
    auto moved = RankedTensorType::get(
        inSourceOrder<int64_t>(map, type.getShape()), type.getElementType());
    return {tensor::PadOp::create(
        rewriter, user->getLoc(), moved, source,
        inSourceOrder<OpFoldResult>(map, pad.getMixedLowPad()),
        inSourceOrder<OpFoldResult>(map, pad.getMixedHighPad()), value)};
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
    if (slice.getSource() != transposed ||
        slice.getType().getRank() != slice.getSourceType().getRank())
      return {};
    return {tensor::ExtractSliceOp::create(
        rewriter, user->getLoc(), source,
        inSourceOrder<OpFoldResult>(map, slice.getMixedOffsets()),
        inSourceOrder<OpFoldResult>(map, slice.getMixedSizes()),
        inSourceOrder<OpFoldResult>(map, slice.getMixedStrides()))};
  }
  return {};
}

void gatefold::sinkTransposition(IRRewriter &rewriter, Value transposed) {
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Value> pending = {transposed};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    std::optional<AffineMap> map = getTransposition(value);
    if (!map)
      continue;
    SetVector<Operation *> users(value.user_begin(), value.user_end());
    for (Operation *user : users) {
      SmallVector<Value> moved = follow(rewriter, user, value, *map);
      if (moved.empty())
        continue;
      SmallVector<Value> results;
      for (Value result : moved)
        results.push_back(
            makeTransposition(rewriter, user->getLoc(), result, *map));
      rewriter.replaceOp(user, results);
      llvm::append_range(pending, results);
    }
    if (value.use_empty())
      rewriter.eraseOp(value.getDefiningOp());
  }
}
