// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HoistInputProjection.cpp - One product over all steps --------------===//
//
// Takes products of a recurrence's step that depend on no state out of it: one
// product over all steps, whose slices are a sequence of the recurrence.
//
// Exactness: each element is a sum of the same terms in the same order. What
// else moves is one operation per element, the same one, rounded on its own
// wherever it stands. Only where a product
// is split at a concatenation is its sum that of two: the second half is added
// to the first as a whole, unless a later pass lets it begin there. Steps that
// are padding are computed from padding, row by row, and are never read.
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
#define GEN_PASS_DEF_HOISTINPUTPROJECTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static remark::RemarkOpts remarkOf(StringRef name) {
  return remark::RemarkOpts::name(name).category("gf-hoist-input-projection");
}

static bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::CastOp>(op);
}

namespace {
/// The operations of one step that are computed for all steps at once.
class Hoisting {
public:
  Hoisting(RecurrenceOp op)
      : op(op), body(op.getBody().front()),
        leadRank(op.getTimeAxisAttr().getInt()) {
    findKnown();
  }

  const llvm::SmallDenseSet<Value> &getKnown() const { return known; }
  void choose();
  /// How many products are out of the loop.
  unsigned apply(RewriterBase &rewriter);
  void explainOthers();

private:
  void findKnown();
  void addWithOperands(Operation *inner);
  bool leaveBehind(Operation *inner);
  int64_t addedBy(ArrayRef<Operation *> left);
  bool isKept(Operation *inner) { return hoisted.contains(inner); }
  bool isUsedBehind(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !isKept(body.findAncestorOpInBlock(*user));
    });
  }
  bool isUsedAhead(Operation *inner) {
    return llvm::any_of(inner->getUsers(), [&](Operation *user) {
      return isKept(body.findAncestorOpInBlock(*user));
    });
  }
  int64_t elements(Value value) { return countElements(value, leadRank); }
  std::string explain(Operation *product);

  RecurrenceOp op;
  Block &body;
  unsigned leadRank;
  llvm::SmallDenseSet<Value> known;
  llvm::SetVector<Operation *> hoisted;
};
} // namespace

void Hoisting::findKnown() {
  for (BlockArgument argument : op.getStepArguments())
    known.insert(argument);
  auto isKnown = [&](Value value) { return known.contains(value); };
  for (Operation &inner : body)
    if (canComputeAllSteps(op, &inner, isKnown))
      known.insert(inner.result_begin(), inner.result_end());
}

void Hoisting::addWithOperands(Operation *inner) {
  if (!hoisted.insert(inner))
    return;
  for (Value operand : inner->getOperands())
    if (known.contains(operand) && operand.getDefiningOp())
      addWithOperands(operand.getDefiningOp());
}

/// Chooses the products, what they need, and what is computed from them as far
/// as it is known; then leaves behind what would only make more sequences.
void Hoisting::choose() {
  llvm::SmallPtrSet<Operation *, 16> fromProducts;
  for (Operation &inner : body) {
    if (inner.getNumResults() == 0 || !known.contains(inner.getResult(0)))
      continue;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
    bool isProduct = linalgOp && linalg::isaContractionOpInterface(linalgOp);
    bool isFromProduct = llvm::any_of(inner.getOperands(), [&](Value operand) {
      return fromProducts.contains(operand.getDefiningOp());
    });
    if (!isProduct && !isFromProduct)
      continue;
    fromProducts.insert(&inner);
    addWithOperands(&inner);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    SmallVector<Operation *> list = hoisted.takeVector();
    hoisted.insert(list.begin(), list.end());
    for (Operation *inner : llvm::reverse(list))
      changed |= isKept(inner) && leaveBehind(inner);
  }
}

/// Elements of further sequences if `left` were computed in the step.
int64_t Hoisting::addedBy(ArrayRef<Operation *> left) {
  llvm::SmallDenseSet<Value> added;
  for (Operation *inner : left)
    for (Value operand : inner->getOperands())
      if (operand.getDefiningOp() && isKept(operand.getDefiningOp()) &&
          !isUsedBehind(operand))
        added.insert(operand);
  int64_t total = 0;
  for (Value value : added)
    total += elements(value);
  return total;
}

/// Leaves `inner` in the step where that makes the sequences smaller: views of
/// one value, and what is cheap to compute from values that are sequences
/// anyway.
bool Hoisting::leaveBehind(Operation *inner) {
  if (isUsedAhead(inner))
    return false;
  SmallVector<Operation *> group = {inner};
  if (isView(inner)) {
    for (Operation *other : inner->getOperand(0).getUsers())
      if (other != inner && isKept(other) && isView(other) &&
          !isUsedAhead(other))
        group.push_back(other);
  } else if (auto linalgOp = dyn_cast<linalg::LinalgOp>(inner)) {
    if (linalgOp.getNumReductionLoops())
      return false;
  }
  int64_t freed = 0;
  for (Operation *other : group)
    for (Value result : other->getResults())
      freed += elements(result);
  int64_t added = addedBy(group);
  if (isView(inner) ? added > freed : added >= freed)
    return false;
  for (Operation *other : group)
    hoisted.remove(other);
  return true;
}

unsigned Hoisting::apply(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  AllSteps steps(op, rewriter);
  SmallVector<Operation *> order;
  for (Operation &inner : body)
    if (isKept(&inner))
      order.push_back(&inner);
  unsigned products = 0;
  for (Operation *inner : order) {
    bool isReady = llvm::all_of(inner->getOperands(), [&](Value operand) {
      return steps.isKnown(operand) || isSameAtEachStep(operand, op.getBody());
    });
    if (!isReady || failed(steps.compute(inner))) {
      hoisted.remove(inner);
      continue;
    }
    auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
    if (!linalgOp || !linalg::isaContractionOpInterface(linalgOp))
      continue;
    ++products;
    auto remark = remark::passed(inner->getLoc(), remarkOf("hoisted"));
    if (remark)
      remark << "input projection " + describeProduct(linalgOp) +
                    " hoisted: one product over all steps";
  }
  SmallVector<Value> values, wholes;
  for (Operation *inner : order)
    for (Value result : inner->getResults())
      if (isKept(inner) && isUsedBehind(result)) {
        values.push_back(result);
        wholes.push_back(steps.get(result));
      }
  if (!values.empty())
    op = addSequences(rewriter, op, values, wholes);
  for (Operation *inner : llvm::reverse(order))
    if (inner->use_empty())
      rewriter.eraseOp(inner);
  return products;
}

/// Why a product is not known before the steps.
std::string Hoisting::explain(Operation *product) {
  unsigned sequenceCount = op.getSequences().size();
  llvm::SetVector<Value> seen;
  Operation *culprit = nullptr;
  seen.insert(product->operand_begin(), product->operand_end());
  for (unsigned i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    if (!op.getBody().isAncestor(value.getParentRegion()))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &body &&
          argument.getArgNumber() >= sequenceCount)
        return "it depends on state #" +
               std::to_string(argument.getArgNumber() - sequenceCount);
      continue;
    }
    Operation *definition = value.getDefiningOp();
    if (!known.contains(value) && !isSameAtEachStep(value, op.getBody()))
      culprit = definition;
    definition->walk([&](Operation *inner) {
      seen.insert(inner->operand_begin(), inner->operand_end());
    });
  }
  return (culprit ? culprit->getName().getStringRef()
                  : product->getName().getStringRef())
             .str() +
         " is not computed for all steps at once";
}

void Hoisting::explainOthers() {
  for (Operation &inner : body) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
    if (!linalgOp || !linalg::isaContractionOpInterface(linalgOp))
      continue;
    auto remark = remark::missed(inner.getLoc(), remarkOf("not-hoisted"));
    if (remark)
      remark << "product " + describeProduct(linalgOp) +
                    " stays in the step: " + explain(&inner);
  }
}

namespace {
struct HoistInputProjection
    : gatefold::impl::HoistInputProjectionBase<HoistInputProjection> {
  void runOnOperation() override {
    // What leaves an inner recurrence may leave the one around it.
    SmallVector<RecurrenceOp> recurrences;
    getOperation().walk([&](RecurrenceOp op) { recurrences.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (RecurrenceOp op : recurrences) {
      {
        Hoisting hoisting(op);
        productsSplit += splitProducts(rewriter, op, [&](Value value) {
          return hoisting.getKnown().contains(value);
        });
      }
      Hoisting hoisting(op);
      hoisting.choose();
      productsHoisted += hoisting.apply(rewriter);
      hoisting.explainOthers();
    }
  }
};
} // namespace
