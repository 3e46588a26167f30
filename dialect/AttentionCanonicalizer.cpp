// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionCanonicalizer.cpp - Simpler forms of an attention ---------===//
//
// Drops what an attention does not need and merges what it holds twice:
// operands and results, and restrictions that restrict nothing.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gatefold;

namespace {

/// The elements whose index, counted from `start`, is not dropped.
SmallVector<Value> keep(ValueRange values, const llvm::BitVector &dropped,
                        unsigned start) {
  SmallVector<Value> kept;
  for (auto [index, value] : llvm::enumerate(values))
    if (!dropped.test(start + index))
      kept.push_back(value);
  return kept;
}

/// Makes the attention again without some operands (counted through queries,
/// keys, pairs and captures) and results, of which no use is left.
void rebuild(PatternRewriter &rewriter, AttentionOp op,
             llvm::BitVector operands, const llvm::BitVector &results) {
  YieldOp yield = op.getYield();
  rewriter.modifyOpInPlace(yield, [&] {
    yield.getValuesMutable().assign(keep(yield.getValues(), results, 0));
  });
  SmallVector<Type> resultTypes, bodyTypes;
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i)
    if (!results.test(i))
      resultTypes.push_back(op.getResult(i).getType());
  for (unsigned i = 0, e = operands.size(); i < e; ++i)
    if (!operands.test(i))
      bodyTypes.push_back(op.getBody().getArgument(i).getType());

  unsigned keys = op.getQueries().size(), pairs = keys + op.getKeys().size(),
           captures = pairs + op.getPairs().size();
  auto simpler = AttentionOp::create(
      rewriter, op.getLoc(), resultTypes, keep(op.getQueries(), operands, 0),
      keep(op.getKeys(), operands, keys), keep(op.getPairs(), operands, pairs),
      keep(op.getCaptures(), operands, captures), bodyTypes);
  auto copy = [](MutableOperandRange to, Value from) {
    if (from)
      to.assign(from);
  };
  copy(simpler.getLengthsMutable(), op.getLengths());
  copy(simpler.getMaskMutable(), op.getMask());
  copy(simpler.getBiasMutable(), op.getBias());
  copy(simpler.getOffsetMutable(), op.getOffset());
  copy(simpler.getQuerySegmentsMutable(), op.getQuerySegments());
  copy(simpler.getKeySegmentsMutable(), op.getKeySegments());
  simpler.setCausal(op.getCausal());
  simpler.setWindow(op.getWindow());
  simpler->setDiscardableAttrs(op->getDiscardableAttrDictionary());

  rewriter.eraseBlock(&simpler.getBody().front());
  rewriter.inlineRegionBefore(op.getBody(), simpler.getBody(),
                              simpler.getBody().begin());
  Block &body = simpler.getBody().front();
  operands.resize(body.getNumArguments());
  rewriter.modifyOpInPlace(simpler, [&] { body.eraseArguments(operands); });

  unsigned next = 0;
  for (unsigned i = 0, e = op.getNumResults(); i < e; ++i)
    if (!results.test(i))
      rewriter.replaceAllUsesWith(op.getResult(i), simpler.getResult(next++));
  rewriter.eraseOp(op);
}

struct SimplifyAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector operands(op.getBody().getNumArguments() - 2);
    llvm::BitVector results(op.getNumResults());
    dropResults(op, rewriter, results);
    unsigned start = 0;
    // The last query and key stay: they say how many there are.
    for (auto [values, needed] :
         {std::pair(op.getQueries(), 1u), std::pair(op.getKeys(), 1u),
          std::pair(op.getPairs(), 0u), std::pair(op.getCaptures(), 0u)}) {
      dropOperands(op, rewriter, start, values.size(), needed, operands);
      start += values.size();
    }
    if (operands.none() && results.none())
      return failure();
    rebuild(rewriter, op, operands, results);
    return success();
  }

private:
  /// Results without a use, and results that are yielded twice. One stays.
  static void dropResults(AttentionOp op, PatternRewriter &rewriter,
                          llvm::BitVector &dropped) {
    OperandRange rows = op.getYield().getValues();
    for (unsigned i = 0, e = op.getNumResults(); i < e; ++i) {
      for (unsigned other = 0; other < i; ++other)
        if (!dropped.test(other) && rows[other] == rows[i] &&
            op.getResult(other).getType() == op.getResult(i).getType()) {
          rewriter.replaceAllUsesWith(op.getResult(i), op.getResult(other));
          break;
        }
      if (op.getResult(i).use_empty() && dropped.count() + 1 < e)
        dropped.set(i);
    }
  }

  /// Operands of one group that the region does not read, or that are given
  /// twice.
  static void dropOperands(AttentionOp op, PatternRewriter &rewriter,
                           unsigned start, unsigned count, unsigned needed,
                           llvm::BitVector &dropped) {
    unsigned kept = count;
    for (unsigned i = start; i < start + count; ++i) {
      Value argument = op.getBody().getArgument(i);
      for (unsigned other = start; other < i; ++other) {
        Value earlier = op.getBody().getArgument(other);
        if (!dropped.test(other) && op.getOperand(other) == op.getOperand(i) &&
            earlier.getType() == argument.getType()) {
          rewriter.replaceAllUsesWith(argument, earlier);
          break;
        }
      }
      if (argument.use_empty() && kept > needed &&
          othersCarryLead(op, i, dropped)) {
        dropped.set(i);
        --kept;
      }
    }
  }

  /// Each open leading size that the operand carries is carried by one that
  /// stays.
  static bool othersCarryLead(AttentionOp op, unsigned operand,
                              const llvm::BitVector &dropped) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    for (unsigned i = 0, e = op.getLeadRank(); i < e; ++i) {
      if (!type.isDynamicDim(i) || !op.getLeadAxis(operand, i))
        continue;
      bool carried = false;
      for (unsigned other = 0; other < dropped.size() && !carried; ++other)
        carried = other != operand && !dropped.test(other) &&
                  op.getLeadAxis(other, i);
      if (!carried)
        return false;
    }
    return true;
  }
};

/// Restrictions that hide nothing: a window without bounds, a mask that is
/// true, a bias of 0.
struct DropEmptyRestrictions : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    bool dropWindow = op.getWindow() &&
                      llvm::all_of(*op.getWindow(),
                                   [](int64_t bound) { return bound == -1; });
    DenseElementsAttr mask, bias;
    bool dropMask = op.getMask() &&
                    matchPattern(op.getMask(), m_Constant(&mask)) &&
                    mask.isSplat() && mask.getSplatValue<bool>();
    bool dropBias = op.getBias() &&
                    matchPattern(op.getBias(), m_Constant(&bias)) &&
                    bias.isSplat() && bias.getSplatValue<APFloat>().isZero();
    if (!dropWindow && !dropMask && !dropBias)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if (dropWindow)
        op.removeWindowAttr();
      if (dropMask)
        op.getMaskMutable().clear();
      if (dropBias)
        op.getBiasMutable().clear();
    });
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<SimplifyAttention, DropEmptyRestrictions>(context);
}
