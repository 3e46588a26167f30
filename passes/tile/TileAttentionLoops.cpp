// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionLoops.cpp - Loops over blocks of queries --------------===//
//
// Loops over the leading indices and over blocks of queries. What is the same
// for all queries stands in as few of them as it can; keys and values are
// packed there once.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "passes/tile/MapBounds.h"
#include "passes/tile/ResultSizes.h"
#include "passes/tile/TileAttention.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

// Packing a row costs as much as multiplying it 6 to 10 times.
static constexpr int64_t fewQueries = 2;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Whether the keys are a state of the function that rows are written into, and
/// the number of queries is open: one step, or several at once.
static bool isStepOfCache(AttentionOp op, const TargetDescription &target) {
  Value query = op.getQueries().front(), key = op.getKeys().front();
  auto type = cast<RankedTensorType>(query.getType());
  if (target.isGpu() ||
      !type.isDynamicDim(type.getRank() - 1 -
                         rankOf(op.getQueryArguments().front())))
    return false;
  while (Operation *made = key.getDefiningOp()) {
    if (auto write = dyn_cast<tensor::InsertSliceOp>(made))
      key = write.getDest();
    else if (auto loop = dyn_cast<scf::ForOp>(made))
      key = loop.getTiedLoopInit(cast<OpResult>(key))->get();
    else if (Value narrow = getExtended(key))
      key = narrow;
    else
      return false;
  }
  auto argument = cast<BlockArgument>(key);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(), attribute_names::state);
}

/// The size of a block of keys from the chosen one on that divides what packed
/// keys begin at a multiple of, or is a multiple of it: no block then begins in
/// front of the first of them.
static int64_t roundKeyBlock(int64_t keyBlock, int64_t step,
                             int64_t firstStep) {
  keyBlock = llvm::alignTo(keyBlock, step);
  if (keyBlock >= firstStep)
    return llvm::alignTo(keyBlock, firstStep);
  while (keyBlock != 0 && firstStep % keyBlock != 0)
    keyBlock += step;
  return keyBlock;
}

AttentionTiling::AttentionTiling(AttentionOp op, IRRewriter &rewriter,
                                 const TargetDescription &target,
                                 int64_t queryBlock, int64_t keyBlock)
    : op(op), rewriter(rewriter), loc(op.getLoc()), target(target), body(op),
      leadRank(op.getLeadRank()), queryBlock(queryBlock),
      keyBlock(roundKeyBlock(keyBlock, target.getKeyStep(rewriter.getF32Type()),
                             target.getFirstKeyStep(rewriter.getF32Type()))),
      keyStep(target.getFirstKeyStep(rewriter.getF32Type())),
      cutsKeys(!body.getNeedsAllKeys()),
      skipsHidden(cutsKeys && hidesParts(op, body)),
      narrowsBlocks(skipsHidden && keyBlock == 0) {}

//===----------------------------------------------------------------------===//
// Small values
//===----------------------------------------------------------------------===//

Value AttentionTiling::constant(int64_t value) {
  return arith::ConstantIndexOp::create(rewriter, loc, value);
}
Value AttentionTiling::number(Type type, double value) {
  return arith::ConstantOp::create(rewriter, loc,
                                   rewriter.getFloatAttr(type, value));
}
Value AttentionTiling::least(Value left, Value right) {
  return rewriter.createOrFold<arith::MinSIOp>(loc, left, right);
}
Value AttentionTiling::greatest(Value left, Value right) {
  return rewriter.createOrFold<arith::MaxSIOp>(loc, left, right);
}
Value AttentionTiling::plus(Value left, Value right) {
  return rewriter.createOrFold<arith::AddIOp>(loc, left, right);
}
Value AttentionTiling::minus(Value left, Value right) {
  return rewriter.createOrFold<arith::SubIOp>(loc, left, right);
}
Value AttentionTiling::clamp(Value value, Value low, Value high) {
  return least(greatest(value, low), high);
}
Value AttentionTiling::toIndex(Value integer) {
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                    integer);
}
Value AttentionTiling::toValue(OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(rewriter, loc, size);
}

static int64_t saturatingSubtract(int64_t left, int64_t right) {
  int64_t difference;
  if (!llvm::SubOverflow(left, right, difference))
    return difference;
  return right < 0 ? INT64_MAX : INT64_MIN;
}

/// offset + distance, or as far away where that lies beyond all keys: a query's
/// index added to it does not wrap.
Value AttentionTiling::away(Value offset, int64_t distance) {
  constexpr int64_t beyond = int64_t(1) << 61;
  offset = greatest(offset, constant(saturatingSubtract(-beyond, distance)));
  offset = least(offset, constant(saturatingSubtract(beyond, distance)));
  return plus(offset, constant(distance));
}

/// The element of a tensor over the first leading dimensions.
Value AttentionTiling::ofSequence(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    indices.push_back(size == 1 ? constant(0) : lead[dim]);
  return tensor::ExtractOp::create(rewriter, loc, tensor, indices);
}

/// Fixes the first dimensions of an operand, which align at the right with the
/// leading ones of the results; one of size 1 stretches.
SmallVector<FixedIndex> AttentionTiling::fixLead(Value operand,
                                                 int64_t operandLead) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<FixedIndex> fixed;
  for (int64_t dim = 0; dim < operandLead; ++dim)
    fixed.emplace_back(dim, type.getDimSize(dim) == 1
                                ? constant(0)
                                : lead[leadRank - operandLead + dim]);
  return fixed;
}

//===----------------------------------------------------------------------===//
// Which keys
//===----------------------------------------------------------------------===//

Value AttentionTiling::alignDown(Value number, int64_t step) {
  Value size = constant(step);
  number = rewriter.createOrFold<arith::DivUIOp>(loc, number, size);
  return rewriter.createOrFold<arith::MulIOp>(loc, number, size);
}
Value AttentionTiling::alignKey(Value key) { return alignDown(key, keyStep); }

/// What is known of it once the leading indices of `known` are.
void AttentionTiling::findReach(uint64_t known) {
  reach = {};
  if ((body.getReachLead() & ~known) != 0)
    return;
  reach.offset = op.getOffset() ? toIndex(ofSequence(op.getOffset()))
                                : minus(keyCount, queryCount);
  reach.end = keyCount;
  reach.hasLength = bool(op.getLengths());
  if (reach.hasLength)
    reach.end = least(keyCount, toIndex(ofSequence(op.getLengths())));
  auto endAfter = [&](int64_t right) {
    Value last = away(reach.offset, right);
    reach.last = reach.last ? least(reach.last, last) : last;
  };
  if (op.getCausal())
    endAfter(0);
  if (std::optional<ArrayRef<int64_t>> window = op.getWindow()) {
    if ((*window)[0] >= 0)
      reach.first = away(reach.offset, -(*window)[0]);
    if ((*window)[1] >= 0)
      endAfter((*window)[1]);
  }
  Value none = constant(0);
  reach.reachFirst = reach.first ? clamp(reach.first, none, keyCount) : none;
  reach.reachEnd =
      reach.last ? least(reach.end, plus(reach.last, queryCount)) : reach.end;
  if (hidesByPlace() || reach.hasLength)
    reach.reachEnd = greatest(reach.reachEnd, reach.reachFirst);
}

void AttentionTiling::findBlock(Value start) {
  block = {};
  inverses.clear();
  block.start = start;
  std::optional<int64_t> queries = getConstantIntValue(queryCount);
  int64_t surely = getConstantIntValue(mostQueries)
                       .value_or(std::min(queryBlock, target.getTileRows()));
  if (queries && *queries <= surely) {
    block.rows = block.mostRows = rewriter.getIndexAttr(*queries);
  } else {
    block.rows = least(least(minus(queryCount, start), blockRows), mostQueries);
    block.mostRows = getAsOpFoldResult(least(queryCount, mostQueries));
  }
  Value rows = toValue(block.rows), none = constant(0), one = constant(1);
  Value firstOfFirst =
      reach.first ? clamp(plus(reach.first, start), none, keyCount) : none;
  Value endOfLast = reach.last
                        ? least(reach.end, plus(plus(reach.last, start), rows))
                        : reach.end;
  if (cutsKeys && limitsKeys()) {
    if (op.getQuerySegments())
      std::tie(firstOfFirst, endOfLast) = findSegments(firstOfFirst, endOfLast);
    block.first =
        reach.first || op.getQuerySegments() ? alignKey(firstOfFirst) : none;
    if (narrowsBlocks)
      std::tie(block.first, endOfLast) =
          leaveOutHidden(block.first, clamp(endOfLast, block.first, keyCount));
    block.end = clamp(endOfLast, block.first, keyCount);
    // Never more than there are, which makes their room known before a run.
    block.columns =
        getAsOpFoldResult(least(keyCount, minus(block.end, block.first)));
  } else {
    block.first = none;
    block.end = keyCount;
    block.columns = getAsOpFoldResult(keyCount);
  }
  block.mostKeys = getAsOpFoldResult(keyCount);
  // Rows begin at lines of the cache, and not all at the same place of it, as
  // they would if their distance were a power of two.
  int64_t line = arenaAlignment / 4;
  Value lines = rewriter.createOrFold<arith::DivUIOp>(
      loc, plus(keyCount, constant(2 * line - 1)), constant(line));
  block.mostColumns = getAsOpFoldResult(
      rewriter.createOrFold<arith::MulIOp>(loc, lines, constant(line)));
  block.wholeFirst =
      reach.first ? clamp(plus(plus(reach.first, start), minus(rows, one)),
                          block.first, block.end)
                  : block.first;
  Value endOfFirst = reach.last
                         ? least(reach.end, plus(plus(reach.last, start), one))
                         : reach.end;
  block.wholeEnd = clamp(endOfFirst, block.wholeFirst, block.end);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The region for a block of queries, which looks at its keys all at once.
LogicalResult AttentionTiling::makeRows() {
  for (Operation &inner : op.getBody().front().without_terminator())
    if (inner.getNumResults() != 0 && body.isPerQuery(inner.getResult(0)) &&
        failed(lift(&inner)))
      return failure();
  return success();
}

/// Results are made in their place.
LogicalResult AttentionTiling::makeBlock(SmallVectorImpl<Value> &carried) {
  destinations.clear();
  for (auto [number, row] : llvm::enumerate(op.getYield().getValues())) {
    if (destinations.contains(row))
      continue;
    Value result = carried[number];
    auto [offsets, sizes] = findBlockOf(number, result);
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    SmallVector<int64_t> shape = {
        getConstantIntValue(block.rows).value_or(ShapedType::kDynamic)};
    // Those behind the queries are in their place in any order.
    for (OpFoldResult size : ArrayRef(sizes).drop_front(leadRank + 1))
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    auto type = RankedTensorType::get(
        shape, cast<RankedTensorType>(result.getType()).getElementType());
    destinations[row] = tensor::ExtractSliceOp::create(
        rewriter, loc, type, result, offsets, sizes, strides);
  }
  if (failed(keyBlock == 0 ? makeRows() : makeRowsOnline()))
    return failure();
  for (auto [number, row] : llvm::enumerate(op.getYield().getValues())) {
    Value &result = carried[number];
    auto [offsets, sizes] = findBlockOf(number, result);
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    Value value = wholeTile(row);
    result = tensor::InsertSliceOp::create(rewriter, loc, value, result,
                                           offsets, sizes, strides);
  }
  return success();
}

LogicalResult AttentionTiling::run() {
  rewriter.setInsertionPoint(op);
  Value query = op.getQueries().front(), key = op.getKeys().front();
  queryCount =
      getSize(rewriter, loc, query,
              rankOf(query) - 1 - rankOf(op.getQueryArguments().front()));
  keyCount = getSize(rewriter, loc, key,
                     rankOf(key) - rankOf(op.getKeyArguments().front()));
  if (std::optional<int64_t> keys = getConstantIntValue(keyCount))
    keyBlock = std::min<int64_t>(
        keyBlock, llvm::alignTo(std::max<int64_t>(*keys, 1),
                                target.getKeyStep(rewriter.getF32Type())));
  // Few queries do not pay for it, but where each is a block of its own.
  packs &= getConstantIntValue(queryCount).value_or(fewQueries + 1) >
           std::min(fewQueries, queryBlock);
  unsigned operands = op.getBody().getNumArguments() - 2;
  auto sizes = getResultSizes(
      rewriter, op, op.getNumResults(), op.getYield().getValues(),
      [&](int64_t dim) { return dim > leadRank ? dim - leadRank - 1 : -1; },
      [&](BlockArgument argument, int64_t dim) -> Value {
        if (argument.getArgNumber() >= operands)
          return {};
        Value operand = op->getOperand(argument.getArgNumber());
        return getSize(rewriter, loc, operand,
                       rankOf(operand) - rankOf(argument) + dim);
      });
  if (failed(sizes))
    return failure();
  findTransposed();
  SmallVector<Value> carried;
  for (auto [number, shape] : llvm::enumerate(*sizes)) {
    OpResult result = op->getResult(number);
    SmallVector<int64_t> order = orderOf(number);
    Type element = getResultElement(result);
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, applyPermutation(ArrayRef(shape), order), element);
    ArrayRef<int64_t> given =
        cast<RankedTensorType>(result.getType()).getShape();
    carried.push_back(
        castTo(rewriter, loc, empty,
               RankedTensorType::get(applyPermutation(given, order), element)));
  }
  for (int64_t dim = 0; dim < leadRank; ++dim)
    leadCounts.push_back(toValue(sizes->front()[dim]));
  mostQueries = findMostQueries();
  if (isStepOfCache(op, target))
    packsInBlock = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sle, queryCount, mostQueries);
  lead.assign(leadRank, Value());
  if (failed(keepUniform()))
    return failure();

  Value blocks = divideUp(queryCount, mostQueries);
  blockRows = spreadQueries(blocks);
  for (int64_t dim = 0; dim < leadRank; ++dim)
    lead[dim] = enterLoop(leadCounts[dim], constant(1), carried);
  // The last block is not empty: at most so many are in each.
  Value start = enterLoop(blocks, constant(1), carried);
  start = rewriter.createOrFold<arith::MulIOp>(loc, start, blockRows);
  uint64_t all = ~uint64_t(0);
  findReach(all);
  makeUniform(all, /*isInBlock=*/true);
  findBlock(start);
  if (failed(makeBlock(carried)))
    return failure();
  leaveLoops(leadRank + 1, carried);
  replaceResults(carried);
  return success();
}

Type AttentionTiling::getResultElement(OpResult result) {
  return getElementTypeOrSelf(result);
}

void AttentionTiling::replaceResults(ValueRange results) {
  for (auto [number, value] : llvm::enumerate(results))
    replaceResult(number, value);
  rewriter.eraseOp(op);
}

Value AttentionTiling::divideUp(Value left, Value right) {
  Value sum = plus(left, minus(right, constant(1)));
  return rewriter.createOrFold<arith::DivSIOp>(loc, sum, right);
}

/// Queries in a block, so that all blocks have about as many: a short one at
/// the end would have small products. Whole register tiles, where there are.
Value AttentionTiling::spreadQueries(Value blocks) {
  int64_t tileRows = target.getTileRows();
  if (queryBlock % tileRows != 0)
    return mostQueries;
  Value rows = divideUp(queryCount, greatest(blocks, constant(1)));
  Value tiles = divideUp(rows, constant(tileRows));
  rows = rewriter.createOrFold<arith::MulIOp>(loc, tiles, constant(tileRows));
  return least(rows, mostQueries);
}

/// How many queries a block has at most: where there are many keys, and it is
/// not known how many, whole tiles of as many as leave the rows of scores
/// small.
Value AttentionTiling::findMostQueries() {
  auto scores = op->getAttrOfType<IntegerAttr>(blockScoresName);
  int64_t tileRows = std::min(queryBlock, target.getTileRows());
  if (!scores || keyBlock != 0 || getConstantIntValue(keyCount))
    return constant(queryBlock);
  Value rows = rewriter.createOrFold<arith::DivSIOp>(
      loc, constant(std::max<int64_t>(scores.getInt(), 1)),
      greatest(keyCount, constant(1)));
  rows = greatest(alignDown(rows, tileRows), constant(tileRows));
  return least(rows, constant(queryBlock));
}

/// A loop whose iterations do not depend on each other, around what follows.
Value AttentionTiling::enterLoop(Value bound, Value step,
                                 SmallVectorImpl<Value> &carried) {
  auto loop = scf::ForOp::create(rewriter, loc, constant(0), bound, step,
                                 ValueRange(carried));
  loop->setAttr(parallelName, rewriter.getUnitAttr());
  loops.push_back(loop);
  carried.assign(loop.getRegionIterArgs().begin(),
                 loop.getRegionIterArgs().end());
  rewriter.setInsertionPointToEnd(loop.getBody());
  return loop.getInductionVar();
}

void AttentionTiling::leaveLoops(unsigned count,
                                 SmallVectorImpl<Value> &carried) {
  while (count-- > 0) {
    scf::ForOp loop = loops.pop_back_val();
    rewriter.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(rewriter, loc, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
    rewriter.setInsertionPointAfter(loop);
  }
}
