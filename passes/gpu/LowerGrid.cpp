// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerGrid.cpp - Ranks as thread blocks -----------------------------===//
//
// A rank is a block of a cooperative grid, and the team's barrier one of the
// grid. An assertion that fails leaves its code in the team's memory, which all
// blocks find at their next barrier.
//
// Every block adds to one counter: all but the first 1, the first what makes
// the sum 2^31. So its highest bit changes when all have come, and the counter
// need not be set back for the next barrier.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "runtime/Description.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERGRID
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static constexpr StringLiteral barrierFunction = "gatefold_grid_barrier";
/// What all blocks of the device see in one order.
static constexpr StringLiteral deviceScope = "device";

namespace {
/// Builds the function of the grid's barrier: pointer to the team's memory ->
/// code of an assertion that failed, the same in all threads of a block.
class GridBarrier {
public:
  explicit GridBarrier(gpu::GPUModuleOp kernels)
      : kernels(kernels), b(kernels.getLoc(), kernels.getContext()),
        i32(b.getI32Type()) {}
  LLVM::LLVMFuncOp build();

private:
  Value number(int64_t value) {
    return LLVM::ConstantOp::create(b, i32, b.getI32IntegerAttr(value));
  }
  Value word(Value team, TeamWord which);
  Value loadWord(Value pointer, LLVM::AtomicOrdering ordering);
  void fence() {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, deviceScope);
  }
  Value isNotZero(Value value) {
    return LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, value, number(0));
  }
  void arrive(Value team, Block *waiting);
  void wait(Value team, Block *waiting, Block *done);

  gpu::GPUModuleOp kernels;
  ImplicitLocOpBuilder b;
  Type i32;
};
} // namespace

Value GridBarrier::word(Value team, TeamWord which) {
  return LLVM::GEPOp::create(b, team.getType(), i32, team,
                             ArrayRef<LLVM::GEPArg>{int32_t(which)});
}

Value GridBarrier::loadWord(Value pointer, LLVM::AtomicOrdering ordering) {
  return LLVM::LoadOp::create(b, i32, pointer, /*alignment=*/4,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              /*isInvariant=*/false,
                              /*isInvariantGroup=*/false, ordering,
                              deviceScope);
}

/// The first thread says that the block has come, with all that it wrote.
void GridBarrier::arrive(Value team, Block *waiting) {
  Value block = NVVM::BlockIdXOp::create(b, i32);
  Value blocks = NVVM::GridDimXOp::create(b, i32);
  // 2^31 less one for each of the others.
  Value rest = LLVM::SubOp::create(b, number(int64_t(1) << 31),
                                   LLVM::SubOp::create(b, blocks, number(1)));
  Value isOther = isNotZero(block);
  Value added = LLVM::SelectOp::create(b, isOther, number(1), rest);
  // The back end drops the order of an atomicrmw, so fences stand around it.
  fence();
  Value before = LLVM::AtomicRMWOp::create(
      b, LLVM::AtomicBinOp::add, word(team, TeamArrivals), added,
      LLVM::AtomicOrdering::monotonic, deviceScope);
  LLVM::BrOp::create(b, ValueRange(before), waiting);
}

/// Until all have come, or one has failed and never will.
void GridBarrier::wait(Value team, Block *waiting, Block *done) {
  b.setInsertionPointToStart(waiting);
  Value before = waiting->getArgument(0);
  Value now = loadWord(word(team, TeamArrivals), LLVM::AtomicOrdering::acquire);
  Value code =
      loadWord(word(team, TeamStatus), LLVM::AtomicOrdering::monotonic);
  Value changed = LLVM::AndOp::create(b, LLVM::XOrOp::create(b, before, now),
                                      number(int64_t(1) << 31));
  Value either = LLVM::OrOp::create(b, isNotZero(changed), isNotZero(code));
  Block *through = b.createBlock(done);
  b.setInsertionPointToEnd(waiting);
  LLVM::CondBrOp::create(b, either, through, ValueRange(), waiting,
                         ValueRange(before));
  b.setInsertionPointToStart(through);
  fence();
  LLVM::BrOp::create(b, ValueRange(code), done);
}

LLVM::LLVMFuncOp GridBarrier::build() {
  auto pointer = LLVM::LLVMPointerType::get(
      b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  b.setInsertionPointToStart(kernels.getBody());
  auto function = LLVM::LLVMFuncOp::create(
      b, barrierFunction, LLVM::LLVMFunctionType::get(i32, {pointer}),
      LLVM::Linkage::Internal);
  // Threads meet in it, so no call of it may be moved into a branch.
  function.setConvergent(true);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(b);
  Region &body = function.getBody();
  Value team = entry->getArgument(0);
  Block *first = b.createBlock(&body, body.end());
  Block *waiting = b.createBlock(&body, body.end(), {i32}, {b.getLoc()});
  Block *done = b.createBlock(&body, body.end(), {i32}, {b.getLoc()});

  b.setInsertionPointToStart(entry);
  NVVM::BarrierOp::create(b);
  Value isOther = isNotZero(NVVM::ThreadIdXOp::create(b, i32));
  LLVM::CondBrOp::create(b, isOther, done, ValueRange(number(0)), first,
                         ValueRange());
  b.setInsertionPointToStart(first);
  arrive(team, waiting);
  wait(team, waiting, done);

  // What the first thread found goes to all of the block, which wait for it.
  b.setInsertionPointToStart(done);
  auto any =
      NVVM::BarrierOp::create(b, TypeRange{i32}, Value(), Value(),
                              NVVM::BarrierReductionAttr::get(
                                  b.getContext(), NVVM::BarrierReduction::OR),
                              done->getArgument(0));
  LLVM::ReturnOp::create(b, any.getResult(0));
  return function;
}

/// The run ends for all blocks at their next barrier.
static void lowerAssertion(cf::AssertOp op, Value team) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Block *rest = op->getBlock()->splitBlock(op->getNextNode());
  Block *failed = builder.createBlock(rest);
  builder.setInsertionPoint(op);
  cf::CondBranchOp::create(builder, loc, op.getArg(), rest, failed);
  op.erase();
  builder.setInsertionPointToStart(failed);
  Type i32 = builder.getI32Type();
  Value code = LLVM::ConstantOp::create(
      builder, loc, i32,
      builder.getI32IntegerAttr(GATEFOLD_RUN_EMPTY_REDUCTION));
  Value status =
      LLVM::GEPOp::create(builder, loc, team.getType(), i32, team,
                          ArrayRef<LLVM::GEPArg>{int32_t(TeamStatus)});
  LLVM::StoreOp::create(builder, loc, code, status, /*alignment=*/4,
                        /*isVolatile=*/false, /*isNonTemporal=*/false,
                        /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::monotonic, deviceScope);
  cf::BranchOp::create(builder, loc, rest);
}

/// Leaves the kernel where another block has failed.
static void lowerBarrier(TeamBarrierOp op, Value team, Block *&end,
                         LLVM::LLVMFuncOp barrier) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  if (!end) {
    Region &body = *op->getParentRegion();
    end = builder.createBlock(&body, body.end());
    gpu::ReturnOp::create(builder, loc);
  }
  Block *rest = op->getBlock()->splitBlock(op->getNextNode());
  builder.setInsertionPoint(op);
  auto call = LLVM::CallOp::create(builder, loc, barrier, ValueRange(team));
  call.setConvergent(true);
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                        builder.getI32IntegerAttr(0));
  Value isFine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       call.getResult(), zero);
  cf::CondBranchOp::create(builder, loc, isFine, rest, end);
  op.erase();
}

static Value makeSize(OpBuilder &builder, Location loc, Operation *op) {
  if (isa<TeamRankOp>(op))
    return gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  return gpu::GridDimOp::create(builder, loc, gpu::Dimension::x);
}

namespace {
struct LowerGrid : gatefold::impl::LowerGridBase<LowerGrid> {
  void runOnOperation() override {
    gpu::GPUModuleOp kernels = getOperation();
    LLVM::LLVMFuncOp barrier;
    SmallVector<Operation *> operations;
    kernels.walk([&](Operation *op) {
      if (isa<TeamRankOp, TeamSizeOp, TeamBarrierOp, cf::AssertOp>(op))
        operations.push_back(op);
    });
    llvm::DenseMap<Operation *, Block *> ends;
    for (Operation *op : operations) {
      OpBuilder builder(op);
      if (isa<TeamRankOp, TeamSizeOp>(op)) {
        op->getResult(0).replaceAllUsesWith(
            makeSize(builder, op->getLoc(), op));
        op->erase();
        continue;
      }
      auto kernel = dyn_cast<gpu::GPUFuncOp>(op->getParentOp());
      if (!kernel || !kernel.isKernel()) {
        op->emitOpError("stands in a region, or in no kernel; run this after "
                        "scf-to-cf");
        return signalPassFailure();
      }
      unsigned count = kernel.getNumArguments();
      if (count == 0 || !isa<LLVM::LLVMPointerType>(
                            kernel.getArgument(count - 1).getType())) {
        kernel.emitOpError("takes no memory of a team as last argument");
        return signalPassFailure();
      }
      Value team = kernel.getArgument(count - 1);
      if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
        lowerAssertion(assertion, team);
        continue;
      }
      if (!barrier)
        barrier = GridBarrier(kernels).build();
      lowerBarrier(cast<TeamBarrierOp>(op), team, ends[kernel], barrier);
      ++barriersLowered;
    }
  }
};
} // namespace
