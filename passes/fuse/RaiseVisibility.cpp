// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RaiseVisibility.cpp - Comparisons of indices as clauses ------------===//
//
// Comparisons that hide keys from all softmaxes of an attention become its
// clauses causal, window, offset, lengths and segments.
//
// Exactness: a key that a condition hides has a weight of 0 in both forms, and
// a row that sees no key is 0 in both. Keys that are hidden do not matter but
// to a softmax, or the attention stays as it is. What a clause hides is not
// read where no query of a block sees it; where a comparison hides it, 0 times
// a value that is infinite or NaN would be NaN.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/fuse/ClauseOperands.h"
#include "passes/fuse/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_RAISEVISIBILITY
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

namespace {
class VisibilityRaise {
public:
  VisibilityRaise(AttentionOp op, IRRewriter &rewriter)
      : op(op), rewriter(rewriter), operands(op, rewriter) {}
  /// The clauses that the attention is given, or none.
  std::string raise();

private:
  bool canRestrict(const AttentionBody &body);
  /// A condition that every softmax has and the predicate takes.
  const IndexSum *pick(llvm::function_ref<bool(const IndexSum &)> takes,
                       bool isEquation = false);
  void raiseLengths();
  void raiseSegments();
  void raisePlaces();
  void settleComparisons();
  bool isForSoftmaxes(Operation *step);
  void foldSteps();

  AttentionOp op;
  IRRewriter &rewriter;
  ClauseOperands operands;
  /// The conditions of each softmax.
  SmallVector<SmallVector<HidingCondition>> conditions;
  SmallVector<IndexSum> taken, takenEquations;
  std::string clauses;
};
} // namespace

/// Hidden keys matter to softmaxes alone, and what else sees whom does not ask.
bool VisibilityRaise::canRestrict(const AttentionBody &body) {
  Block &row = op.getBody().front();
  bool asks = llvm::any_of(row, [](Operation &inner) {
    return isa<RowVisibleOp, RowTopKOp, RowNeighboursOp>(inner);
  });
  return !asks && !body.getNeedsAllKeys() &&
         !row.getOps<RowSoftmaxOp>().empty();
}

const IndexSum *
VisibilityRaise::pick(llvm::function_ref<bool(const IndexSum &)> takes,
                      bool isEquation) {
  for (HidingCondition &first : conditions.front())
    if (first.isEquation == isEquation && takes(first.sum) &&
        llvm::all_of(conditions, [&](auto &others) {
          return llvm::any_of(others, [&](HidingCondition &other) {
            return other.isEquation == isEquation && other.sum == first.sum;
          });
        }))
      return &first.sum;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

void VisibilityRaise::raiseLengths() {
  if (op.getLengths())
    return;
  // key + rest <= 0: the length is 1 - rest.
  const IndexSum *found = pick([&](const IndexSum &sum) {
    return sum.key == 1 && sum.query == 0 && operands.isComputable(sum);
  });
  if (!found)
    return;
  IndexSum length;
  length.add(*found, -1);
  length.key = 0;
  ++length.constant;
  op.getLengthsMutable().assign(operands.compute(length, /*ofLengths=*/true));
  taken.push_back(*found);
  clauses += " lengths";
}

/// A number of the query is equal to one of the key.
void VisibilityRaise::raiseSegments() {
  if (op.getQuerySegments())
    return;
  Value query, key;
  const IndexSum *found = pick(
      [&](const IndexSum &sum) {
        if (sum.query != 0 || sum.key != 0 || sum.constant != 0 ||
            sum.numbers.size() != 2)
          return false;
        auto [first, times] = sum.numbers.front();
        auto [second, others] = sum.numbers.back();
        if (std::abs(times) != 1 || times != -others)
          return false;
        query = first;
        key = second;
        if (llvm::is_contained(op.getPairArguments(), query))
          std::swap(query, key);
        return llvm::is_contained(op.getQueryArguments(), query) &&
               llvm::is_contained(op.getPairArguments(), key);
      },
      /*isEquation=*/true);
  if (!found)
    return;
  Value ofQueries = operands.ofPositions(query),
        ofKeys = operands.ofPositions(key);
  if (!ofQueries || !ofKeys)
    return;
  op.getQuerySegmentsMutable().assign(ofQueries);
  op.getKeySegmentsMutable().assign(ofKeys);
  takenEquations.push_back(*found);
  clauses += " segments";
}

/// key <= query + offset, and query + offset - left <= key.
void VisibilityRaise::raisePlaces() {
  if (op.getCausal() || op.getWindow() || op.getOffset())
    return;
  Value position = op.getPositionArgument();
  bool isPositionFree = position.use_empty();
  // How far from the position a condition ends, if it is told by that.
  auto distance = [&](const IndexSum &sum) -> int64_t {
    bool isTold =
        sum.numbers.size() == 1 && sum.numbers.lookup(position) == sum.query;
    return isTold ? -sum.constant : -1;
  };
  auto canTake = [&](const IndexSum &sum) {
    return sum.query == -sum.key &&
           (distance(sum) >= 0 ||
            (isPositionFree && operands.isComputable(sum)));
  };
  const IndexSum *upper =
      pick([&](const IndexSum &sum) { return sum.key == 1 && canTake(sum); });
  const IndexSum *lower =
      pick([&](const IndexSum &sum) { return sum.key == -1 && canTake(sum); });
  int64_t left = -1, right = -1;
  if (isPositionFree) {
    // key - query + rest <= 0: queries stand at query - rest.
    IndexSum offset, span;
    if (upper) {
      offset.add(*upper, -1);
      right = 0;
    } else if (lower) {
      offset.add(*lower, 1);
      left = 0;
    }
    if (upper && lower) {
      span.add(*upper, -1);
      span.add(*lower, -1);
      left = span.isConstant() ? span.constant : -1;
    }
    if (!upper && !lower)
      return;
    offset.query = offset.key = 0;
    op.getOffsetMutable().assign(operands.compute(offset, /*ofLengths=*/false));
  } else {
    left = lower ? distance(*lower) : -1;
    right = upper ? distance(*upper) : -1;
  }
  if (right >= 0)
    taken.push_back(*upper);
  if (left >= 0)
    taken.push_back(*lower);
  if (right == 0) {
    op.setCausal(true);
    clauses += " causal";
  }
  if (left >= 0 || right > 0) {
    op.setWindow(ArrayRef<int64_t>{left, right == 0 ? -1 : right});
    clauses += " window";
  }
}

//===----------------------------------------------------------------------===//
// What clauses make known
//===----------------------------------------------------------------------===//

/// Whether a step of the row ends in scores and conditions of softmaxes alone.
bool VisibilityRaise::isForSoftmaxes(Operation *step) {
  llvm::SetVector<Operation *> readers;
  readers.insert(step);
  for (unsigned next = 0; next < readers.size(); ++next)
    for (Operation *reader : readers[next]->getUsers()) {
      if (isa<RowSoftmaxOp>(reader))
        continue;
      if (reader->getBlock() != step->getBlock() ||
          !isa<GenericOp, tensor::CastOp, tensor::ExpandShapeOp,
               tensor::CollapseShapeOp>(reader))
        return false;
      readers.insert(reader);
    }
  return true;
}

/// A comparison that clauses say holds for each key that is left.
void VisibilityRaise::settleComparisons() {
  llvm::SmallMapVector<Operation *, std::pair<bool, bool>, 4> known;
  for (auto &each : conditions)
    for (HidingCondition &condition : each) {
      if (!condition.comparison)
        continue;
      auto [entry, isNew] =
          known.insert({condition.comparison, {true, condition.holds}});
      entry->second.first &=
          llvm::is_contained(condition.isEquation ? takenEquations : taken,
                             condition.sum) &&
          entry->second.second == condition.holds;
    }
  for (auto &[comparison, settled] : known) {
    auto step = dyn_cast<GenericOp>(comparison->getParentOp());
    if (!settled.first || !step || step->getParentOp() != op ||
        !isForSoftmaxes(step))
      continue;
    rewriter.setInsertionPoint(step);
    Value holds = arith::ConstantOp::create(
        rewriter, comparison->getLoc(), rewriter.getBoolAttr(settled.second));
    rewriter.replaceOp(comparison, holds);
  }
  foldSteps();
}

/// Steps that have become a number for all keys are one to their readers.
void VisibilityRaise::foldSteps() {
  SmallVector<GenericOp> steps(op.getBody().front().getOps<GenericOp>());
  for (GenericOp step : steps) {
    rewriter.setInsertionPoint(step);
    for (OpOperand *input : step.getDpsInputOperands()) {
      auto from = input->get().getDefiningOp<GenericOp>();
      Attribute number;
      if (!from || from->getParentOp() != op || from.getNumResults() != 1 ||
          !matchPattern(from.getBody()->getTerminator()->getOperand(0),
                        m_Constant(&number)))
        continue;
      Value constant = arith::ConstantOp::create(rewriter, step.getLoc(),
                                                 cast<TypedAttr>(number));
      rewriter.replaceAllUsesWith(step.getMatchingBlockArgument(input),
                                  constant);
    }
    for (Operation &inner :
         llvm::make_early_inc_range(step.getBody()->without_terminator())) {
      SmallVector<Value> folded;
      rewriter.setInsertionPoint(&inner);
      if (inner.getNumResults() == 1 &&
          !inner.hasTrait<OpTrait::ConstantLike>() &&
          succeeded(rewriter.tryFold(&inner, folded)) && folded.size() == 1)
        rewriter.replaceOp(&inner, folded);
    }
  }
  for (RowSoftmaxOp softmax : op.getBody().front().getOps<RowSoftmaxOp>()) {
    auto where = softmax.getWhere()
                     ? softmax.getWhere().getDefiningOp<GenericOp>()
                     : nullptr;
    if (where &&
        matchPattern(where.getBody()->getTerminator()->getOperand(0), m_One()))
      rewriter.modifyOpInPlace(softmax,
                               [&] { softmax.getWhereMutable().clear(); });
  }
  // What they do not read any more goes.
  RewritePatternSet patterns(rewriter.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  SmallVector<Operation *> left;
  for (GenericOp step : op.getBody().front().getOps<GenericOp>())
    left.push_back(step);
  (void)applyOpPatternsGreedily(left, std::move(patterns));
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(op.getBody().front())))
    if (isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
}

std::string VisibilityRaise::raise() {
  {
    AttentionBody body(op);
    if (!canRestrict(body))
      return {};
    HidingConditions hiding(op, body);
    for (RowSoftmaxOp softmax : op.getBody().front().getOps<RowSoftmaxOp>())
      conditions.push_back(hiding.find(softmax));
  }
  rewriter.setInsertionPoint(op);
  raiseLengths();
  raiseSegments();
  raisePlaces();
  if (!clauses.empty())
    settleComparisons();
  return clauses;
}

namespace {
struct RaiseVisibility : gatefold::impl::RaiseVisibilityBase<RaiseVisibility> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto options = remark::RemarkOpts::name("visible-keys")
                       .category("gf-raise-visibility");
    getOperation().walk([&](AttentionOp op) {
      std::string clauses = VisibilityRaise(op, rewriter).raise();
      if (clauses.empty())
        return;
      ++attentionsRestricted;
      remark::passed(op.getLoc(), options)
          << ("keys that comparisons hide are not looked at:" + clauses);
    });
  }
};
} // namespace
