// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ShareLoops.cpp - Parallel loops among the threads of a block -------===//
//
// Iterations are dealt to threads in turns. Neighbours along the dimension in
// which most buffers are contiguous go to neighbouring threads, so that a warp
// reads memory that lies together.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Target.h"

namespace gatefold {
#define GEN_PASS_DEF_SHARELOOPS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Of each dimension of the loop: how many loads and stores have neighbours
/// along it side by side.
static SmallVector<unsigned> countNeighbours(scf::ParallelOp op) {
  SmallVector<unsigned> counts(op.getNumLoops());
  auto count = [&](ValueRange place) {
    if (place.empty())
      return;
    for (auto [dim, variable] : llvm::enumerate(op.getInductionVars()))
      if (place.back() == variable)
        ++counts[dim];
  };
  op.getBody()->walk([&](Operation *inner) {
    if (auto load = dyn_cast<memref::LoadOp>(inner))
      count(load.getIndices());
    else if (auto store = dyn_cast<memref::StoreOp>(inner))
      count(store.getIndices());
  });
  return counts;
}

/// The dimensions, the one whose neighbours are neighbouring threads last.
static SmallVector<unsigned> chooseOrder(scf::ParallelOp op) {
  SmallVector<unsigned> counts = countNeighbours(op);
  unsigned last = op.getNumLoops() - 1;
  for (unsigned dim = op.getNumLoops(); dim-- > 0;)
    if (counts[dim] > counts[last])
      last = dim;
  SmallVector<unsigned> order;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != last)
      order.push_back(dim);
  order.push_back(last);
  return order;
}

/// The first iteration that a thread comes to, and how many further the next
/// one is.
static std::pair<Value, Value> findTurns(OpBuilder &builder,
                                         scf::ParallelOp op) {
  Location loc = op.getLoc();
  auto executor = op->getAttrOfType<StringAttr>(executorName);
  if (executor && executor.getValue() == blockExecutor)
    return {arith::ConstantIndexOp::create(builder, loc, 0),
            arith::ConstantIndexOp::create(builder, loc, 1)};
  Value thread =
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x).getResult();
  Value threads =
      gpu::BlockDimOp::create(builder, loc, gpu::Dimension::x).getResult();
  if (!executor)
    return {thread, threads};
  Value lanes = arith::ConstantIndexOp::create(builder, loc,
                                               TargetDescription::warpThreads);
  return {arith::DivUIOp::create(builder, loc, thread, lanes),
          arith::DivUIOp::create(builder, loc, threads, lanes)};
}

static void share(scf::ParallelOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value total = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> counts;
  for (auto [low, high, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    Value span = arith::SubIOp::create(builder, loc, high, low);
    span = arith::MaxSIOp::create(builder, loc, span, zero);
    if (!isOneInteger(step))
      span = arith::CeilDivUIOp::create(builder, loc, span, step);
    counts.push_back(span);
    total = arith::MulIOp::create(builder, loc, total, span);
  }
  auto [first, step] = findTurns(builder, op);
  auto loop = scf::ForOp::create(builder, loc, first, total, step);
  builder.setInsertionPointToStart(loop.getBody());
  Value rest = loop.getInductionVar();
  SmallVector<unsigned> order = chooseOrder(op);
  for (auto [position, dim] : llvm::enumerate(llvm::reverse(order))) {
    Value number = rest;
    // The last one that is taken off is what is left.
    if (position + 1 < order.size()) {
      number = arith::RemUIOp::create(builder, loc, rest, counts[dim]);
      rest = arith::DivUIOp::create(builder, loc, rest, counts[dim]);
    }
    if (!isOneInteger(op.getStep()[dim]))
      number = arith::MulIOp::create(builder, loc, number, op.getStep()[dim]);
    if (!isZeroInteger(op.getLowerBound()[dim]))
      number =
          arith::AddIOp::create(builder, loc, number, op.getLowerBound()[dim]);
    op.getInductionVars()[dim].replaceAllUsesWith(number);
  }
  Operation *end = loop.getBody()->getTerminator();
  for (Operation &inner :
       llvm::make_early_inc_range(op.getBody()->without_terminator()))
    inner.moveBefore(end);
  op.erase();
}

/// A store that every thread would do is done by the first one.
static void guard(memref::StoreOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value thread =
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x).getResult();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, zero);
  auto choice = scf::IfOp::create(builder, loc, isFirst,
                                  /*withElseRegion=*/false);
  op->moveBefore(choice.thenBlock()->getTerminator());
}

namespace {
struct ShareLoops : gatefold::impl::ShareLoopsBase<ShareLoops> {
  void runOnOperation() override {
    SmallVector<scf::ParallelOp> loops;
    SmallVector<memref::StoreOp> stores;
    WalkResult result =
        getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
          // Code on vectors was made that of a thread already.
          if (op->hasAttr(vectorsName))
            return WalkResult::skip();
          auto loop = dyn_cast<scf::ParallelOp>(op);
          if (auto store = dyn_cast<memref::StoreOp>(op))
            stores.push_back(store);
          if (!loop)
            return WalkResult::advance();
          if (loop.getNumResults() != 0) {
            loop.emitOpError("reduces, and threads share no sum");
            return WalkResult::interrupt();
          }
          bool asserts = loop.walk([](cf::AssertOp assertion) {
                               assertion.emitOpError(
                                   "would end the run of one thread alone");
                               return WalkResult::interrupt();
                             })
                             .wasInterrupted();
          if (asserts)
            return WalkResult::interrupt();
          loops.push_back(loop);
          return WalkResult::skip();
        });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (scf::ParallelOp loop : loops)
      share(loop);
    for (memref::StoreOp store : stores)
      guard(store);
    loopsShared += loops.size();
  }
};
} // namespace
