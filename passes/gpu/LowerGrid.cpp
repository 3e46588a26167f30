// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerGrid.cpp - Ranks as thread blocks -----------------------------===//
//
// A rank is a block of a cooperative grid, and the team's barrier one of the
// grid. A block whose assertion fails leaves its code in the team's memory,
// where the others find it at their next barrier, and leaves the kernel. So
// does a run that finds a code there when it begins: what was launched before
// it has found a value that it must not use.
//
// Every block adds to one counter: all but the first 1, the first what makes
// the sum 2^31. So its highest bit changes when all have come, and the counter
// need not be set back for the next barrier.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Entry.h"
#include "passes/support/Parts.h"
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

/// Whether the operation needs the team's memory, or calls who does.
static bool isOfTeam(Operation *op, const Parts &parts) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return parts.contains(call.getCalleeAttr().getAttr());
  return isa<TeamBarrierOp, cf::AssertOp>(op);
}

namespace {
/// Lowers what is of the team in a kernel, or in a function of a part of one,
/// which then takes the team's memory and returns whether a block has failed.
class TeamLowering {
public:
  TeamLowering(FunctionOpInterface function, const Parts &parts,
               LLVM::LLVMFuncOp barrier)
      : function(function), parts(parts), barrier(barrier),
        builder(function.getContext()),
        isKernel(isa<gpu::GPUFuncOp>(function.getOperation())) {}
  LogicalResult run();

  unsigned barriers = 0;

private:
  LogicalResult findTeam();
  LogicalResult returnWhetherFailed();
  Value makeFlag(Location loc, bool value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI1Type(),
                                        value);
  }
  Block *getEnd(Location loc);
  bool isRun() {
    return isKernel && function.getName() == StringRef(runKernel);
  }
  Value getStatus(Location loc);
  void lookFirst();
  void leaveIf(Operation *op, Value hasFailed);
  void lowerBarrier(TeamBarrierOp op);
  void lowerCall(func::CallOp op);
  LogicalResult lowerAssertion(cf::AssertOp op);

  FunctionOpInterface function;
  const Parts &parts;
  LLVM::LLVMFuncOp barrier;
  OpBuilder builder;
  bool isKernel;
  Value team;
  /// Where a block goes that leaves the kernel.
  Block *end = nullptr;
};
} // namespace

LogicalResult TeamLowering::findTeam() {
  auto pointer = LLVM::LLVMPointerType::get(
      function.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  if (!isKernel &&
      failed(function.insertArgument(function.getNumArguments(), pointer, {},
                                     function.getLoc())))
    return failure();
  unsigned count = function.getNumArguments();
  if (count == 0 || function.getArgument(count - 1).getType() != pointer)
    return function.emitOpError("takes no memory of a team as last argument");
  team = function.getArgument(count - 1);
  return success();
}

LogicalResult TeamLowering::returnWhetherFailed() {
  if (isKernel)
    return success();
  if (function.getNumResults() != 0)
    return function.emitOpError("returns something already");
  auto type = cast<FunctionType>(function.getFunctionType());
  function.setType(
      builder.getFunctionType(type.getInputs(), builder.getI1Type()));
  // Threads meet in it, so no call of it may be moved into a branch.
  auto attributes = function->getAttrOfType<ArrayAttr>("passthrough");
  SmallVector<Attribute> passed;
  if (attributes)
    llvm::append_range(passed, attributes);
  passed.push_back(builder.getStringAttr("convergent"));
  function->setAttr("passthrough", builder.getArrayAttr(passed));
  function.walk([&](func::ReturnOp op) {
    builder.setInsertionPoint(op);
    func::ReturnOp::create(builder, op.getLoc(), makeFlag(op.getLoc(), false));
    op.erase();
  });
  return success();
}

Block *TeamLowering::getEnd(Location loc) {
  if (end)
    return end;
  OpBuilder::InsertionGuard guard(builder);
  Region &body = function.getFunctionBody();
  end = builder.createBlock(&body, body.end());
  if (isKernel)
    gpu::ReturnOp::create(builder, loc);
  else
    func::ReturnOp::create(builder, loc, makeFlag(loc, true));
  return end;
}

Value TeamLowering::getStatus(Location loc) {
  return LLVM::GEPOp::create(builder, loc, team.getType(), builder.getI32Type(),
                             team, ArrayRef<LLVM::GEPArg>{int32_t(TeamStatus)});
}

/// Leaves at the beginning where there is a code. A block that is late may see
/// that of another one, so its threads agree.
void TeamLowering::lookFirst() {
  Location loc = function.getLoc();
  Block *entry = &function.getFunctionBody().front();
  Block *rest = entry->splitBlock(entry->begin());
  builder.setInsertionPointToEnd(entry);
  Type i32 = builder.getI32Type();
  Value code = LLVM::LoadOp::create(
      builder, loc, i32, getStatus(loc), /*alignment=*/4, /*isVolatile=*/false,
      /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, deviceScope);
  auto any = NVVM::BarrierOp::create(
      builder, loc, TypeRange{i32}, Value(), Value(),
      NVVM::BarrierReductionAttr::get(builder.getContext(),
                                      NVVM::BarrierReduction::OR),
      code);
  Value zero =
      LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(0));
  Value hasFailed = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ne, any.getResult(0), zero);
  cf::CondBranchOp::create(builder, loc, hasFailed, getEnd(loc), rest);
}

/// Leaves in place of `op` where another block has failed.
void TeamLowering::leaveIf(Operation *op, Value hasFailed) {
  Location loc = op->getLoc();
  Block *rest = op->getBlock()->splitBlock(op->getNextNode());
  builder.setInsertionPointToEnd(op->getBlock());
  cf::CondBranchOp::create(builder, loc, hasFailed, getEnd(loc), rest);
  op->erase();
}

void TeamLowering::lowerBarrier(TeamBarrierOp op) {
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  auto call = LLVM::CallOp::create(builder, loc, barrier, ValueRange(team));
  call.setConvergent(true);
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                        builder.getI32IntegerAttr(0));
  leaveIf(op, arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                    call.getResult(), zero));
  ++barriers;
}

void TeamLowering::lowerCall(func::CallOp op) {
  builder.setInsertionPoint(op);
  SmallVector<Value> operands(op.getOperands());
  operands.push_back(team);
  auto call = func::CallOp::create(builder, op.getLoc(), op.getCallee(),
                                   builder.getI1Type(), operands);
  leaveIf(op, call.getResult(0));
}

/// All threads of a block come to it alike, and leave; the other blocks do at
/// their next barrier.
LogicalResult TeamLowering::lowerAssertion(cf::AssertOp op) {
  FailureOr<int32_t> error = failureCode(op);
  if (failed(error))
    return failure();
  Location loc = op.getLoc();
  Block *rest = op->getBlock()->splitBlock(op->getNextNode());
  Block *leaves = builder.createBlock(rest);
  builder.setInsertionPoint(op);
  cf::CondBranchOp::create(builder, loc, op.getArg(), rest, leaves);
  op.erase();
  builder.setInsertionPointToStart(leaves);
  Type i32 = builder.getI32Type();
  Value code = LLVM::ConstantOp::create(builder, loc, i32,
                                        builder.getI32IntegerAttr(*error));
  LLVM::StoreOp::create(builder, loc, code, getStatus(loc), /*alignment=*/4,
                        /*isVolatile=*/false, /*isNonTemporal=*/false,
                        /*isInvariantGroup=*/false,
                        LLVM::AtomicOrdering::monotonic, deviceScope);
  cf::BranchOp::create(builder, loc, getEnd(loc));
  return success();
}

LogicalResult TeamLowering::run() {
  SmallVector<Operation *> operations;
  WalkResult result = function.walk([&](Operation *op) {
    if (!isOfTeam(op, parts))
      return WalkResult::advance();
    operations.push_back(op);
    if (op->getParentOp() == function)
      return WalkResult::advance();
    op->emitOpError("stands in a region; run this after scf-to-cf");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (operations.empty() && !isRun())
    return success();
  if (failed(findTeam()) || failed(returnWhetherFailed()))
    return failure();
  if (isRun())
    lookFirst();
  for (Operation *op : operations) {
    if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      if (failed(lowerAssertion(assertion)))
        return failure();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      lowerCall(call);
    } else {
      lowerBarrier(cast<TeamBarrierOp>(op));
    }
  }
  return success();
}

/// Ranks are blocks, and the number of ranks that of blocks.
static void lowerSizes(gpu::GPUModuleOp kernels) {
  kernels.walk([&](Operation *op) {
    if (!isa<TeamRankOp, TeamSizeOp>(op))
      return;
    OpBuilder builder(op);
    Value value;
    if (isa<TeamRankOp>(op))
      value = gpu::BlockIdOp::create(builder, op->getLoc(), gpu::Dimension::x);
    else
      value = gpu::GridDimOp::create(builder, op->getLoc(), gpu::Dimension::x);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  });
}

namespace {
struct LowerGrid : gatefold::impl::LowerGridBase<LowerGrid> {
  void runOnOperation() override {
    gpu::GPUModuleOp kernels = getOperation();
    lowerSizes(kernels);
    bool hasBarrier =
        kernels.walk([](TeamBarrierOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    SmallVector<FunctionOpInterface> functions(
        kernels.getOps<FunctionOpInterface>());
    // The functions of parts of a run in which blocks meet or fail.
    Parts parts = findParts(kernels, isOfTeam);
    LLVM::LLVMFuncOp barrier;
    if (hasBarrier)
      barrier = GridBarrier(kernels).build();
    for (FunctionOpInterface function : functions) {
      TeamLowering lowering(function, parts, barrier);
      if (failed(lowering.run()))
        return signalPassFailure();
      barriersLowered += lowering.barriers;
    }
  }
};
} // namespace
