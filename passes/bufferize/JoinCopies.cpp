// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- JoinCopies.cpp - A copy as one more result of its source -----------===//
//
// An elementwise operation writes both places, instead of a copy that reads the
// first one again: the state of a recurrence that is also its output.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/bufferize/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_JOINCOPIES
#include "passes/bufferize/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The buffer that a view shows. Different ones do not overlap, if one of them
/// is made here.
static Value rootOf(Value view) {
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>())
    view = op.getViewSource();
  return view;
}

/// Whether the memory of an allocation can only be reached through views of it.
static bool isReachedByViewsAlone(memref::AllocOp alloc) {
  SmallVector<Value> views = {alloc.getResult()};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (auto view = dyn_cast<ViewLikeOpInterface>(user))
        llvm::append_range(views, user->getResults());
      else if (user->hasTrait<OpTrait::IsTerminator>() ||
               isa<RegionBranchOpInterface, SelectLikeOpInterface,
                   CallOpInterface>(user))
        return false;
    }
  return true;
}

/// Whether the operation, or one in it, may read or write the buffer, and for
/// `onlyWrites` whether it may write it.
static bool touches(Operation *op, Value root, bool onlyWrites) {
  return op
      ->walk([&](Operation *inner) {
        auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
        if (!effects) {
          // Of a loop or branch, what it holds is looked at by itself.
          bool isHarmless =
              isMemoryEffectFree(inner) ||
              inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
              inner->hasTrait<OpTrait::IsTerminator>();
          return isHarmless ? WalkResult::advance() : WalkResult::interrupt();
        }
        SmallVector<MemoryEffects::EffectInstance> found;
        effects.getEffects(found);
        for (const MemoryEffects::EffectInstance &effect : found) {
          if (isa<MemoryEffects::Allocate, MemoryEffects::Free>(
                  effect.getEffect()) ||
              (onlyWrites && isa<MemoryEffects::Read>(effect.getEffect())))
            continue;
          if (!effect.getValue() || rootOf(effect.getValue()) == root)
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The elementwise operation before `copy` that writes its source, if it can
/// write the target as well; and the number of that result.
static std::optional<std::pair<linalg::GenericOp, unsigned>>
findSource(linalg::CopyOp copy, const DominanceInfo &dominance) {
  Value source = copy.getInputs().front(), target = copy.getOutputs().front();
  auto alloc = rootOf(target).getDefiningOp<memref::AllocOp>();
  if (!alloc || rootOf(source) == alloc.getResult() ||
      cast<MemRefType>(source.getType()).getElementType() !=
          cast<MemRefType>(target.getType()).getElementType() ||
      !isReachedByViewsAlone(alloc))
    return std::nullopt;
  for (Operation *op = copy->getPrevNode(); op; op = op->getPrevNode()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    SmallVector<Value> outputs;
    if (generic)
      outputs.assign(generic.getOutputs().begin(), generic.getOutputs().end());
    auto found = llvm::find(outputs, source);
    if (found == outputs.end()) {
      if (touches(op, alloc, /*onlyWrites=*/false) ||
          touches(op, rootOf(source), /*onlyWrites=*/true))
        return std::nullopt;
      continue;
    }
    unsigned number = found - outputs.begin();
    AffineMap map =
        generic.getMatchingIndexingMap(generic.getDpsInitOperand(number));
    if (generic.getNumParallelLoops() != generic.getNumLoops() ||
        !map.isPermutation() || !dominance.properlyDominates(target, generic))
      return std::nullopt;
    // It may read the element that it then overwrites, and no other one.
    for (OpOperand &operand : generic->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()) &&
          rootOf(operand.get()) == alloc.getResult() &&
          (operand.get() != target || generic.isDpsInit(&operand) ||
           generic.getMatchingIndexingMap(&operand) != map))
        return std::nullopt;
    // What its region loads besides may be anywhere.
    bool loads =
        generic.getRegion()
            .walk([](memref::LoadOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (loads)
      return std::nullopt;
    return std::make_pair(generic, number);
  }
  return std::nullopt;
}

/// Writes result `number` to `target`, too.
static void addResult(RewriterBase &rewriter, linalg::GenericOp generic,
                      unsigned number, Value target) {
  rewriter.setInsertionPoint(generic);
  SmallVector<Value> outputs(generic.getOutputs());
  outputs.push_back(target);
  SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
  maps.push_back(maps[generic.getNumDpsInputs() + number]);
  auto joined = linalg::GenericOp::create(
      rewriter, generic.getLoc(), TypeRange(), generic.getInputs(), outputs,
      maps, generic.getIteratorTypesArray());
  joined->setDiscardableAttrs(generic->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(generic.getRegion(), joined.getRegion(),
                              joined.getRegion().end());
  Block &body = joined.getRegion().front();
  body.addArgument(cast<MemRefType>(target.getType()).getElementType(),
                   generic.getLoc());
  Operation *yield = body.getTerminator();
  yield->insertOperands(yield->getNumOperands(), yield->getOperand(number));
  rewriter.eraseOp(generic);
}

namespace {
struct JoinCopies : gatefold::impl::JoinCopiesBase<JoinCopies> {
  void runOnOperation() override {
    SmallVector<linalg::CopyOp> copies;
    getOperation().walk([&](linalg::CopyOp copy) {
      if (copy.hasPureBufferSemantics())
        copies.push_back(copy);
    });
    DominanceInfo dominance(getOperation());
    IRRewriter rewriter(&getContext());
    for (linalg::CopyOp copy : copies) {
      auto source = findSource(copy, dominance);
      if (!source)
        continue;
      addResult(rewriter, source->first, source->second,
                copy.getOutputs().front());
      rewriter.eraseOp(copy);
      ++copiesJoined;
    }
  }
};
} // namespace
