// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParallelLoops.cpp - Marked loops become scf.forall -----------------===//
//
// A tiling marks the loops whose iterations are independent; nests of them
// become one scf.forall. Code on vectors that is in none of them, since its
// loops had one iteration, becomes one of one iteration.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/support/Entry.h"
#include "passes/team/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_PARALLELLOOPS
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isParallel(Operation *op) {
  return isa<scf::ForOp>(op) && op->hasAttr(parallelName);
}

/// The one marked loop in the body of a loop, if nothing else there writes or
/// reads memory, and its bounds do not depend on the loop.
static scf::ForOp findInner(scf::ForOp loop) {
  scf::ForOp inner;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isMemoryEffectFree(&op))
      continue;
    if (inner || !isParallel(&op) || op.getNumResults() != 0)
      return {};
    inner = cast<scf::ForOp>(op);
  }
  if (!inner)
    return {};
  for (Value bound :
       {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
    if (!loop.isDefinedOutsideOfLoop(bound))
      return {};
  return inner;
}

/// A buffer that nothing but the loop uses is made in it: each iteration may
/// have its own, since none reads what another has written there.
static void sinkBuffers(scf::ForOp loop) {
  SetVector<Operation *> buffers;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto alloc = operand.getDefiningOp<memref::AllocOp>())
        if (!loop->isAncestor(alloc))
          buffers.insert(alloc);
  });
  for (Operation *alloc : buffers)
    if (llvm::all_of(alloc->getUsers(), [&](Operation *user) {
          return loop->isProperAncestor(user);
        }))
      alloc->moveBefore(&loop.getBody()->front());
}

/// Whether each iteration writes all of a buffer that is there for all of them:
/// then the mark is wrong, or memory was shared after it was made.
static bool writesWhole(scf::ForOp loop) {
  return loop
      ->walk([&](DestinationStyleOpInterface op) {
        return llvm::any_of(op.getDpsInits(),
                            [&](Value output) {
                              return isa<MemRefType>(output.getType()) &&
                                     loop.isDefinedOutsideOfLoop(output);
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static SmallVector<scf::ForOp> findNest(scf::ForOp outermost) {
  SmallVector<scf::ForOp> nest = {outermost};
  while (scf::ForOp inner = findInner(nest.back()))
    nest.push_back(inner);
  return nest;
}

static void makeForall(SmallVector<scf::ForOp> nest) {
  scf::ForOp outermost = nest.front();
  OpBuilder builder(outermost);
  SmallVector<OpFoldResult> lower, upper, steps;
  for (scf::ForOp loop : nest) {
    lower.push_back(getAsOpFoldResult(loop.getLowerBound()));
    upper.push_back(getAsOpFoldResult(loop.getUpperBound()));
    steps.push_back(getAsOpFoldResult(loop.getStep()));
  }
  auto forall = scf::ForallOp::create(builder, outermost.getLoc(), lower, upper,
                                      steps, ValueRange(), std::nullopt);
  Operation *end = forall.getTerminator();
  for (auto [number, each] : llvm::enumerate(nest)) {
    scf::ForOp loop = each;
    loop.getInductionVar().replaceAllUsesWith(forall.getInductionVar(number));
    Operation *inner =
        number + 1 < nest.size() ? nest[number + 1].getOperation() : nullptr;
    for (Operation &op :
         llvm::make_early_inc_range(loop.getBody()->without_terminator()))
      if (&op != inner)
        op.moveBefore(end);
  }
  outermost.erase();
}

/// Marked loops in `root` that no other one holds.
static SmallVector<scf::ForOp> findOutermost(Operation *root) {
  SmallVector<scf::ForOp> found;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ForallOp>(op))
      return WalkResult::skip();
    if (op == root || !isParallel(op))
      return WalkResult::advance();
    if (op->getNumResults() != 0) {
      remark::missed(op->getLoc(), remark::RemarkOpts::name("parallel-loops")
                                       .category("gf-parallel-loops"))
          << "not parallel: it hands a value from one iteration to the next";
      return WalkResult::advance();
    }
    found.push_back(cast<scf::ForOp>(op));
    return WalkResult::skip();
  });
  return found;
}

/// Where a nest is not perfect its outer loops may have too few iterations for
/// the ranks of a run: then the inner ones are shared.
static unsigned makeParallel(scf::ForOp outermost) {
  sinkBuffers(outermost);
  if (writesWhole(outermost)) {
    remark::missed(outermost.getLoc(),
                   remark::RemarkOpts::name("parallel-loops")
                       .category("gf-parallel-loops"))
        << "not parallel: its iterations write the same buffer";
    return 0;
  }
  SmallVector<scf::ForOp> nest = findNest(outermost);
  if (findOutermost(nest.back()).empty()) {
    makeForall(nest);
    return 1;
  }
  OpBuilder builder(outermost);
  Location loc = outermost.getLoc();
  Value count;
  for (scf::ForOp loop : nest) {
    Value span = arith::SubIOp::create(builder, loc, loop.getUpperBound(),
                                       loop.getLowerBound());
    span = arith::CeilDivSIOp::create(builder, loc, span, loop.getStep());
    count = count ? arith::MulIOp::create(builder, loc, count, span).getResult()
                  : span;
  }
  Value ranks = TeamSizeOp::create(builder, loc);
  Value isEnough = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, count, ranks);
  auto choice =
      scf::IfOp::create(builder, loc, isEnough, /*withElseRegion=*/true);
  Operation *copy = choice.getElseBodyBuilder().clone(*outermost);
  outermost->moveBefore(choice.thenBlock()->getTerminator());
  unsigned made = 1;
  SmallVector<scf::ForOp> inner = {cast<scf::ForOp>(copy)};
  inner = findOutermost(findNest(inner.front()).back());
  makeForall(nest);
  for (scf::ForOp loop : inner)
    made += makeParallel(loop);
  return made;
}

//===----------------------------------------------------------------------===//
// Code on vectors
//===----------------------------------------------------------------------===//

static bool hasVectors(Operation *op) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  return llvm::any_of(op->getResultTypes(), isVector) ||
         llvm::any_of(op->getOperandTypes(), isVector);
}

/// The operations of a block on vectors that what is written comes from, and
/// all that is written from these.
static SetVector<Operation *> findVectorCode(vector::TransferWriteOp write) {
  Block *block = write->getBlock();
  SetVector<Operation *> code;
  SmallVector<Operation *> work = {write};
  auto add = [&](Operation *op) {
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (op && hasVectors(op))
      work.push_back(op);
  };
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!code.insert(op))
      continue;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        add(operand.getDefiningOp());
    });
    // A constant is no reason to stay together.
    if (!op->hasTrait<OpTrait::ConstantLike>())
      for (Operation *user : op->getUsers())
        add(user);
  }
  return code;
}

/// Adds what stands between operations on vectors and reads or writes memory,
/// and what is made of that: it keeps its place among them. What only allocates
/// stays in front.
static LogicalResult addBetween(SetVector<Operation *> &code) {
  auto isBefore = [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  };
  Operation *first = *llvm::min_element(code, isBefore);
  Operation *last = *llvm::max_element(code, isBefore);
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (!code.contains(op) && !isMemoryEffectFree(op) &&
        !hasSingleEffect<MemoryEffects::Allocate>(op))
      code.insert(op);
  Block *block = first->getBlock();
  for (unsigned i = 0; i < code.size(); ++i) {
    Operation *op = code[i];
    if (op->hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Operation *user : op->getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (ancestor && !isBefore(last, ancestor)) {
        code.insert(ancestor);
        continue;
      }
      return op->emitOpError("not compiled yet: it stands between operations "
                             "on vectors, and is used behind them");
    }
  }
  return success();
}

static LogicalResult makeForall(vector::TransferWriteOp write) {
  SetVector<Operation *> code = findVectorCode(write);
  if (failed(addBetween(code)))
    return failure();
  SmallVector<Operation *> ordered(code.begin(), code.end());
  llvm::sort(ordered, [](Operation *left, Operation *right) {
    return left->isBeforeInBlock(right);
  });
  OpBuilder builder(ordered.back());
  SmallVector<OpFoldResult> once = {builder.getIndexAttr(1)};
  auto forall = scf::ForallOp::create(builder, write.getLoc(), once,
                                      ValueRange(), std::nullopt);
  Operation *end = forall.getTerminator();
  for (Operation *op : ordered) {
    // Constants may have other users.
    if (op->hasTrait<OpTrait::ConstantLike>())
      continue;
    op->moveBefore(end);
  }
  return success();
}

/// Makes an scf.forall of what is written from vectors outside of all others.
static FailureOr<unsigned> wrapVectorCode(func::FuncOp entry) {
  unsigned made = 0;
  while (true) {
    vector::TransferWriteOp found;
    entry.walk([&](vector::TransferWriteOp write) {
      if (!write->getParentOfType<scf::ForallOp>())
        found = write;
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!found)
      return made;
    if (failed(makeForall(found)))
      return failure();
    ++made;
  }
}

namespace {
struct ParallelLoops : gatefold::impl::ParallelLoopsBase<ParallelLoops> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findRun(getOperation());
    if (failed(entry))
      return signalPassFailure();
    for (scf::ForOp loop : findOutermost(*entry))
      loopsMade += makeParallel(loop);
    FailureOr<unsigned> wrapped = wrapVectorCode(*entry);
    if (failed(wrapped))
      return signalPassFailure();
    loopsMade += *wrapped;
  }
};
} // namespace
