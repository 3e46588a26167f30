// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkOutputProjection.cpp - One product of all outputs --------------===//
//
// Takes products of a recurrence's step that only its outputs need out of it:
// the step yields what they are computed from, and one product over all steps
// follows.
//
// Exactness: each element is a sum of the same terms in the same order, and
// what follows the product is the same operation on the same values. Steps that
// are padding are computed from the zeros that the recurrence gives there, and
// from padding, row by row; behind the end of a sequence 0 is selected.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/fuse/AllSteps.h"
#include "passes/fuse/Passes.h"
#include "passes/fuse/RecurrenceEdits.h"
#include "passes/fuse/SplitProduct.h"
#include "passes/fuse/StepConditions.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_SINKOUTPUTPROJECTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static remark::RemarkOpts remarkOf(StringRef name) {
  return remark::RemarkOpts::name(name).category("gf-sink-output-projection");
}

namespace {
/// The operations of one step that are computed after the recurrence.
class Sinking {
public:
  Sinking(RecurrenceOp op, RewriterBase &rewriter)
      : op(op), rewriter(rewriter), body(op.getBody().front()),
        leadRank(op.getTimeAxisAttr().getInt()) {}

  /// Chooses what sinks with `product`; whether there is anything.
  bool choose(linalg::LinalgOp product);
  /// Whether it does not make the outputs too large.
  bool pays();
  /// The recurrence without them.
  FailureOr<RecurrenceOp> apply();

private:
  bool onlyOutputsNeed(Operation *inner);
  void sinkWhatIsCheap();
  SmallVector<Value> findSources();
  bool isSunk(Value value) {
    return value.getDefiningOp() && sunk.contains(value.getDefiningOp());
  }
  /// Known after the recurrence without a further output.
  bool isThere(Value value) {
    return llvm::is_contained(outputs(), value) ||
           llvm::is_contained(op.getStepArguments(), value) ||
           isSameAtEachStep(value, op.getBody());
  }
  OperandRange outputs() {
    return op.getYield().getValues().take_front(op.getNumOutputs());
  }
  Value selectValid(Value whole);

  RecurrenceOp op;
  RewriterBase &rewriter;
  Block &body;
  unsigned leadRank;
  linalg::LinalgOp product;
  llvm::SmallSetVector<Operation *, 8> sunk;
};
} // namespace

/// Adds `inner` and all that is computed from it, unless a state needs it.
bool Sinking::onlyOutputsNeed(Operation *inner) {
  if (!sunk.insert(inner))
    return true;
  for (OpOperand &use : inner->getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != &body)
      return false;
    if (user == op.getYield()) {
      if (use.getOperandNumber() >= op.getNumOutputs())
        return false;
    } else if (!onlyOutputsNeed(user)) {
      return false;
    }
  }
  return true;
}

/// What stands before the product sinks too where it needs no further output,
/// and nothing else needs it.
void Sinking::sinkWhatIsCheap() {
  for (unsigned i = 0; i < sunk.size(); ++i)
    for (Value operand : sunk[i]->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (!definition || definition->getBlock() != &body ||
          sunk.contains(definition) || isThere(operand) ||
          isMadeAnew(definition) || definition->getNumRegions() > 1 ||
          !llvm::all_of(definition->getUsers(),
                        [&](Operation *user) { return sunk.contains(user); }))
        continue;
      if (llvm::all_of(definition->getOperands(),
                       [&](Value value) { return isThere(value); }) &&
          canComputeAllSteps(op, definition, [&](Value value) {
            return isThere(value) && !isSameAtEachStep(value, op.getBody());
          }))
        sunk.insert(definition);
    }
}

bool Sinking::choose(linalg::LinalgOp chosen) {
  product = chosen;
  sunk.clear();
  if (product->use_empty() || !onlyOutputsNeed(product))
    return false;
  sinkWhatIsCheap();
  for (Operation *inner : sunk) {
    auto isKnown = [&](Value value) {
      return !isSameAtEachStep(value, op.getBody());
    };
    if (canComputeAllSteps(op, inner, isKnown))
      continue;
    auto remark = remark::missed(product->getLoc(), remarkOf("not-sunk"));
    if (remark)
      remark << "output projection " + describeProduct(product) +
                    " stays in the step: " +
                    inner->getName().getStringRef().str() +
                    " is not computed for all steps at once";
    return false;
  }
  return true;
}

/// What the sunk operations are computed from.
SmallVector<Value> Sinking::findSources() {
  llvm::SmallSetVector<Value, 8> sources;
  for (Operation *inner : sunk)
    for (Value operand : inner->getOperands())
      if (!isSunk(operand) && !isThere(operand))
        sources.insert(operand);
  return sources.takeVector();
}

bool Sinking::pays() {
  constexpr int64_t mostGrowth = 4;
  int64_t needed = 0, given = 0;
  for (Value value : findSources())
    needed += countElements(value, leadRank);
  llvm::SmallDenseSet<Value> seen;
  for (Value value : outputs())
    if (isSunk(value) && seen.insert(value).second)
      given += countElements(value, leadRank);
  if (needed <= mostGrowth * given)
    return true;
  auto remark = remark::missed(product->getLoc(), remarkOf("not-sunk"));
  if (remark)
    remark << "output projection " + describeProduct(product) +
                  " stays in the step: all steps of what it reads, " +
                  std::to_string(needed) +
                  " elements each, would be kept for " + std::to_string(given);
  return false;
}

/// `whole` where time is before the end of the sequence, else 0.
Value Sinking::selectValid(Value whole) {
  Value lengths = op.getLengths();
  if (!lengths)
    return whole;
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(whole.getType());
  int64_t rank = type.getRank();
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, whole),
      type.getElementType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, TypeRange(empty.getType()),
             ValueRange{lengths, whole}, empty,
             ArrayRef{leadingMap(rank, lengths), identity, identity}, iterators,
             [&](OpBuilder &builder, Location loc, ValueRange values) {
               Value time = linalg::IndexOp::create(builder, loc, leadRank);
               Value end = arith::IndexCastOp::create(
                   builder, loc, builder.getIndexType(), values[0]);
               Value valid = arith::CmpIOp::create(
                   builder, loc, arith::CmpIPredicate::slt, time, end);
               Value zero = arith::ConstantOp::create(
                   builder, loc, builder.getZeroAttr(type.getElementType()));
               Value kept = arith::SelectOp::create(builder, loc, valid,
                                                    values[1], zero);
               linalg::YieldOp::create(builder, loc, kept);
             })
      .getResult(0);
}

FailureOr<RecurrenceOp> Sinking::apply() {
  SmallVector<Value> sources = findSources();
  // Outputs that are sources already are there.
  SmallVector<Value> before(outputs());
  op = addOutputs(rewriter, op, sources);
  rewriter.setInsertionPointAfter(op);
  AllSteps steps(op, rewriter);
  for (auto [value, whole] : llvm::zip(outputs(), op.getResults()))
    if (!steps.isKnown(value) && !isSunk(value))
      steps.add(value, whole);
  SmallVector<Operation *> order;
  for (Operation &inner : body)
    if (sunk.contains(&inner))
      order.push_back(&inner);
  for (Operation *inner : order)
    if (failed(steps.compute(inner)))
      return failure();
  for (auto [index, value] : llvm::enumerate(before)) {
    if (!isSunk(value))
      continue;
    Value output = op.getResult(index);
    Value whole = selectValid(steps.get(value));
    if (whole.getType() != output.getType())
      whole = tensor::CastOp::create(rewriter, op.getLoc(), output.getType(),
                                     whole);
    rewriter.replaceAllUsesWith(output, whole);
  }
  auto remark = remark::passed(product.getLoc(), remarkOf("sunk"));
  if (remark)
    remark << "output projection " + describeProduct(product) +
                  " sunk: one product over all steps";
  op = dropUnusedOutputs(rewriter, op);
  for (Operation *inner : llvm::reverse(order))
    rewriter.eraseOp(inner);
  return op;
}

namespace {
struct SinkOutputProjection
    : gatefold::impl::SinkOutputProjectionBase<SinkOutputProjection> {
  void runOnOperation() override {
    SmallVector<RecurrenceOp> recurrences;
    getOperation().walk([&](RecurrenceOp op) { recurrences.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (RecurrenceOp op : recurrences)
      sinkFrom(op, rewriter);
  }

  void sinkFrom(RecurrenceOp op, IRRewriter &rewriter) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto product : op.getBody().getOps<linalg::LinalgOp>()) {
        if (!linalg::isaContractionOpInterface(product) ||
            considered.contains(product))
          continue;
        considered.insert(product);
        Sinking sinking(op, rewriter);
        if (!sinking.choose(product) || !sinking.pays())
          continue;
        FailureOr<RecurrenceOp> again = sinking.apply();
        if (failed(again))
          return signalPassFailure();
        op = *again;
        ++productsSunk;
        changed = true;
        break;
      }
    }
  }

  llvm::SmallPtrSet<Operation *, 16> considered;
};
} // namespace
