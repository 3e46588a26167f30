// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Distribute.cpp - Work of a run shared among ranks ------------------===//
//
// Every write to a buffer that ranks share ends up in an scf.forall.
//
// The bits of a result are the same for every number of ranks: a share is the
// same operation on views, so each element is computed from the same terms in
// the same order, and no reduction is cut.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/support/Entry.h"
#include "passes/team/Alternate.h"
#include "passes/team/Group.h"
#include "passes/team/Passes.h"
#include "passes/team/ProductsFirst.h"
#include "passes/team/Sections.h"
#include "passes/team/Tally.h"
#include "passes/team/TeamEntries.h"

namespace gatefold {
#define GEN_PASS_DEF_DISTRIBUTE
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
class Distribution {
public:
  Distribution(func::FuncOp entry, const Interface *interface)
      : entry(entry), extents(entry, interface), rates(extents.getRates()),
        joinsLoops(
            TargetDescription::fromModule(entry->getParentOfType<ModuleOp>())
                .isGpu()) {}
  ~Distribution() {
    // Some use values of others.
    for (Operation *op : replaced)
      op->dropAllReferences();
    for (Operation *op : replaced)
      op->destroy();
  }

  LogicalResult run();
  Extents &getExtents() { return extents; }

  unsigned shared = 0, alone = 0;

private:
  using ExtentList = SmallVector<AffineExpr>;
  LogicalResult distribute(Block &block, const ExtentList &excluded);
  std::optional<Group> findGroup(Operation *op, const ExtentList &excluded);
  FailureOr<Operation *> emitGroup(Group &group, const ExtentList &excluded);
  FailureOr<Operation *> share(Operation *op, const ExtentList &excluded);
  FailureOr<Operation *> distributeRegions(Operation *op,
                                           const ExtentList &excluded);
  FailureOr<Operation *> emitSections(Sections &sections,
                                      const ExtentList &excluded);
  Operation *makeSingle(Operation *first, const ExtentList &excluded);
  Operation *keepSingle(scf::IfOp choice, Location loc,
                        ArrayRef<Operation *> buffers);
  void describeSteps(Location loc, const Twine &words);
  bool isWorthSharing(Operation *op);
  bool canCut(Operation *op, const ExtentList &excluded, int64_t least);
  bool canShare(Operation *op, const ExtentList &excluded);

  func::FuncOp entry;
  Extents extents;
  const WorkRates &rates;
  /// Two loops that are independent become one, whose steps all ranks share:
  /// there are many of them, and a step of both costs one barrier. Of a CPU a
  /// rank has one each, whose weights stay in its cache.
  bool joinsLoops;
  /// Of the steps that are distributed now, if any.
  Tally *current = nullptr;
  /// Loops that have been looked at as the first of two sections.
  llvm::SmallPtrSet<Operation *, 8> first;
  /// Lives as long as `extents`, which remembers values of it.
  SmallVector<Operation *> replaced;
};
} // namespace

/// The work between two barriers: of one iteration.
static Work workOfStep(Operation *op, Extents &extents) {
  if (!isa<LoopLikeOpInterface>(op))
    return Work::of(op, extents);
  Work work;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      work.add(Work::of(block, extents));
  return work;
}

bool Distribution::isWorthSharing(Operation *op) {
  bool hasRegions = !isStructured(op) && op->getNumRegions() != 0;
  if (!hasRegions)
    return Work::of(op, extents).estimate(typicalSize) >= rates.leastShared;
  // Loops in it may be, where it is not itself.
  bool isWorth =
      workOfStep(op, extents).estimate(typicalSize) >= rates.worthSharing;
  return isWorth || op->walk([&](scf::ForallOp) {
                        return WalkResult::interrupt();
                      }).wasInterrupted();
}

/// Whether a structured operation can be cut along an extent that is not
/// excluded, in `least` parts where it is known how many there may be.
bool Distribution::canCut(Operation *op, const ExtentList &excluded,
                          int64_t least) {
  return llvm::any_of(getAxes(op, extents), [&](const Axis &axis) {
    return llvm::none_of(axis.extents, [&](AffineExpr extent) {
      auto constant = dyn_cast<AffineConstantExpr>(extent);
      return llvm::is_contained(excluded, extent) ||
             (constant && constant.getValue() < least);
    });
  });
}

/// Whether something in an operation can be cut at all: of excluded extents
/// there are narrow groups, which hold no product and no packing.
bool Distribution::canShare(Operation *op, const ExtentList &excluded) {
  return op
      ->walk([&](Operation *inner) {
        if (isa<scf::ForallOp>(inner))
          return WalkResult::interrupt();
        if (!isStructured(inner))
          return WalkResult::advance();
        bool isCut = isa<LinearOp, PackOp>(inner) ? canCut(inner, excluded, 2)
                                                  : canCut(inner, {}, 2);
        return isCut ? WalkResult::interrupt() : WalkResult::skip();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The group that covers most work, weighed by how well it is balanced.
std::optional<Group> Distribution::findGroup(Operation *op,
                                             const ExtentList &excluded) {
  std::optional<Group> best;
  double bestScore = 0;
  for (AffineExpr extent : getGroupExtents(op, extents)) {
    Group group(op, extent, llvm::is_contained(excluded, extent), extents);
    if (group.isEmpty())
      continue;
    int64_t work = group.getWork().estimate(typicalSize);
    double score = double(work) * group.getBalance();
    if (work < rates.leastShared || score <= bestScore)
      continue;
    bestScore = score;
    best.emplace(std::move(group));
  }
  return best;
}

/// Where the extent may be too small for the ranks of a run, another way of
/// sharing is kept beside it. Returns the operation behind which to go on.
FailureOr<Operation *> Distribution::emitGroup(Group &group,
                                               const ExtentList &excluded) {
  SmallVector<Operation *> items(group.getItems());
  Operation *first = items.front();
  Location loc = first->getLoc();
  group.gather();
  OpBuilder builder(first);
  ++shared;
  AffineExpr extent = group.getExtent();
  if (current) {
    ++current->barriers;
    if (group.getIsNarrow())
      current->narrow.push_back({group.getWork(), extent});
    else
      current->shared.add(group.getWork());
  }
  ExtentList without(excluded);
  without.push_back(extent);
  auto constant = dyn_cast<AffineConstantExpr>(extent);
  bool isAlwaysEnough = constant && constant.getValue() >= rates.manyRows;
  // As the gates of a cell would be, instead of its units.
  int64_t parts = 1;
  if (constant)
    parts += constant.getValue() / group.getLeastRows();
  bool hasOther = llvm::any_of(items, [&](Operation *item) {
    return item
        ->walk([&](Operation *op) {
          return isa<scf::ForallOp>(op) ||
                         (isStructured(op) && canCut(op, without, parts + 1))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  });
  if (isAlwaysEnough || !hasOther || group.getIsNarrow()) {
    Operation *emitted = group.emit(builder);
    for (Operation *item : items) {
      item->remove();
      replaced.push_back(item);
    }
    return emitted;
  }
  Value ranks = TeamSizeOp::create(builder, loc);
  Value least = arith::MulIOp::create(
      builder, loc, ranks,
      arith::ConstantIndexOp::create(builder, loc, group.getLeastRows()));
  Value total = extents.emit(builder, loc, extent);
  Value isEnough = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::uge, total, least);
  auto choice = scf::IfOp::create(builder, loc, isEnough,
                                  /*withElseRegion=*/true);
  OpBuilder inside = choice.getThenBodyBuilder();
  group.emit(inside);
  Operation *end = choice.elseBlock()->getTerminator();
  for (Operation *item : items)
    item->moveBefore(end);
  Tally other, *outer = std::exchange(current, &other);
  LogicalResult done = distribute(*choice.elseBlock(), without);
  current = outer;
  if (failed(done))
    return failure();
  if (current)
    current->more += std::max<int64_t>(other.barriers + other.more - 1, 0);
  return choice.getOperation();
}

/// Two ranks take one part each; fewer or more share what stands in both.
FailureOr<Operation *> Distribution::emitSections(Sections &sections,
                                                  const ExtentList &excluded) {
  SmallVector<Operation *> items = sections.getItems();
  for (Operation *op : sections.between)
    if (items.front()->isBeforeInBlock(op))
      op->moveBefore(items.front());
  OpBuilder builder(items.front());
  Location loc = items.front()->getLoc();
  ++shared;
  Value two = arith::ConstantIndexOp::create(builder, loc, 2);
  Value areTwo = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       TeamSizeOp::create(builder, loc), two);
  auto choice =
      scf::IfOp::create(builder, loc, areTwo, /*withElseRegion=*/true);
  OpBuilder inside = choice.getThenBodyBuilder();
  emitForall(inside, loc, [&](OpBuilder &body, Value, Value rank) {
    Value zero = arith::ConstantIndexOp::create(body, loc, 0);
    Value isFirst =
        arith::CmpIOp::create(body, loc, arith::CmpIPredicate::eq, rank, zero);
    auto part = scf::IfOp::create(body, loc, isFirst, /*withElseRegion=*/true);
    for (int number : {0, 1}) {
      OpBuilder own =
          number == 0 ? part.getThenBodyBuilder() : part.getElseBodyBuilder();
      for (Operation *item : sections.parts[number])
        own.clone(*item);
    }
  });
  Operation *end = choice.elseBlock()->getTerminator();
  for (Operation *item : items)
    item->moveBefore(end);
  if (failed(distribute(*choice.elseBlock(), excluded)))
    return failure();
  return choice.getOperation();
}

/// With what follows, as far as it is worth no sharing, or cannot be shared.
Operation *Distribution::makeSingle(Operation *first,
                                    const ExtentList &excluded) {
  ++alone;
  if (current)
    ++current->barriers;
  return gatefold::makeSingle(
      first,
      [&](Operation *op) {
        return isWorthSharing(op) && canShare(op, excluded);
      },
      extents);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Every rank executes the loop or branch; what it holds is shared.
FailureOr<Operation *>
Distribution::distributeRegions(Operation *op, const ExtentList &excluded) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(distribute(block, excluded)))
        return failure();
  return op;
}

/// A loop or branch that holds something worth sharing: with barriers in it,
/// unless a run's sizes turn out to be small.
FailureOr<Operation *> Distribution::share(Operation *op,
                                           const ExtentList &excluded) {
  if (op->getNumResults() != 0 || !isa<scf::ForOp>(op))
    return distributeRegions(op, excluded);
  Work step = workOfStep(op, extents);
  bool holdsLoop = op->walk([&](Operation *inner) {
                       return inner != op && isa<LoopLikeOpInterface>(inner)
                                  ? WalkResult::interrupt()
                                  : WalkResult::advance();
                     }).wasInterrupted();
  if (holdsLoop && step.estimate(1) >= rates.worthSharing)
    return distributeRegions(op, excluded);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto choice = scf::IfOp::create(
      builder, loc, arith::ConstantIntOp::create(builder, loc, true, 1),
      /*withElseRegion=*/true);
  choice.getElseBodyBuilder().clone(*op);
  op->moveBefore(choice.thenBlock()->getTerminator());
  makeSingle(&choice.elseBlock()->front(), excluded);
  moveProductsFirst(*cast<scf::ForOp>(op).getBody());
  Operation *loop = op;
  SmallVector<Operation *> buffers;
  int64_t steps = 1;
  if (auto alternated = alternateBuffers(cast<scf::ForOp>(op))) {
    op->remove();
    replaced.push_back(op);
    loop = alternated->loop;
    buffers = std::move(alternated->buffers);
    steps = 2;
    makeSingle(alternated->last, excluded);
  }
  Tally tally, *outer = std::exchange(current, &tally);
  LogicalResult done = distributeRegions(loop, excluded);
  current = outer;
  if (failed(done))
    return failure();
  builder.setInsertionPoint(choice);
  if (holdsLoop) {
    // What the loops in it do is not known step by step.
    tally = {step, {}, rates.worthSharing / rates.barrier};
  } else {
    std::optional<double> spared = tally.getMostSpared();
    if (spared && *spared <= tally.getCost(extents))
      return keepSingle(choice, loc, buffers);
    int64_t barriers = (tally.barriers + tally.more) / steps;
    describeSteps(loc,
                  "ranks that share one meet at " + Twine(barriers) +
                      (barriers == 1 ? " barrier in it" : " barriers in it"));
  }
  choice.getConditionMutable().assign(tally.emitIsWorth(builder, loc, extents));
  return choice.getOperation();
}

/// What one rank does, in place of a choice: ranks never share the steps,
/// however many they are. `buffers` are for sharing them.
Operation *Distribution::keepSingle(scf::IfOp choice, Location loc,
                                    ArrayRef<Operation *> buffers) {
  describeSteps(loc, "one rank executes them, as barriers in each would take "
                     "longer than what is to be shared");
  Operation *single = nullptr;
  for (Operation &op :
       llvm::make_early_inc_range(choice.elseBlock()->without_terminator())) {
    op.moveBefore(choice);
    single = &op;
  }
  choice->remove();
  replaced.push_back(choice);
  for (Operation *buffer : buffers) {
    buffer->remove();
    replaced.push_back(buffer);
  }
  return single;
}

/// Says how often ranks wait for each other in a step that they share, at most.
void Distribution::describeSteps(Location loc, const Twine &words) {
  remark::analysis(loc,
                   remark::RemarkOpts::name("steps").category("gf-distribute"))
      << "steps: " + words.str();
}

LogicalResult Distribution::distribute(Block &block,
                                       const ExtentList &excluded) {
  for (Operation *op = &block.front(); op; op = op->getNextNode()) {
    if (isNeutral(op) || op->hasTrait<OpTrait::IsTerminator>() ||
        isa<memref::LoadOp, scf::ForallOp>(op))
      continue;
    if (isa<scf::ForOp>(op) && isWorthSharing(op) && first.insert(op).second)
      if (std::optional<Sections> sections = findSections(op, extents)) {
        if (joinsLoops) {
          // What has been put in front of it comes first.
          if (Operation *front = joinLoops(*sections)) {
            replaced.push_back(sections->loops[1]);
            op = front;
          }
        } else {
          FailureOr<Operation *> last = emitSections(*sections, excluded);
          if (failed(last))
            return failure();
          op = *last;
          continue;
        }
      }
    if (std::optional<Group> group = findGroup(op, excluded)) {
      FailureOr<Operation *> last = emitGroup(*group, excluded);
      if (failed(last))
        return failure();
      op = *last;
      continue;
    }
    bool hasRegions = !isStructured(op) && op->getNumRegions() != 0;
    if (hasRegions && (op->getNumResults() != 0 ||
                       (isWorthSharing(op) && canShare(op, excluded)))) {
      FailureOr<Operation *> last = share(op, excluded);
      if (failed(last))
        return failure();
      op = *last;
      continue;
    }
    if (op->getNumResults() != 0)
      return op->emitOpError("not compiled yet: it writes memory and has "
                             "results, where several threads execute it");
    op = makeSingle(op, excluded);
  }
  return success();
}

LogicalResult Distribution::run() {
  if (!llvm::hasSingleElement(entry.getBody()))
    return entry.emitError("has more than one block");
  return distribute(entry.getBody().front(), {});
}

namespace {
struct Distribute : gatefold::impl::DistributeBase<Distribute> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp, 2>> entries = findTeamEntries(module);
    if (failed(entries))
      return signalPassFailure();
    FailureOr<Interface> interface = failure();
    if (module->hasAttr(descriptionName)) {
      interface = Interface::fromModule(module);
      if (failed(interface))
        return signalPassFailure();
    }
    for (func::FuncOp entry : *entries)
      if (failed(
              distribute(entry, succeeded(interface) ? &*interface : nullptr)))
        return signalPassFailure();
  }

  LogicalResult distribute(func::FuncOp entry, const Interface *interface) {
    bool isRun = entry.getSymName() == runFunction;
    // The tensors of `prepare` are the first ones of the interface, too.
    Distribution distribution(entry, interface);
    // `prepare` runs once, and has as many ranks as there are.
    if (isRun && interface)
      makeUsefulRanks(entry, interface->dimensions.size(),
                      distribution.getExtents());
    if (failed(distribution.run()))
      return failure();
    groupsShared += distribution.shared;
    groupsAlone += distribution.alone;
    if (isRun)
      describe(entry, distribution);
    return success();
  }

  void describe(func::FuncOp entry, const Distribution &distribution) {
    remark::analysis(
        entry.getLoc(),
        remark::RemarkOpts::name("distribute").category("gf-distribute"))
        << "threads: " + std::to_string(distribution.shared) +
               " groups of operations are shared among them, " +
               std::to_string(distribution.alone) + " are done by one";
  }
};
} // namespace
