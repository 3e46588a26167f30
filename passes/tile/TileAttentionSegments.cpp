// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionSegments.cpp - Packed documents -----------------------===//
//
// A query sees the keys of its own segment. Which keys that are is found by
// element; but a block of queries looks only at keys from the first one to the
// last one whose segment lies between the least and the greatest of the
// queries'. Where documents follow one another, as they are packed, these are
// the keys of the block's documents.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

/// Segments [first, first + count) of the sequence at hand.
Value AttentionTiling::takeSegments(Value segments, Value first,
                                    OpFoldResult count) {
  auto type = cast<RankedTensorType>(segments.getType());
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    offsets.push_back(type.getDimSize(dim) == 1
                          ? OpFoldResult(rewriter.getIndexAttr(0))
                          : OpFoldResult(lead[dim]));
  SmallVector<OpFoldResult> sizes(rank, rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> strides(rank, rewriter.getIndexAttr(1));
  offsets.push_back(first);
  sizes.back() = count;
  auto part = RankedTensorType::get(
      {getConstantIntValue(count).value_or(ShapedType::kDynamic)},
      type.getElementType());
  return tensor::ExtractSliceOp::create(rewriter, loc, part, segments, offsets,
                                        sizes, strides);
}

/// The segments of the block's queries and keys.
void AttentionTiling::addSegments(SmallVectorImpl<TileInput> &inputs) {
  if (!op.getQuerySegments())
    return;
  inputs.push_back(
      {takeSegments(op.getQuerySegments(), block.start, block.rows),
       mapOf({0})});
  inputs.push_back(
      {takeSegments(op.getKeySegments(), block.first, block.columns),
       mapOf({1})});
}

/// Two numbers that all elements of `values` are joined into, one after the
/// other.
std::pair<Value, Value> AttentionTiling::joinAll(Value values,
                                                 std::pair<Value, Value> start,
                                                 JoinBody join) {
  auto makeNumber = [&](Value number) -> Value {
    Value memory = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(),
                                           number.getType());
    return linalg::FillOp::create(rewriter, loc, number, memory).getResult(0);
  };
  SmallVector<Value> outputs = {makeNumber(start.first),
                                makeNumber(start.second)};
  MLIRContext *context = rewriter.getContext();
  AffineMap none = AffineMap::get(1, 0, context);
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(1, context),
                                 none, none};
  auto generic = linalg::GenericOp::create(
      rewriter, loc, TypeRange(ValueRange(outputs)), values, outputs, maps,
      {utils::IteratorType::reduction},
      [&](OpBuilder &builder, Location, ValueRange arguments) {
        auto [first, second] = join(builder, arguments);
        linalg::YieldOp::create(builder, loc, {first, second});
      });
  return {tensor::ExtractOp::create(rewriter, loc, generic.getResult(0)),
          tensor::ExtractOp::create(rewriter, loc, generic.getResult(1))};
}

/// From the first to the last of the keys [first, end) that some query of the
/// block may see; where there is none, no keys behind the last one.
std::pair<Value, Value> AttentionTiling::findSegments(Value first, Value end) {
  auto type =
      cast<IntegerType>(getElementTypeOrSelf(op.getQuerySegments().getType()));
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getIntegerAttr(type, value));
  };
  auto [low, high] = joinAll(
      takeSegments(op.getQuerySegments(), block.start, block.rows),
      {integer(APInt::getSignedMaxValue(type.getWidth())),
       integer(APInt::getSignedMinValue(type.getWidth()))},
      [&](OpBuilder &builder, ValueRange values) -> std::pair<Value, Value> {
        return {arith::MinSIOp::create(builder, loc, values[1], values[0]),
                arith::MaxSIOp::create(builder, loc, values[2], values[0])};
      });
  auto toNumber = [&](OpBuilder &builder, Value place) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      place);
  };
  Value count = greatest(minus(end, first), constant(0));
  Value least = low, most = high;
  // Places are counted from `first`.
  auto [begin, behind] = joinAll(
      takeSegments(op.getKeySegments(), first, getAsOpFoldResult(count)),
      {toNumber(rewriter, count), toNumber(rewriter, constant(0))},
      [&](OpBuilder &builder, ValueRange values) -> std::pair<Value, Value> {
        Value place =
            toNumber(builder, linalg::IndexOp::create(builder, loc, 0));
        Value one =
            arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), 1);
        Value next = arith::AddIOp::create(builder, loc, place, one);
        Value isThere = arith::AndIOp::create(
            builder, loc,
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                  values[0], least),
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                  values[0], most));
        Value earlier = arith::MinSIOp::create(builder, loc, values[1], place);
        Value later = arith::MaxSIOp::create(builder, loc, values[2], next);
        return {
            arith::SelectOp::create(builder, loc, isThere, earlier, values[1]),
            arith::SelectOp::create(builder, loc, isThere, later, values[2])};
      });
  return {plus(first, toIndex(begin)), plus(first, toIndex(behind))};
}
