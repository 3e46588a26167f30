// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FormTeam.cpp - Parallel loops as ranks with barriers ---------------===//
//
// Every rank executes the whole of an entry, of each scf.forall its part, and
// then waits for the others.
//
// Why there is no race: outside of scf.forall the entry only reads
// (gf-distribute sees to it, and it is checked here). A forall's iterations are
// independent. Behind each stands a barrier, so that what it wrote is seen
// afterwards and what it read is not overwritten before. What is read outside,
// from memory that is written somewhere, gets a barrier before the next forall.
// Conditions and bounds outside are the same on all ranks, hence so are the
// barriers.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/support/Entry.h"
#include "passes/team/Passes.h"
#include "passes/team/TeamEntries.h"

namespace gatefold {
#define GEN_PASS_DEF_FORMTEAM
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The argument of the entry that a buffer is a view of; null if it is unknown.
static BlockArgument getArgument(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())
             ? argument
             : BlockArgument();
}

/// One iteration for each rank, so that the rank is the iteration.
static bool isPerRank(scf::ForallOp forall) {
  if (forall.getRank() != 1 || !forall.isNormalized())
    return false;
  auto bound = dyn_cast<Value>(forall.getMixedUpperBound().front());
  return bound && bound.getDefiningOp<TeamSizeOp>();
}

static bool holdsForall(Operation *op) {
  return op->walk([](scf::ForallOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

namespace {
class Formation {
public:
  explicit Formation(func::FuncOp entry) : entry(entry) {}

  LogicalResult run();

  unsigned barriers = 0, foralls = 0;

private:
  void findWritten();
  LogicalResult form(Block &block);
  LogicalResult checkOutside(Operation *op);
  bool readsWritten(Operation *op);
  void barrier(OpBuilder &builder, Location loc);
  void splitByRank(scf::ForallOp forall);
  void splitIterations(scf::ForallOp forall);

  func::FuncOp entry;
  /// What some forall may write; null stands for memory that is not known.
  llvm::DenseSet<Value> written;
};
} // namespace

void Formation::findWritten() {
  entry.walk([&](Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    SmallVector<MemoryEffects::EffectInstance> found;
    effects.getEffects(found);
    for (const MemoryEffects::EffectInstance &effect : found)
      if (isa<MemoryEffects::Write>(effect.getEffect()))
        written.insert(effect.getValue() ? getArgument(effect.getValue())
                                         : BlockArgument());
  });
}

/// Whether the operation, or one in it, reads what is written somewhere.
bool Formation::readsWritten(Operation *op) {
  return op
      ->walk([&](memref::LoadOp load) {
        Value argument = getArgument(load.getMemRef());
        return !argument || written.contains(argument) ||
                       written.contains(Value())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Outside of scf.forall all ranks do the same, so nothing may be written.
LogicalResult Formation::checkOutside(Operation *op) {
  if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    if (!holdsForall(op))
      for (Region &region : op->getRegions())
        for (Operation &inner : region.getOps())
          if (failed(checkOutside(&inner)))
            return failure();
    return success();
  }
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (isMemoryEffectFree(op) || isa<cf::AssertOp, TeamBarrierOp>(op) ||
      (effects && !effects.hasEffect<MemoryEffects::Write>()))
    return success();
  return op->emitOpError("writes memory outside of an scf.forall, where every "
                         "rank executes it");
}

void Formation::barrier(OpBuilder &builder, Location loc) {
  TeamBarrierOp::create(builder, loc);
  ++barriers;
}

void Formation::splitByRank(scf::ForallOp forall) {
  OpBuilder builder(forall);
  Value rank = TeamRankOp::create(builder, forall.getLoc());
  forall.getInductionVar(0).replaceAllUsesWith(rank);
  for (Operation &op :
       llvm::make_early_inc_range(forall.getBody()->without_terminator()))
    op.moveBefore(forall);
}

/// Iterations in turns, one to each rank: neighbours often take the same time,
/// which may grow or fall along the loop.
void Formation::splitIterations(scf::ForallOp forall) {
  OpBuilder builder(forall);
  Location loc = forall.getLoc();
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  Value total = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> lower, steps, counts;
  for (auto [low, high, step] :
       llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                 forall.getMixedStep())) {
    lower.push_back(toValue(low));
    steps.push_back(toValue(step));
    Value span =
        arith::SubIOp::create(builder, loc, toValue(high), lower.back());
    // Of a loop that ends before it begins there is no iteration.
    span = arith::MaxSIOp::create(
        builder, loc, span, arith::ConstantIndexOp::create(builder, loc, 0));
    counts.push_back(
        arith::CeilDivSIOp::create(builder, loc, span, steps.back()));
    total = arith::MulIOp::create(builder, loc, total, counts.back());
  }
  Value rank = TeamRankOp::create(builder, loc);
  Value ranks = TeamSizeOp::create(builder, loc);
  auto loop = scf::ForOp::create(builder, loc, rank, total, ranks);
  builder.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar();
  for (int64_t dim = forall.getRank() - 1; dim >= 0; --dim) {
    Value number = rest;
    if (dim > 0) {
      number = arith::RemUIOp::create(builder, loc, rest, counts[dim]);
      rest = arith::DivUIOp::create(builder, loc, rest, counts[dim]);
    }
    Value scaled = arith::MulIOp::create(builder, loc, number, steps[dim]);
    forall.getInductionVar(dim).replaceAllUsesWith(
        arith::AddIOp::create(builder, loc, scaled, lower[dim]));
  }
  Operation *end = loop.getBody()->getTerminator();
  for (Operation &op :
       llvm::make_early_inc_range(forall.getBody()->without_terminator()))
    op.moveBefore(end);
}

LogicalResult Formation::form(Block &block) {
  bool hasRead = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto forall = dyn_cast<scf::ForallOp>(op);
    OpBuilder builder(&op);
    bool mayWrite = holdsForall(&op);
    // Around the end of a block there may be writes, too.
    bool isEnd =
        op.hasTrait<OpTrait::IsTerminator>() && !isa<func::ReturnOp>(op);
    if (hasRead && (mayWrite || isEnd)) {
      barrier(builder, op.getLoc());
      hasRead = false;
    }
    if (!forall) {
      if (failed(checkOutside(&op)))
        return failure();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (mayWrite && failed(form(inner)))
            return failure();
      hasRead |= !mayWrite && readsWritten(&op);
      continue;
    }
    if (forall.getNumResults() != 0)
      return forall.emitOpError("has results");
    // A rank executes its iterations alone.
    SmallVector<scf::ForallOp> nested;
    forall.getBody()->walk(
        [&](scf::ForallOp inner) { nested.push_back(inner); });
    IRRewriter rewriter(op.getContext());
    for (scf::ForallOp inner : nested) {
      if (inner.getNumResults() != 0)
        return inner.emitOpError("has results");
      rewriter.setInsertionPoint(inner);
      LogicalResult isLoop = scf::forallToForLoop(rewriter, inner);
      assert(succeeded(isLoop) && "an scf.forall on buffers is a loop");
      (void)isLoop;
    }
    if (isPerRank(forall))
      splitByRank(forall);
    else
      splitIterations(forall);
    ++foralls;
    builder.setInsertionPointAfter(forall);
    // All have done their part before the run ends.
    if (!isa<func::ReturnOp>(op.getNextNode()))
      barrier(builder, op.getLoc());
    forall.erase();
  }
  return success();
}

LogicalResult Formation::run() {
  findWritten();
  for (Block &block : entry.getBody())
    if (failed(form(block)))
      return failure();
  return success();
}

namespace {
struct FormTeam : gatefold::impl::FormTeamBase<FormTeam> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp, 2>> entries =
        findTeamEntries(getOperation());
    if (failed(entries))
      return signalPassFailure();
    for (func::FuncOp entry : *entries) {
      Formation formation(entry);
      if (failed(formation.run()))
        return signalPassFailure();
      barriersMade += formation.barriers;
      forallsSplit += formation.foralls;
    }
  }
};
} // namespace
