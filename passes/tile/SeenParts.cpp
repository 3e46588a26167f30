// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SeenParts.cpp - Which parts of score maps are seen -----------------===//
//
// Whether and how much an attention's region hides by parts, before there is
// code for it: bounds of a part whose place is known fold to constants.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/MapBounds.h"
#include "passes/tile/TileAttentionOnline.h"

using namespace mlir;
using namespace gatefold;

bool gatefold::hidesParts(AttentionOp op, const AttentionBody &body) {
  // All that is made of keys goes into sums then, to which what is hidden adds
  // nothing.
  if (OnlineForm(op, body).getObstacle())
    return false;
  Block scratch;
  Location loc = op.getLoc();
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  auto place = [&]() -> Value {
    return scratch.addArgument(builder.getIndexType(), loc);
  };
  MapPart part = {place(), place(), place(), place(), place()};
  auto numberOf = [&](Value value) -> Value {
    return scratch.addArgument(getElementTypeOrSelf(value.getType()), loc);
  };
  MapBounds bounds(op, body, builder, loc, part, numberOf);
  Value maybe = bounds.mayCount();
  return !matchPattern(maybe, m_One()) && !matchPattern(maybe, m_Zero());
}

/// Whether some query may make something of a part whose place is known.
static bool mayCount(AttentionOp op, const AttentionBody &body, int64_t row,
                     int64_t endRow, int64_t key, int64_t endKey,
                     int64_t offset) {
  Block scratch;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&scratch);
  auto place = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, op.getLoc(), value);
  };
  MapPart part = {place(row), place(endRow - 1), place(key), place(endKey - 1),
                  place(offset)};
  auto numberOf = [](Value) { return Value(); };
  MapBounds bounds(op, body, builder, op.getLoc(), part, numberOf);
  return !matchPattern(bounds.mayCount(), m_Zero());
}

/// As `findSeenShare`, of a region that is prepared.
static double countSeen(AttentionOp op, const AttentionBody &body,
                        int64_t queries, int64_t keys) {
  constexpr int64_t mostRows = 128, mostBlocks = 16, leastKeys = 64,
                    mostParts = 32;
  int64_t offset = keys - queries;
  int64_t size =
      std::max<int64_t>(leastKeys, llvm::divideCeil(keys, mostParts));
  int64_t blocks = llvm::divideCeil(queries, mostRows);
  int64_t step = llvm::divideCeil(blocks, mostBlocks);
  int64_t seen = 0, spanned = 0;
  for (int64_t index = 0; index < blocks; index += step) {
    int64_t row = index * mostRows, endRow = std::min(queries, row + mostRows);
    int64_t first = 0, end = keys;
    if (op.getCausal())
      end = std::clamp<int64_t>(endRow + offset, 0, keys);
    if (std::optional<ArrayRef<int64_t>> window = op.getWindow())
      if ((*window)[0] >= 0 && (*window)[0] < row + offset)
        first = std::min(end, row + offset - (*window)[0]);
    std::optional<int64_t> firstSeen;
    int64_t lastSeen = 0;
    for (int64_t part = first / size; part * size < end; ++part) {
      if (!mayCount(op, body, row, endRow, part * size,
                    std::min(keys, (part + 1) * size), offset))
        continue;
      ++seen;
      firstSeen = firstSeen.value_or(part);
      lastSeen = part;
    }
    if (firstSeen)
      spanned += lastSeen - *firstSeen + 1;
  }
  return spanned == 0 ? 1.0 : double(seen) / spanned;
}

double gatefold::findSeenShare(AttentionOp op, int64_t queries, int64_t keys) {
  IRRewriter rewriter(op.getContext());
  rewriter.setInsertionPoint(op);
  auto copy = cast<AttentionOp>(rewriter.clone(*op));
  prepareAttentionBody(copy, rewriter);
  double share = 1.0;
  {
    AttentionBody body(copy);
    if (hidesParts(copy, body))
      share = countSeen(copy, body, queries, keys);
  }
  rewriter.eraseOp(copy);
  return share;
}
