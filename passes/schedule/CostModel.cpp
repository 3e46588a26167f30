// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CostModel.cpp - What an algorithm's sizes are chosen from ----------===//
//
// The numbers behind the choice of algorithms.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CostModel.h"
#include "passes/schedule/ScoreRows.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "passes/tile/MapBounds.h"
#include "passes/tile/RecurrenceScanForm.h"
#include "passes/tile/TileAttentionOnline.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

// Queries of an attention's block: with fewer, keys and values are read too
// often.
static constexpr int64_t leastQueries = 24;
// Where the number of keys is open.
static constexpr int64_t usualKeys = 4096;

/// Bytes of a row of scores of all maps, over `keys` keys.
static int64_t scoreBytes(AttentionOp op, int64_t keys) {
  int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
  return std::clamp<int64_t>(keys, 1, int64_t(1) << 40) *
         std::clamp<int64_t>(maps, 1, 1 << 10) * 4;
}

/// Number of an attention's queries.
static int64_t countQueries(AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQueries().front().getType());
  return query.getDimSize(
      query.getRank() - 1 -
      cast<RankedTensorType>(op.getQueryArguments().front().getType())
          .getRank());
}

/// Whether going through blocks of keys spares more products with keys that
/// are hidden from a block of queries than it has more of.
static bool paysSkipping(AttentionOp op, const OnlineProducts &products) {
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  int64_t keys = key.isDynamicDim(0) ? usualKeys : key.getDimSize(0);
  int64_t queries = countQueries(op);
  if (ShapedType::isDynamic(queries))
    queries = keys;
  int64_t scores = llvm::range_size(op.getBody().getOps<RowScoresOp>());
  double more = double(scores + products.separate) /
                std::max<int64_t>(scores + products.together, 1);
  // A block of keys more is hidden at its ends, and sums are scaled.
  constexpr double most = 0.8;
  double share = findSeenShare(op, queries, keys);
  return share < 1 && share * more < most;
}

/// Whether an attention's rows of scores are far too long for the second cache,
/// and blocks of keys cost no more products. Measured: with as many products
/// it is as fast up to one and a half times the cache, by a tenth faster at
/// three times; half as many more are made good at twelve times only.
static bool paysOnline(AttentionOp op, const TargetDescription &target) {
  std::optional<OnlineProducts> products = countOnlineProducts(op);
  if (!products)
    return false;
  if (paysSkipping(op, *products))
    return true;
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  if (key.isDynamicDim(0))
    return false;
  int64_t queries = countQueries(op);
  if (ShapedType::isDynamic(queries) || queries > leastQueries)
    queries = leastQueries;
  if (queries * scoreBytes(op, key.getDimSize(0)) / 2 < target.secondCacheBytes)
    return false;
  return products->separate == products->together;
}

//===----------------------------------------------------------------------===//
// Attention in registers
//===----------------------------------------------------------------------===//

/// Whether some product is of 32-bit operands.
static bool hasFloats(const RegistersProducts &products) {
  return llvm::any_of(llvm::concat<const RegistersProducts::Product>(
                          products.scores, products.values),
                      [](const RegistersProducts::Product &product) {
                        return product.bytes > 2;
                      });
}

/// Of a thread block's queries M and of K keys at a time. A warp has 16 rows at
/// a time, of which a thread has two, and of each 8 columns two elements: a
/// tile of 16 rows and n columns of f32 takes n / 2 registers, one of 16 bits n
/// / 4.
///
///   sums:    E / 2 for each product with values of E columns
///   scores:  K / 2 for each map, and two more where many operations make
///            them; beside 16-bit values K / 4 where some do
///   powers:  K / 4 for each 16-bit product with values, and E / 8 of values on
///            their way where these are more than 128 columns; of f32 two parts
///            of a step of tensor cores, which is 16 keys
///   queries: D / 4 for each of D columns that meets 16-bit keys, else two
///            parts of it, as far as there is room beside what the loop carries
///            (gf-vectors-to-threads); else they stay in shared memory, where
///            those of 16 bits have a place for each step; so have keys of
///            several maps that are wider than 128, four with segments. D / 2
///            for each that is computed, and parts of steps
///   state:   the maximum and the sum of each map, two for each other number
///            of a query that scores are made of, as those of the last keys of
///            a diff-window
///   hiding:  where scores beside 16-bit values are hidden or added to, K / 4
///            for each such restriction, with addresses, and for each map but
///            the first; a condition of the text is two. Segments are numbers
///            of 64 bits of each key, K / 2, with two restrictions more K. Of
///            f32 the rest has room for all but a mask of more than two maps
///   the rest: addresses, keys and values on their way, of f32 in two parts
///
/// Shared memory holds two stages of K rows of all keys and values, and M rows
/// of queries. Two maps, D = 64, E = 128 in 16 bits, K = 32: 128 + 32 + 16 + 8
/// + 8 and the rest, where `ptxas` was seen to use 245 to 253. In f32, K = 16:
/// 128 + 16 + 32 + 8 and the rest, 254 or 255. The rests are what they must be
/// for no attention of the library to spill, D and E from 32 to 128, plain and
/// with each restriction, on sm_80, sm_90 and sm_120; some above the sum do not
/// either.
static RegistersNeed needOf(const RegistersProducts &products,
                            AttentionBlocks blocks,
                            const TargetDescription &target) {
  constexpr int64_t halfRest = 40, floatRest = 71, mostKept = 100, stages = 2,
                    usualColumns = 128, partsOfStep = 12, someOperations = 4,
                    manyOperations = 16;
  int64_t warps = target.blockThreads / TargetDescription::warpThreads;
  int64_t tiles = llvm::divideCeil(blocks.queries, registerTile * warps);
  int64_t sums = 0, powers = 0, queries = 0, rowBytes = 0, queryBytes = 0;
  bool isFloat = hasFloats(products);
  int64_t maps = std::max(products.scores.size(), products.values.size());
  for (const RegistersProducts::Product &value : products.values) {
    sums += value.columns / 2;
    powers += value.bytes > 2 ? registerTile : blocks.keys / 4;
    if (value.bytes == 2 && value.columns > usualColumns)
      powers += value.columns / 8;
    if (!value.isShared)
      rowBytes += value.columns * value.bytes;
  }
  int64_t state = 4 * maps + 2 * products.queryNumbers;
  for (const RegistersProducts::Product &score : products.scores) {
    bool isNarrow = score.bytes == 2;
    int64_t kept = isNarrow ? score.columns / 4 : score.columns;
    if (!score.isQueryComputed && sums + state + queries + kept <= mostKept)
      queries += kept;
    else if (isNarrow)
      queries += score.columns / registerTile;
    if (isNarrow && maps > 1 && score.columns > usualColumns)
      queries += (products.hasSegments ? 4 : 1) * score.columns / registerTile;
    if (!score.isShared)
      rowBytes += score.columns * score.bytes;
    queryBytes += score.columns * score.bytes;
  }
  for (int64_t columns : products.computedQueries)
    queries += columns / 2 + partsOfStep;
  int64_t hiding = 0;
  bool hasHalves = llvm::any_of(products.values,
                                [](const RegistersProducts::Product &product) {
                                  return product.bytes == 2;
                                });
  if (!hasHalves && products.hasMask && maps > 2)
    hiding = (maps - 2) * blocks.keys / 2;
  else if (hasHalves && products.restrictions != 0)
    hiding = (products.restrictions + maps - 1) * blocks.keys / 4 +
             2 * products.restrictions +
             (products.hasSegments
                  ? blocks.keys / (products.restrictions > 2 ? 1 : 2)
                  : 0);
  int64_t scores = maps * blocks.keys / 2;
  if (products.scoreOperations >= manyOperations)
    scores += blocks.keys;
  else if (hasHalves && products.scoreOperations >= someOperations)
    scores += blocks.keys / 4;
  return {tiles * (sums + scores + hiding + powers + queries + state) +
              (isFloat ? floatRest : halfRest),
          stages * blocks.keys * rowBytes + blocks.queries * queryBytes};
}

RegistersNeed gatefold::needOfRegisters(AttentionOp op, AttentionBlocks blocks,
                                        const TargetDescription &target) {
  return needOf(findRegistersProducts(op), blocks, target);
}

/// As many keys as fit, with as many queries as there are warps for; keys are 0
/// where none fit.
static AttentionBlocks chooseRegisters(AttentionOp op,
                                       const RegistersProducts &products,
                                       const TargetDescription &target) {
  // More keys spare little, and are more columns to hide at the ends; in f32
  // row programs of some length have taken the registers that they need.
  constexpr int64_t mostQueries = 128;
  int64_t mostKeys = hasFloats(products) ? 32 : 64;
  // PTX has no more for a thread.
  int64_t mostRegisters =
      std::min<int64_t>(255, target.multiprocessorRegisters /
                                 std::max<int64_t>(target.blockThreads, 1));
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  int64_t queries = countQueries(op), keyCount = key.getDimSize(0);
  int64_t most = mostQueries;
  if (!ShapedType::isDynamic(queries))
    while (most > registerTile && most / 2 >= queries)
      most /= 2;
  int64_t longest = mostKeys;
  if (!ShapedType::isDynamic(keyCount))
    longest = std::min<int64_t>(
        longest, llvm::alignTo(std::max<int64_t>(keyCount, 1), registerTile));
  // Fewer rows than warps have tiles for leave warps without work, and yet are
  // far ahead of scores in memory.
  for (int64_t rows = most; rows >= registerTile; rows /= 2)
    for (int64_t keys = longest; keys >= registerTile;
         keys = llvm::alignDown(keys / 2, registerTile)) {
      RegistersNeed need = needOf(products, {rows, keys}, target);
      if (need.registers <= mostRegisters &&
          need.sharedBytes <= target.blockSharedBytes)
        return {rows, keys};
    }
  return {most, 0};
}

bool gatefold::lacksRegistersForQueries(AttentionOp op,
                                        const TargetDescription &target) {
  RegistersProducts products = findRegistersProducts(op);
  if (!products.obstacle.empty() || products.computedQueries.empty())
    return false;
  AttentionBlocks computed = chooseRegisters(op, products, target);
  products.computedQueries.clear();
  for (RegistersProducts::Product &score : products.scores)
    score.isQueryComputed = false;
  AttentionBlocks given = chooseRegisters(op, products, target);
  return given.queries * given.keys > computed.queries * computed.keys;
}

std::string gatefold::whyNotInRegisters(AttentionOp op,
                                        const TargetDescription &target) {
  RegistersProducts products = findRegistersProducts(op);
  if (!products.obstacle.empty())
    return products.obstacle;
  if (chooseRegisters(op, products, target).keys != 0)
    return "";
  RegistersNeed need = needOf(products, {registerTile, registerTile}, target);
  return "it needs " + std::to_string(need.registers) +
         " registers of a thread and " + std::to_string(need.sharedBytes) +
         " bytes of shared memory with the smallest blocks";
}

StringRef gatefold::chooseAlgorithm(Operation *op,
                                    const TargetDescription &target) {
  if (auto recurrence = dyn_cast<RecurrenceOp>(op))
    return ScanForm(recurrence).isScan() ? scanAlgorithm : stepsAlgorithm;
  auto attention = cast<AttentionOp>(op);
  if (target.isGpu() && whyNotInRegisters(attention, target).empty())
    return registersAlgorithm;
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
  constexpr int64_t least = 32;
  int64_t most = 256;
  // A block is what all of a GPU's thread blocks compute together, and meet
  // for: they share the cache, and it is to be enough for all of them.
  if (target.isGpu()) {
    budget *= target.multiprocessors;
    most = 4096;
  }
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
  if (algorithm == registersAlgorithm) {
    AttentionBlocks blocks =
        chooseRegisters(op, findRegistersProducts(op), target);
    // Of what a user chose the lowering says why it cannot be.
    blocks.keys = std::max(blocks.keys, registerTile);
    return blocks;
  }
  // More are not noticed where rows are long; where they are as short as a
  // block of keys, more read keys and values less often.
  constexpr int64_t mostResident = 48, mostOnline = 192;
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
  if (algorithm != residentAlgorithm || target.isGpu())
    return blocks;
  // Fewer are hardly slower: panels come from the next cache, and a product
  // takes no more of its rows at once.
  int64_t scores = mostRowBytes / countRowBytes(op);
  if (key.isDynamicDim(0)) {
    blocks.scores = scores;
    return blocks;
  }
  int64_t tileRows = target.getTileRows();
  int64_t fit = scores / std::max<int64_t>(keys, 1);
  fit = std::max(fit - fit % tileRows, tileRows);
  blocks.queries = std::min(blocks.queries, fit);
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
