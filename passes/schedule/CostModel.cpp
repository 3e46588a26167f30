// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CostModel.cpp - What an algorithm's sizes are chosen from ----------===//
//
// The numbers behind the choice of algorithms.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CostModel.h"
#include "passes/support/Algorithms.h"
#include "passes/tile/TileAttentionOnline.h"

using namespace mlir;
using namespace gatefold;

// Queries of an attention's block: with fewer, keys and values are read too
// often.
static constexpr int64_t leastQueries = 24;

/// Bytes of a row of scores of all maps, over `keys` keys.
static int64_t scoreBytes(AttentionOp op, int64_t keys) {
  int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
  return std::clamp<int64_t>(keys, 1, int64_t(1) << 40) *
         std::clamp<int64_t>(maps, 1, 1 << 10) * 4;
}

/// Whether an attention's rows of scores are far too long for the second cache,
/// and blocks of keys cost no more products. Measured: with as many products
/// it is as fast up to one and a half times the cache, by a tenth faster at
/// three times; half as many more are made good at twelve times only.
static bool paysOnline(AttentionOp op, const TargetDescription &target) {
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  if (key.isDynamicDim(0))
    return false;
  auto query = cast<RankedTensorType>(op.getQueries().front().getType());
  int64_t queries = query.getDimSize(
      query.getRank() - 1 -
      cast<RankedTensorType>(op.getQueryArguments().front().getType())
          .getRank());
  if (ShapedType::isDynamic(queries) || queries > leastQueries)
    queries = leastQueries;
  if (queries * scoreBytes(op, key.getDimSize(0)) / 2 < target.secondCacheBytes)
    return false;
  std::optional<OnlineProducts> products = countOnlineProducts(op);
  return products && products->separate == products->together;
}

StringRef gatefold::chooseAlgorithm(Operation *op,
                                    const TargetDescription &target) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention)
    return stepsAlgorithm;
  return paysOnline(attention, target) ? onlineAlgorithm : residentAlgorithm;
}

/// Bytes of one row of a sequence: what one step holds of one batch element.
/// Open sizes count as 1.
static int64_t rowBytes(Value sequence, int64_t timeAxis) {
  auto type = cast<RankedTensorType>(sequence.getType());
  int64_t bytes = llvm::divideCeil(
      type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape().drop_front(timeAxis + 1))
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

int64_t gatefold::chooseStepRows(RecurrenceOp op,
                                 const TargetDescription &target) {
  // The other three quarters are for the weights, of which a step reads the
  // recurrent ones again and again.
  int64_t budget = target.secondCacheBytes / 4;
  // Fewer rows would read the weights of the product too often, more would not
  // be noticed.
  constexpr int64_t least = 32, most = 256;
  int64_t bytes = 0;
  for (Value sequence : op.getSequences())
    if (llvm::AddOverflow(
            bytes, rowBytes(sequence, op.getTimeAxisAttr().getInt()), bytes))
      return least;
  int64_t rows = std::clamp(budget / std::max<int64_t>(bytes, 1), least, most);
  return rows - rows % target.getTileRows();
}

AttentionBlocks gatefold::chooseBlocks(AttentionOp op, StringRef algorithm,
                                       const TargetDescription &target) {
  // More are not noticed where rows are long; where they are as short as a
  // block of keys, more read keys and values less often.
  constexpr int64_t mostResident = 48, mostOnline = 192;
  // Where the number of keys is open.
  constexpr int64_t usualKeys = 4096;
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  int64_t keys = key.isDynamicDim(0) ? usualKeys : key.getDimSize(0);
  int64_t most = mostResident;
  AttentionBlocks blocks;
  if (algorithm == onlineAlgorithm) {
    int64_t step = target.getKeyStep(Float32Type::get(op.getContext()));
    keys = target.firstCacheBytes / (leastQueries * scoreBytes(op, 1));
    keys = std::clamp<int64_t>(keys, step, 1 << 12) / step * step;
    blocks.keys = keys;
    most = mostOnline;
  }
  // Half of the cache: panels of keys and values go through the other.
  int64_t rows = std::clamp(target.secondCacheBytes / 2 / scoreBytes(op, keys),
                            leastQueries, most);
  blocks.queries = rows - rows % target.getTileRows();
  return blocks;
}

ProductForm gatefold::chooseProductForm(const TargetDescription &target,
                                        Type type, int64_t rows,
                                        int64_t columns, bool isPrepared) {
  int64_t lanes = target.getLanes(type), widest = target.getPanelWidth(type);
  // Packing reads and writes each weight once: what a row of the product costs.
  constexpr int64_t leastRows = 4;
  if (!isPrepared && !ShapedType::isDynamic(rows) && rows < leastRows)
    return {0, "its " + std::to_string(rows) +
                   " rows are fewer than packing pays for"};
  if (ShapedType::isDynamic(columns))
    return {widest, ""};
  // A sum of vectors along k fills the lanes, few columns do not.
  if (columns <= lanes / 4)
    return {0, "its " + std::to_string(columns) +
                   " columns fill too little of a vector of " +
                   std::to_string(lanes)};
  // As few panels as there are, none much emptier than the others.
  int64_t panels = llvm::divideCeil(columns, widest);
  return {std::min(widest, static_cast<int64_t>(llvm::alignTo(
                               llvm::divideCeil(columns, panels), lanes))),
          ""};
}
