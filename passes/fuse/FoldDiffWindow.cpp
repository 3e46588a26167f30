// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FoldDiffWindow.cpp - Score differences folded into the keys --------===//
//
// s + row_neighbours(s) of scores s = c (q . k) is linear in the keys:
//   s[j] + sum_n (s[j] - s[n]) = c q . ((1 + N) k[j] - sum_n k[n])
// with N neighbours n. The stencil is computed once per key, not once per pair.
//
// Exactness: each element of a folded key is rounded as often as there are
// neighbours, relative to the elements that it is made of, as the score would
// be; the sum over the query's elements is rounded as before. So the score's
// error keeps its bound, 2^-24 times the terms that it is made of.
//
// Where a query does not see all neighbours of a key, at the ends of what it
// sees by causality and windows, that score is computed by itself, from scores
// of the keys that are seen and no others: what stands before and behind them,
// NaN included, reaches nothing. An end by lengths alone is the same for all
// queries, and the stencil leaves out what is behind it.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/DiffWindow.h"
#include "passes/fuse/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_FOLDDIFFWINDOW
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

// To each side; the stencil is written out.
static constexpr int64_t mostNeighbours = 16;
// The columns at an end cost a query twice as many keys as they are. A window
// to the left leaves fewer keys whose differences the folded keys could save.
static constexpr int64_t mostEdgeColumns = 8, mostColumnsOfWindow = 4;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether the operation computes each element of a row from that of its inputs
/// by one operation alone, which is then returned.
static Operation *matchElementwise(GenericOp generic, unsigned inputs) {
  if (!generic || generic.getNumDpsInputs() != inputs ||
      generic.getNumResults() != 1 || generic.getNumLoops() != 1 ||
      generic.getNumParallelLoops() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block *block = generic.getBody();
  if (!llvm::hasSingleElement(block->without_terminator()) ||
      block->getTerminator()->getOperand(0) != block->front().getResult(0))
    return nullptr;
  return &block->front();
}

/// c s or s / c, with a number c.
static bool isScale(GenericOp generic) {
  Operation *op = matchElementwise(generic, 1);
  if (!op || !isa<arith::MulFOp, arith::DivFOp>(op))
    return false;
  Value input = generic.getBody()->getArgument(0);
  bool isFirst = op->getOperand(0) == input;
  if (!isFirst && (isa<arith::DivFOp>(op) || op->getOperand(1) != input))
    return false;
  APFloat number(0.0f);
  return matchPattern(op->getOperand(isFirst ? 1 : 0),
                      m_ConstantFloat(&number)) &&
         number.isFiniteNonZero();
}

const char *DiffWindowFold::match() {
  found.neighbours = neighbours;
  found.radius = (neighbours.getWidthAttr().getInt() - 1) / 2;
  Value scores = neighbours.getScores();
  auto linear = scores.getDefiningOp<GenericOp>();
  if (linear && isScale(linear)) {
    found.scale = linear;
    found.product = linear.getInputs()[0].getDefiningOp<RowScoresOp>();
  } else {
    found.product = scores.getDefiningOp<RowScoresOp>();
  }
  if (!found.product)
    return "the scores are not linear in the keys";
  if (neighbours->hasOneUse())
    found.sum = dyn_cast<GenericOp>(*neighbours->user_begin());
  Operation *sum = found.sum ? matchElementwise(found.sum, 2) : nullptr;
  if (!isa_and_present<arith::AddFOp>(sum) ||
      !llvm::is_contained(found.sum.getInputs(), scores) ||
      sum->getOperand(0) == sum->getOperand(1) ||
      !llvm::all_of(sum->getOperands(), [&](Value operand) {
        return llvm::is_contained(found.sum.getBody()->getArguments(), operand);
      }))
    return "the differences are not added to the scores alone";
  bool scoresAreShared = !llvm::all_of(scores.getUsers(), [&](Operation *user) {
    return user == neighbours || user == found.sum;
  });
  if (scoresAreShared || (found.scale && !found.product->hasOneUse()))
    return "the scores are needed themselves too";
  auto key = dyn_cast<BlockArgument>(found.product.getKeys());
  if (!key || key.getOwner()->getParentOp() != attention)
    return "the keys are computed in the row";
  if (found.radius > mostNeighbours)
    return "the window is wide";
  if (!tensorType(key).getElementType().isF32() &&
      !tensorType(key).getElementType().isF64())
    return "the keys have too few bits for their differences";
  Value query = attention.getQueries().front();
  int64_t queryAxis = tensorType(query).getRank() - 1 -
                      tensorType(attention.getQueryArguments()[0]).getRank();
  if (tensorType(query).getDimSize(queryAxis) == 1)
    return "one query alone costs less than folded keys";
  if (neighbours.getScope() == NeighbourScope::All)
    return nullptr;
  if (attention.getMask())
    return "the mask is per element";
  if (attention.getQuerySegments())
    return "segments end anywhere";
  if (!llvm::all_of(found.sum->getUsers(),
                    [](Operation *user) { return isa<RowSoftmaxOp>(user); }))
    return "scores of keys that are not seen are needed";
  if (getEdgeColumns() >
      (hasFirstEdge() ? mostColumnsOfWindow : mostEdgeColumns))
    return "the window is wide, and what is visible begins or ends at another "
           "key for each query";
  return nullptr;
}

namespace {
struct FoldDiffWindow : gatefold::impl::FoldDiffWindowBase<FoldDiffWindow> {
  void runOnOperation() override {
    SmallVector<RowNeighboursOp> all;
    getOperation().walk([&](RowNeighboursOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    auto options =
        remark::RemarkOpts::name("diff-window").category("gf-fold-diff-window");
    for (RowNeighboursOp op : all) {
      Location loc = op.getLoc();
      int64_t width = op.getWidthAttr().getInt();
      DiffWindowFold fold(op, rewriter);
      if (const char *reason = fold.match()) {
        remark::missed(loc, options)
            << (std::string("diff-window not folded into the keys: ") + reason);
        continue;
      }
      std::string text = "diff-window of width " + std::to_string(width) +
                         " folded into the keys";
      if (int64_t columns = fold.getEdgeColumns())
        text += columns == 1 ? ", 1 score of each query by itself"
                             : ", " + std::to_string(columns) +
                                   " scores of each query by themselves";
      fold.fold();
      ++windowsFolded;
      remark::passed(loc, options) << text;
    }
  }
};
} // namespace
