// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionVisible.cpp - Parts that a row program hides ----------===//
//
// What a softmax's `where`, scores of -inf or weights of 0 hide of all queries
// of a block is found by bounds (MapBounds), at the price of some integer
// operations for each part, and not looked at.
//
// Exactness: a key that is hidden has a power of 0, which changes neither a
// maximum, a sum nor a product, and what is left begins where sums along the
// keys have the same order (alignKey).
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/MapBounds.h"
#include "passes/tile/TileAttention.h"

using namespace mlir;
using namespace gatefold;

// Keys that are looked at together, where no longer part is seen.
static constexpr int64_t smallPart = 64;

/// The number that a value of one element is in the block, if it is at hand.
Value AttentionTiling::numberOf(Value value) {
  bool isOwn = value.getParentBlock() == &op.getBody().front();
  Value whole = isOwn ? tiles.lookup(value).value : value;
  auto type = whole ? dyn_cast<RankedTensorType>(whole.getType()) : nullptr;
  if (!type)
    return whole;
  return tensor::ExtractOp::create(
      rewriter, loc, whole, SmallVector<Value>(type.getRank(), constant(0)));
}

/// The keys [first, end) of the block's queries.
MapPart AttentionTiling::partOf(Value first, Value end) {
  Value one = constant(1);
  return {block.start, minus(plus(block.start, toValue(block.rows)), one),
          first, minus(end, one), reach.offset};
}

/// Whether some query of the block may see one of the keys [first, end).
Value AttentionTiling::maySee(Value first, Value end) {
  auto number = [&](Value value) { return numberOf(value); };
  MapBounds bounds(op, body, rewriter, loc, partOf(first, end), number);
  return bounds.mayCount();
}

/// Whether a condition in the body of a structured operation may hold for some
/// query of the block and one of the keys [first, end).
Value AttentionTiling::mayHold(Value condition, linalg::LinalgOp structured,
                               int64_t keyLoop, Value first, Value end) {
  auto number = [&](Value value) { return numberOf(value); };
  MapBounds bounds(op, body, rewriter, loc, partOf(first, end), number);
  return bounds.mayHold(condition, structured, keyLoop);
}

/// From the first to behind the last of the keys [first, end) that some query
/// may see, looked at `step` at a time; no keys where there is none.
std::pair<Value, Value> AttentionTiling::findSeen(Value first, Value end,
                                                  int64_t step) {
  auto loop = scf::ForOp::create(rewriter, loc, first, end, constant(step),
                                 ValueRange{end, first});
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(loop.getBody());
  Value here = loop.getInductionVar();
  Value behind = least(plus(here, constant(step)), end);
  Value seen = maySee(here, behind);
  Value begin = loop.getRegionIterArg(0), last = loop.getRegionIterArg(1);
  begin =
      arith::SelectOp::create(rewriter, loc, seen, least(begin, here), begin);
  last = arith::SelectOp::create(rewriter, loc, seen, behind, last);
  scf::YieldOp::create(rewriter, loc, ValueRange{begin, last});
  return {loop.getResult(0), loop.getResult(1)};
}

/// What of the keys [first, end) some query of the block may see, from the
/// first to behind the last one. `first` is where sums may begin.
std::pair<Value, Value> AttentionTiling::leaveOutHidden(Value first,
                                                        Value end) {
  // Few large steps, then small ones where what is seen begins and ends.
  int64_t small = llvm::alignTo(smallPart, keyStep), large = 16 * small;
  auto [begin, behind] = findSeen(first, end, large);
  Value isEmpty = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::sge, begin, behind);
  Value endOfFirst = least(plus(begin, constant(large)), behind);
  Value last = minus(behind, constant(1));
  Value beginOfLast = plus(begin, alignDown(minus(last, begin), large));
  first = findSeen(begin, endOfFirst, small).first;
  end = findSeen(beginOfLast, behind, small).second;
  end = arith::SelectOp::create(rewriter, loc, isEmpty, first, end);
  return {alignKey(first), end};
}

/// Where the keys [first, end) may be hidden from all queries of the block, a
/// condition around what is made of them; null otherwise.
scf::IfOp AttentionTiling::enterSeen(TypeRange types, Value first, Value end) {
  if (!skipsHidden)
    return {};
  auto choice = scf::IfOp::create(rewriter, loc, types, maySee(first, end),
                                  /*withElseRegion=*/true);
  rewriter.setInsertionPointToStart(choice.thenBlock());
  return choice;
}

/// Ends it: `made` is what is made of the keys, `otherwise` what they leave.
void AttentionTiling::leaveSeen(scf::IfOp choice, ValueRange made,
                                ValueRange otherwise) {
  scf::YieldOp::create(rewriter, loc, made);
  rewriter.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(rewriter, loc, otherwise);
  rewriter.setInsertionPointAfter(choice);
}

/// Leaves out keys at the ends of a block of keys that no query sees.
void AttentionTiling::narrowKeyBlock() {
  if (!skipsHidden || keyBlock % keyStep != 0)
    return;
  auto [first, end] =
      findSeen(block.first, block.end, llvm::alignTo(smallPart, keyStep));
  block.first = first;
  block.end = greatest(first, end);
  block.columns = getAsOpFoldResult(
      least(constant(keyBlock), minus(block.end, block.first)));
  block.wholeFirst = clamp(block.wholeFirst, block.first, block.end);
  block.wholeEnd = clamp(block.wholeEnd, block.wholeFirst, block.end);
}
