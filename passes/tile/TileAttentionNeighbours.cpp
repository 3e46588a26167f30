// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionNeighbours.cpp - Score differences in blocks ----------===//
//
// Differences of scores from those of neighbouring keys, for a block of
// queries. The ends of rows are apart, so that the rest is vector code.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

/// Each sum runs from the first neighbour to the last, one that is not seen
/// adds 0: the same bits wherever the block's keys begin and end, and in
/// whatever range a key is.
void AttentionTiling::lower(RowNeighboursOp op) {
  Type element = op.getType().getElementType();
  int64_t radius = (op.getWidthAttr().getInt() - 1) / 2;
  bool onlyVisible = op.getScope() == NeighbourScope::Visible;
  Tile tile = tileOf(op.getScores());
  Value scores =
      tile.isPerQuery ? wholeTile(op.getScores()) : broadcastRow(tile);
  Value visible = onlyVisible && (hidesByPlace() || hidesByElement())
                      ? makeVisible()
                      : Value();
  Value zero = number(element, 0.0), none = constant(0), one = constant(1);
  Value reachTo = constant(radius), all = constant(2 * radius + 1);
  Value columns = toValue(block.columns);
  Value result = makeScores(element);

  // Of the columns [from, to), in which each key has all its neighbours or
  // may lack some.
  auto makeRange = [&](Value from, Value to, bool isWhole) {
    SmallVector<OpFoldResult> offsets = {rewriter.getIndexAttr(0),
                                         getAsOpFoldResult(from)};
    SmallVector<OpFoldResult> sizes = {block.rows,
                                       getAsOpFoldResult(minus(to, from))};
    SmallVector<OpFoldResult> strides(2, rewriter.getIndexAttr(1));
    auto cut = [&](Value whole) -> Value {
      return tensor::ExtractSliceOp::create(rewriter, loc, whole, offsets,
                                            sizes, strides);
    };
    SmallVector<TileInput> inputs = {{cut(scores), mapOf({0, 1})}};
    if (visible)
      inputs.push_back({cut(visible), mapOf({0, 1})});
    Value part = makeGeneric(
        inputs, {{cut(result), mapOf({0, 1})}}, false,
        [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
          Value query = linalg::IndexOp::create(builder, loc, 0);
          Value key = linalg::IndexOp::create(builder, loc, 1);
          // Neighbours are the columns base + [first, end). The whole range
          // begins at the radius: there the bounds are the same for all keys,
          // so that vectors of keys step through their neighbours together.
          Value base = key, first = none, end = all, own = reachTo;
          if (!isWhole) {
            key = arith::AddIOp::create(builder, loc, key, from);
            base = none;
            own = key;
            first = arith::SubIOp::create(builder, loc, key, reachTo);
            first = arith::MaxSIOp::create(builder, loc, first, none);
            end = arith::AddIOp::create(builder, loc, key, reachTo);
            end = arith::AddIOp::create(builder, loc, end, one);
            end = arith::MinSIOp::create(builder, loc, end, columns);
          }
          // The key itself adds s - s, which is not 0 for an infinite score.
          auto loop = scf::ForOp::create(
              builder, loc, first, end, one, ValueRange(zero),
              [&](OpBuilder &inner, Location, Value step, ValueRange carried) {
                Value other = arith::AddIOp::create(inner, loc, base, step);
                Value neighbour = tensor::ExtractOp::create(
                    inner, loc, scores, ValueRange{query, other});
                Value counts = arith::CmpIOp::create(
                    inner, loc, arith::CmpIPredicate::ne, step, own);
                if (visible) {
                  Value seen = tensor::ExtractOp::create(
                      inner, loc, visible, ValueRange{query, other});
                  counts = arith::AndIOp::create(inner, loc, counts, seen);
                }
                Value difference =
                    arith::SubFOp::create(inner, loc, values[0], neighbour);
                Value term = arith::SelectOp::create(inner, loc, counts,
                                                     difference, zero);
                Value sum = arith::AddFOp::create(inner, loc, carried[0], term);
                scf::YieldOp::create(inner, loc, sum);
              });
          Value sum = loop.getResult(0);
          if (visible)
            sum = arith::SelectOp::create(builder, loc, values[1], sum, zero);
          return {sum};
        })[0];
    result = tensor::InsertSliceOp::create(rewriter, loc, part, result, offsets,
                                           sizes, strides);
  };
  Value wholeFirst = least(reachTo, columns);
  Value wholeEnd = greatest(minus(columns, reachTo), wholeFirst);
  makeRange(none, wholeFirst, /*isWhole=*/false);
  makeRange(wholeFirst, wholeEnd, /*isWhole=*/true);
  makeRange(wholeEnd, columns, /*isWhole=*/false);
  tiles[op.getResult()] = {result, true, true, {}};
}
