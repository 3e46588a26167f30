// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerAttention.cpp - Attention, row by row -------------------------===//
//
// The naive lowering of gf.attention: loops over leading indices and queries,
// the region inside.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/support/Entry.h"
#include "passes/tile/Passes.h"
#include "passes/tile/ResultSizes.h"
#include "passes/tile/RowOperations.h"
#include "passes/tile/Slices.h"
#include "passes/tile/TileLinear.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERATTENTION
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// Lowers one attention.
class AttentionLowering {
public:
  AttentionLowering(AttentionOp op, IRRewriter &rewriter)
      : op(op), rewriter(rewriter), loc(op.getLoc()),
        leadRank(op.getLeadRank()) {}

  LogicalResult run();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  static int64_t rankOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  }
  Value toIndex(Value integer) {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                      integer);
  }

  /// Fixes the first dimensions of an operand, which align at the right with
  /// the leading ones of the results; one of size 1 stretches.
  SmallVector<FixedIndex> fixLead(Value operand, int64_t operandLead,
                                  ValueRange lead);
  /// Indices of the dimensions of a tensor that are the first leading ones, all
  /// but the last `ownRank`; one of size 1 stretches.
  SmallVector<Value> prefixOf(Value tensor, ValueRange lead, int64_t ownRank);
  /// The element of a tensor over the first leading dimensions.
  Value ofPrefix(Value tensor, ValueRange lead);
  /// offset + distance, or as far away where that lies beyond all keys: a
  /// query's index added to it does not wrap, and decides as offset + distance
  /// would.
  Value away(Value offset, int64_t distance);
  /// The element of a tensor that aligns at the right with `[lead.., T, S]`.
  Value ofPair(OpBuilder &builder, Value tensor, ValueRange lead, Value query,
               Value key);
  FailureOr<RowContext> makeContext(ValueRange lead, Value query,
                                    Value &position);
  LogicalResult makeRow(ValueRange lead, Value query,
                        SmallVectorImpl<Value> &carried);

  AttentionOp op;
  IRRewriter &rewriter;
  Location loc;
  int64_t leadRank;
  Value queryCount, keyCount;
};
} // namespace

SmallVector<FixedIndex> AttentionLowering::fixLead(Value operand,
                                                   int64_t operandLead,
                                                   ValueRange lead) {
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<FixedIndex> fixed;
  for (int64_t dim = 0; dim < operandLead; ++dim)
    fixed.emplace_back(dim, type.getDimSize(dim) == 1
                                ? constant(0)
                                : lead[leadRank - operandLead + dim]);
  return fixed;
}

SmallVector<Value> AttentionLowering::prefixOf(Value tensor, ValueRange lead,
                                               int64_t ownRank) {
  SmallVector<Value> indices(lead.take_front(rankOf(tensor) - ownRank));
  for (auto [index, size] :
       llvm::zip(indices, cast<RankedTensorType>(tensor.getType()).getShape()))
    if (size == 1)
      index = constant(0);
  return indices;
}

Value AttentionLowering::ofPrefix(Value tensor, ValueRange lead) {
  return tensor::ExtractOp::create(rewriter, loc, tensor,
                                   prefixOf(tensor, lead, 0));
}

static int64_t saturatingSubtract(int64_t left, int64_t right) {
  int64_t difference;
  if (!llvm::SubOverflow(left, right, difference))
    return difference;
  return right < 0 ? INT64_MAX : INT64_MIN;
}

Value AttentionLowering::away(Value offset, int64_t distance) {
  // Beyond the greatest size that a tensor can have.
  constexpr int64_t beyond = int64_t(1) << 61;
  offset = arith::MaxSIOp::create(
      rewriter, loc, offset, constant(saturatingSubtract(-beyond, distance)));
  offset = arith::MinSIOp::create(
      rewriter, loc, offset, constant(saturatingSubtract(beyond, distance)));
  return arith::AddIOp::create(rewriter, loc, offset, constant(distance));
}

Value AttentionLowering::ofPair(OpBuilder &builder, Value tensor,
                                ValueRange lead, Value query, Value key) {
  SmallVector<Value> all(lead);
  all.append({query, key});
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices(ArrayRef<Value>(all).take_back(type.getRank()));
  for (auto [dim, index] : llvm::enumerate(indices))
    if (type.getDimSize(dim) == 1)
      index = arith::ConstantIndexOp::create(builder, loc, 0);
  return tensor::ExtractOp::create(builder, loc, tensor, indices);
}

FailureOr<RowContext>
AttentionLowering::makeContext(ValueRange lead, Value query, Value &position) {
  RowContext context;
  context.keyCount = keyCount;
  Value offset = op.getOffset() ? toIndex(ofPrefix(op.getOffset(), lead))
                                : arith::SubIOp::create(rewriter, loc, keyCount,
                                                        queryCount)
                                      .getResult();
  position = arith::AddIOp::create(rewriter, loc, query, offset);

  // The keys [first, end) that this query sees by length, causality and window,
  // and those that the first and the last query reach together.
  Value first = constant(0), end = keyCount;
  Value reachFirst = first, reachEnd = end;
  auto least = [&](Value left, Value right) -> Value {
    return arith::MinSIOp::create(rewriter, loc, left, right);
  };
  auto greatest = [&](Value left, Value right) -> Value {
    return arith::MaxSIOp::create(rewriter, loc, left, right);
  };
  auto plus = [&](Value left, Value right) -> Value {
    return arith::AddIOp::create(rewriter, loc, left, right);
  };
  context.reachesAll = true;
  if (op.getLengths()) {
    Value length = toIndex(ofPrefix(op.getLengths(), lead));
    end = least(end, length);
    reachEnd = end;
    context.reachesAll = false;
  }
  auto endAfter = [&](int64_t right) {
    Value last = away(offset, right);
    end = least(end, plus(plus(last, query), constant(1)));
    reachEnd = least(reachEnd, plus(last, queryCount));
    context.reachesAll = false;
  };
  if (op.getCausal())
    endAfter(0);
  if (std::optional<ArrayRef<int64_t>> window = op.getWindow()) {
    int64_t left = (*window)[0], right = (*window)[1];
    if (left >= 0) {
      Value start = away(offset, -left);
      first = greatest(first, plus(start, query));
      reachFirst = greatest(reachFirst, start);
      context.reachesAll = false;
    }
    if (right >= 0)
      endAfter(right);
  }
  context.reachFirst = least(reachFirst, keyCount);
  context.reachEnd = greatest(reachEnd, context.reachFirst);

  Value segment;
  SmallVector<Value> keyIndices;
  if (op.getQuerySegments()) {
    SmallVector<Value> indices = prefixOf(op.getQuerySegments(), lead, 1);
    indices.push_back(query);
    segment = tensor::ExtractOp::create(rewriter, loc, op.getQuerySegments(),
                                        indices);
    keyIndices = prefixOf(op.getKeySegments(), lead, 1);
  }

  Value empty = tensor::EmptyOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{getAsOpFoldResult(keyCount)},
      rewriter.getI1Type());
  context.visible =
      linalg::GenericOp::create(
          rewriter, loc, TypeRange(empty.getType()), ValueRange(),
          ValueRange(empty),
          ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(1)},
          ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
          [&](OpBuilder &builder, Location, ValueRange) {
            Value key = linalg::IndexOp::create(builder, loc, 0);
            Value behind = arith::CmpIOp::create(
                builder, loc, arith::CmpIPredicate::sge, key, first);
            Value before = arith::CmpIOp::create(
                builder, loc, arith::CmpIPredicate::slt, key, end);
            Value seen = arith::AndIOp::create(builder, loc, behind, before);
            if (segment) {
              SmallVector<Value> indices(keyIndices);
              indices.push_back(key);
              Value other = tensor::ExtractOp::create(
                  builder, loc, op.getKeySegments(), indices);
              Value same = arith::CmpIOp::create(
                  builder, loc, arith::CmpIPredicate::eq, segment, other);
              seen = arith::AndIOp::create(builder, loc, seen, same);
            }
            if (op.getMask())
              seen = arith::AndIOp::create(
                  builder, loc, seen,
                  ofPair(builder, op.getMask(), lead, query, key));
            linalg::YieldOp::create(builder, loc, seen);
          })
          .getResult(0);

  if (op.getBias()) {
    SmallVector<Value> leadCopy(lead);
    context.bias = [this, leadCopy, query](OpBuilder &builder, Value key,
                                           Type element) -> Value {
      Value bias = ofPair(builder, op.getBias(), leadCopy, query, key);
      unsigned from = bias.getType().getIntOrFloatBitWidth();
      unsigned to = element.getIntOrFloatBitWidth();
      if (from < to)
        bias = arith::ExtFOp::create(builder, loc, element, bias);
      else if (from > to)
        bias = arith::TruncFOp::create(builder, loc, element, bias);
      return bias;
    };
  }
  return context;
}

LogicalResult AttentionLowering::makeRow(ValueRange lead, Value query,
                                         SmallVectorImpl<Value> &carried) {
  Value position;
  FailureOr<RowContext> context = makeContext(lead, query, position);
  if (failed(context))
    return failure();

  SmallVector<Value> arguments;
  auto add = [&](Value operand, SmallVector<FixedIndex> fixed) {
    Value slice = takeSlice(rewriter, loc, operand, fixed);
    Value argument = op.getBody().getArgument(arguments.size());
    arguments.push_back(castTo(rewriter, loc, slice, argument.getType()));
  };
  for (auto [operand, argument] :
       llvm::zip(op.getQueries(), op.getQueryArguments())) {
    int64_t operandLead = rankOf(operand) - 1 - rankOf(argument);
    SmallVector<FixedIndex> fixed = fixLead(operand, operandLead, lead);
    fixed.emplace_back(operandLead, query);
    add(operand, fixed);
  }
  for (auto [operand, argument] : llvm::zip(op.getKeys(), op.getKeyArguments()))
    add(operand, fixLead(operand, rankOf(operand) - rankOf(argument), lead));
  for (Value operand : op.getPairs()) {
    int64_t operandLead = rankOf(operand) - 2;
    SmallVector<FixedIndex> fixed = fixLead(operand, operandLead, lead);
    auto type = cast<RankedTensorType>(operand.getType());
    fixed.emplace_back(operandLead,
                       type.getDimSize(operandLead) == 1 ? constant(0) : query);
    add(operand, fixed);
  }
  for (auto [operand, argument] :
       llvm::zip(op.getCaptures(), op.getCaptureArguments()))
    add(operand, fixLead(operand, rankOf(operand) - rankOf(argument), lead));
  arguments.append({query, position});

  // The region is in the innermost loop, of which there is one.
  YieldOp yield = op.getYield();
  Block *block = rewriter.getInsertionBlock();
  SmallVector<Operation *> rowOperations;
  for (Operation &inner : op.getBody().front())
    rowOperations.push_back(&inner);
  rewriter.inlineBlockBefore(&op.getBody().front(), block,
                             rewriter.getInsertionPoint(), arguments);
  for (Operation *inner : rowOperations)
    if (failed(lowerRowOperation(inner, *context, rewriter)))
      return failure();
  rewriter.setInsertionPointAfter(yield);
  SmallVector<FixedIndex> fixed;
  for (auto [dim, index] : llvm::enumerate(lead))
    fixed.emplace_back(dim, index);
  fixed.emplace_back(leadRank, query);
  for (auto [result, value] : llvm::zip(carried, yield.getValues()))
    result = putSlice(rewriter, loc, value, result, fixed);
  rewriter.eraseOp(yield);
  return success();
}

LogicalResult AttentionLowering::run() {
  rewriter.setInsertionPoint(op);
  Value query = op.getQueries().front(), key = op.getKeys().front();
  int64_t queryRest = rankOf(op.getQueryArguments().front());
  int64_t keyArgument = rankOf(op.getKeyArguments().front());
  queryCount = getSize(rewriter, loc, query, rankOf(query) - 1 - queryRest);
  keyCount = getSize(rewriter, loc, key, rankOf(key) - keyArgument);

  unsigned queries = op.getQueries().size(), keys = op.getKeys().size(),
           pairs = op.getPairs().size();
  auto sizes = getResultSizes(
      rewriter, op, op.getNumResults(), op.getYield().getValues(),
      [&](int64_t dim) { return dim > leadRank ? dim - leadRank - 1 : -1; },
      [&](BlockArgument argument, int64_t dim) -> Value {
        // A region's dimensions are the last ones of the operand.
        unsigned number = argument.getArgNumber();
        if (number >= queries + keys + pairs + op.getCaptures().size())
          return {};
        Value operand = op->getOperand(number);
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
    bounds.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, sizes->front()[dim]));
  bounds.push_back(queryCount);

  SmallVector<scf::ForOp> loops;
  SmallVector<Value> indices;
  Value zero = constant(0), one = constant(1);
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(rewriter, loc, zero, bound, one, carried);
    // Each iteration writes its own row of the results.
    loop->setAttr(parallelName, rewriter.getUnitAttr());
    loops.push_back(loop);
    indices.push_back(loop.getInductionVar());
    carried.assign(loop.getRegionIterArgs().begin(),
                   loop.getRegionIterArgs().end());
    rewriter.setInsertionPointToEnd(loop.getBody());
  }
  if (failed(makeRow(ArrayRef<Value>(indices).drop_back(), indices.back(),
                     carried)))
    return failure();
  for (scf::ForOp loop : llvm::reverse(loops)) {
    rewriter.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(rewriter, loc, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
  }
  rewriter.replaceOp(op, carried);
  return success();
}

namespace {
struct LowerAttention : gatefold::impl::LowerAttentionBase<LowerAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (hasAlgorithm(op, naiveAlgorithm))
        attentions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions) {
      if (failed(markingProducts(
              op, [&] { return AttentionLowering(op, rewriter).run(); })))
        return signalPassFailure();
      ++attentionsLowered;
    }
  }
};
} // namespace
