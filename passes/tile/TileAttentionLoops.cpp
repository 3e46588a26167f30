// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionLoops.cpp - Loops over blocks of queries --------------===//
//
// Loops over the leading indices and over blocks of queries. What is the same
// for all queries stands in as few of them as it can; keys and values are packed
// there once.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/tile/ResultSizes.h"
#include "passes/tile/TileAttention.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

AttentionTiling::AttentionTiling(AttentionOp op, IRRewriter &rewriter,
                                 const TargetDescription &target,
                                 int64_t queryBlock)
    : op(op), rewriter(rewriter), loc(op.getLoc()), target(target), body(op),
      leadRank(op.getLeadRank()), queryBlock(queryBlock),
      cutsKeys(!body.getNeedsAllKeys()) {}

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
  return tensor::ExtractOp::create(
      rewriter, loc, tensor, ArrayRef<Value>(lead).take_front(rankOf(tensor)));
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

Value AttentionTiling::alignKey(Value key) {
  // What a reduction adds up side by side, in whole panels of every type.
  Value step = constant(std::max(
      target.vectorBytes, target.getPanelWidth(rewriter.getF32Type())));
  key = rewriter.createOrFold<arith::DivUIOp>(loc, key, step);
  return rewriter.createOrFold<arith::MulIOp>(loc, key, step);
}

void AttentionTiling::findReach() {
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
  reach.reachEnd = greatest(reach.reachEnd, reach.reachFirst);
}

void AttentionTiling::findBlock(Value start) {
  block = {};
  inverses.clear();
  block.start = start;
  std::optional<int64_t> queries = getConstantIntValue(queryCount);
  if (queries && *queries <= queryBlock) {
    block.rows = block.mostRows = rewriter.getIndexAttr(*queries);
  } else {
    Value most = constant(queryBlock);
    block.rows = least(minus(queryCount, start), most);
    block.mostRows = queries ? OpFoldResult(rewriter.getIndexAttr(queryBlock))
                             : OpFoldResult(least(queryCount, most));
  }
  Value rows = toValue(block.rows), none = constant(0), one = constant(1);
  Value firstOfFirst =
      reach.first ? clamp(plus(reach.first, start), none, keyCount) : none;
  Value endOfLast =
      reach.last
          ? least(reach.end, plus(plus(reach.last, start), rows))
          : reach.end;
  if (cutsKeys) {
    block.first = reach.first ? alignKey(firstOfFirst) : none;
    block.end = clamp(endOfLast, block.first, keyCount);
    // Never more than there are, which makes their room known before a run.
    block.columns = getAsOpFoldResult(
        least(minus(block.end, block.first), keyCount));
  } else {
    block.first = none;
    block.end = keyCount;
    block.columns = getAsOpFoldResult(keyCount);
  }
  block.mostColumns = getAsOpFoldResult(keyCount);
  block.wholeFirst =
      reach.first
          ? clamp(plus(plus(reach.first, start), minus(rows, one)), block.first,
                  block.end)
          : block.first;
  Value endOfFirst =
      reach.last ? least(reach.end, plus(plus(reach.last, start), one))
                 : reach.end;
  block.wholeEnd = clamp(endOfFirst, block.wholeFirst, block.end);
}

//===----------------------------------------------------------------------===//
// What is the same for all queries
//===----------------------------------------------------------------------===//

/// A matrix in panels, with as many columns in a panel as the target's product
/// takes. Of keys and values that no query reaches nothing is read.
PackedKeys AttentionTiling::pack(Value matrix, int64_t along) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t width = target.getPanelWidth(type.getElementType());
  Value lanes = constant(width);
  auto panelsFor = [&](Value columns) {
    Value sum = plus(columns, constant(width - 1));
    return rewriter.createOrFold<arith::DivUIOp>(loc, sum, lanes);
  };
  Value across = getSize(rewriter, loc, matrix, along);
  Value steps = getSize(rewriter, loc, matrix, 1 - along);
  SmallVector<OpFoldResult> most = {getAsOpFoldResult(panelsFor(across)),
                                    getAsOpFoldResult(steps),
                                    rewriter.getIndexAttr(width)};
  SmallVector<OpFoldResult> sizes = most;
  SmallVector<OpFoldResult> from(2, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> size =
      tensor::getMixedSizes(rewriter, loc, matrix);
  // Scores of all keys may be looked at; of the values only what is reached is.
  Value first = constant(0);
  if (reach.reachEnd && (cutsKeys || along == 1)) {
    first = reach.reachFirst;
    if (along == 0)
      first = alignKey(first);
    Value keys = least(minus(reach.reachEnd, first), keyCount);
    from[0] = getAsOpFoldResult(first);
    size[0] = getAsOpFoldResult(keys);
    sizes[along] = getAsOpFoldResult(
        least(along == 0 ? panelsFor(keys) : keys, toValue(most[along])));
  }
  Value source = tensor::ExtractSliceOp::create(
      rewriter, loc, matrix, from, size,
      SmallVector<OpFoldResult>(2, rewriter.getIndexAttr(1)));
  Value output = makeBuffer(sizes, most, type.getElementType());
  Value panels = PackOp::create(rewriter, loc, output.getType(), source,
                                rewriter.getI64IntegerAttr(along), output)
                     .getResult();
  return {panels, first};
}

/// A row operation that is the same for all queries.
Value AttentionTiling::lowerUniform(Operation *inner) {
  if (auto scores = dyn_cast<RowScoresOp>(inner))
    return makeProduct(tiles.lookup(scores.getQuery()).value,
                       tiles.lookup(scores.getKeys()).value,
                       /*alongRows=*/true);
  if (auto dim = dyn_cast<tensor::DimOp>(inner)) {
    Value source = dim.getSource();
    int64_t number = *dim.getConstantIndex();
    if (body.getKeyDim(source) == number)
      return keyCount;
    if (auto argument = dyn_cast<BlockArgument>(source);
        argument && argument.getOwner()->getParentOp() == op) {
      Value operand = op->getOperand(argument.getArgNumber());
      return getSize(rewriter, loc, operand,
                     rankOf(operand) - rankOf(argument) + number);
    }
  }
  if (auto visible = dyn_cast<RowVisibleOp>(inner)) {
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, ArrayRef<OpFoldResult>{getAsOpFoldResult(keyCount)},
        rewriter.getI1Type());
    return makeGeneric(
        {}, {{empty, mapOf({0}, 1)}}, /*reducesKeys=*/false,
        [&](OpBuilder &builder, ValueRange) -> SmallVector<Value> {
          Value key = linalg::IndexOp::create(builder, loc, 0);
          Value behind =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                    key, reach.reachFirst);
          Value before =
              arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                    key, reach.reachEnd);
          return {arith::AndIOp::create(builder, loc, behind, before)};
        })[0];
  }
  return {};
}

void AttentionTiling::makeUniform(Operation *inner) {
  if (Value value = lowerUniform(inner)) {
    tiles[inner->getResult(0)].value =
        castTo(rewriter, loc, value, inner->getResult(0).getType());
    return;
  }
  IRMapping mapping;
  for (auto &[value, tile] : tiles)
    mapping.map(value, tile.value);
  Operation *copy = rewriter.clone(*inner, mapping);
  for (auto [result, value] : llvm::zip(inner->getResults(), copy->getResults()))
    tiles[result].value = value;
}

/// Once the first `depth` leading indices are known.
void AttentionTiling::enterDepth(unsigned depth) {
  auto isPerSequence = [](Value value) { return value && rankOf(value) > 0; };
  unsigned reachDepth =
      isPerSequence(op.getLengths()) || isPerSequence(op.getOffset()) ? 1 : 0;
  if (depth == reachDepth)
    findReach();
  unsigned queries = op.getQueries().size();
  for (BlockArgument argument : op.getBody().getArguments()) {
    unsigned number = argument.getArgNumber();
    if (body.isPerQuery(argument) || body.getDepth(argument) != depth ||
        argument.use_empty())
      continue;
    Value operand = op->getOperand(number);
    bool isPair = number >= queries + op.getKeys().size() &&
                  number < queries + op.getKeys().size() + op.getPairs().size();
    int64_t operandLead = rankOf(operand) - rankOf(argument) - (isPair ? 1 : 0);
    SmallVector<FixedIndex> fixed = fixLead(operand, operandLead);
    if (isPair)
      fixed.emplace_back(operandLead, constant(0));
    tiles[argument].value =
        castTo(rewriter, loc, takeSlice(rewriter, loc, operand, fixed),
               argument.getType());
  }
  for (Operation &inner : op.getBody().front())
    if (inner.getNumResults() != 0 && !body.isPerQuery(inner.getResult(0)) &&
        body.getDepth(inner.getResult(0)) == depth)
      makeUniform(&inner);
  auto packAt = [&](Value matrix, int64_t along,
                    llvm::DenseMap<Value, PackedKeys> &panels) {
    if (!body.isPerQuery(matrix) && body.getDepth(matrix) == depth &&
        !panels.contains(matrix))
      panels[matrix] = pack(tiles.lookup(matrix).value, along);
  };
  for (Operation &inner : op.getBody().front())
    TypeSwitch<Operation *>(&inner)
        .Case([&](RowScoresOp scores) {
          if (body.isPerQuery(scores.getQuery()))
            packAt(scores.getKeys(), 0, keyPanels);
        })
        .Case([&](RowValuesOp values) {
          packAt(values.getValues(), 1, valuePanels);
        });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult AttentionTiling::makeBlock(SmallVectorImpl<Value> &carried) {
  // Results are made in their place.
  auto placeOf = [&](Value result) {
    int64_t rank = rankOf(result);
    SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, result);
    for (int64_t dim = 0; dim < leadRank; ++dim) {
      offsets[dim] = lead[dim];
      sizes[dim] = rewriter.getIndexAttr(1);
    }
    offsets[leadRank] = block.start;
    sizes[leadRank] = block.rows;
    return std::pair(offsets, sizes);
  };
  destinations.clear();
  for (auto [result, row] : llvm::zip(carried, op.getYield().getValues())) {
    if (destinations.contains(row))
      continue;
    auto [offsets, sizes] = placeOf(result);
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (OpFoldResult size : ArrayRef(sizes).drop_front(leadRank))
      shape.push_back(
          getConstantIntValue(size).value_or(ShapedType::kDynamic));
    auto type = RankedTensorType::get(
        shape, cast<RankedTensorType>(result.getType()).getElementType());
    destinations[row] = tensor::ExtractSliceOp::create(
        rewriter, loc, type, result, offsets, sizes, strides);
  }
  for (Operation &inner : op.getBody().front().without_terminator())
    if (inner.getNumResults() != 0 && body.isPerQuery(inner.getResult(0)) &&
        failed(lift(&inner)))
      return failure();
  for (auto [result, row] : llvm::zip(carried, op.getYield().getValues())) {
    auto [offsets, sizes] = placeOf(result);
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
  queryCount = getSize(rewriter, loc, query,
                       rankOf(query) - 1 -
                           rankOf(op.getQueryArguments().front()));
  keyCount = getSize(rewriter, loc, key,
                     rankOf(key) - rankOf(op.getKeyArguments().front()));
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
  SmallVector<Value> carried, bounds;
  for (auto [result, shape] : llvm::zip(op.getResults(), *sizes)) {
    auto type = cast<RankedTensorType>(result.getType());
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, shape, type.getElementType());
    carried.push_back(castTo(rewriter, loc, empty, type));
  }
  for (int64_t dim = 0; dim < leadRank; ++dim)
    bounds.push_back(toValue(sizes->front()[dim]));

  SmallVector<scf::ForOp> loops;
  Value none = constant(0), one = constant(1);
  auto enter = [&](Value bound, Value step) {
    auto loop = scf::ForOp::create(rewriter, loc, none, bound, step, carried);
    loops.push_back(loop);
    carried.assign(loop.getRegionIterArgs().begin(),
                   loop.getRegionIterArgs().end());
    rewriter.setInsertionPointToEnd(loop.getBody());
    return loop.getInductionVar();
  };
  enterDepth(0);
  for (Value bound : bounds) {
    lead.push_back(enter(bound, one));
    enterDepth(lead.size());
  }
  findBlock(enter(queryCount, constant(queryBlock)));
  if (failed(makeBlock(carried)))
    return failure();
  for (scf::ForOp loop : llvm::reverse(loops)) {
    rewriter.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(rewriter, loc, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  rewriter.replaceOp(op, carried);
  return success();
}
