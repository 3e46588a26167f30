// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerTeam.cpp - Ranks as arguments, barriers as calls --------------===//
//
// The entry takes its rank, the number of ranks and the team of the runtime,
// and passes them to functions of parts of it.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/support/Entry.h"
#include "passes/support/Parts.h"
#include "passes/team/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERTEAM
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// runtime/Team.h
static constexpr StringLiteral barrierFunction = "gatefold_team_barrier";

static bool isOfTeam(Operation *op, const Parts &members) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return members.contains(call.getCalleeAttr().getAttr());
  return isa<TeamRankOp, TeamSizeOp, TeamBarrierOp>(op);
}

static void declareBarrier(ModuleOp module) {
  if (module.lookupSymbol(barrierFunction))
    return;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto barrier = func::FuncOp::create(
      builder, module.getLoc(), barrierFunction,
      builder.getFunctionType({pointer}, {builder.getI32Type()}));
  barrier.setPrivate();
}

static LogicalResult lowerTeam(ModuleOp module, func::FuncOp function,
                               const Parts &members) {
  OpBuilder builder(function.getContext());
  Location loc = function.getLoc();
  Type index = builder.getIndexType(), i32 = builder.getI32Type();
  Type pointer = LLVM::LLVMPointerType::get(function.getContext());
  for (Type type : {index, index, pointer})
    if (failed(
            function.insertArgument(function.getNumArguments(), type, {}, loc)))
      return failure();
  ValueRange added = function.getArguments().take_back(3);
  Value rank = added[0], ranks = added[1], team = added[2];
  SmallVector<Operation *> operations;
  function.walk([&](Operation *op) {
    if (isOfTeam(op, members))
      operations.push_back(op);
  });
  Block *failed = nullptr;
  for (Operation *op : operations) {
    if (isa<func::CallOp>(op)) {
      op->insertOperands(op->getNumOperands(), added);
      continue;
    }
    if (isa<TeamRankOp, TeamSizeOp>(op)) {
      op->getResult(0).replaceAllUsesWith(isa<TeamRankOp>(op) ? rank : ranks);
      op->erase();
      continue;
    }
    if (!isa<func::FuncOp>(op->getParentOp()))
      return op->emitOpError("stands in a region; run this after scf-to-cf");
    if (!failed) {
      if (!llvm::equal(function.getResultTypes(), ArrayRef<Type>{i32}))
        return op->emitOpError("stands in a function that returns no code");
      declareBarrier(module);
      Region &body = function.getBody();
      failed = builder.createBlock(&body, body.end(), {i32}, {loc});
      func::ReturnOp::create(builder, loc, failed->getArgument(0));
    }
    // The code of another rank that has failed.
    Block *rest = op->getBlock()->splitBlock(op->getNextNode());
    builder.setInsertionPoint(op);
    Value code = func::CallOp::create(builder, op->getLoc(), barrierFunction,
                                      TypeRange{i32}, ValueRange{team})
                     .getResult(0);
    Value zero = arith::ConstantIntOp::create(builder, op->getLoc(), i32, 0);
    Value isFine = arith::CmpIOp::create(builder, op->getLoc(),
                                         arith::CmpIPredicate::eq, code, zero);
    cf::CondBranchOp::create(builder, op->getLoc(), isFine, rest, ValueRange(),
                             failed, ValueRange(code));
    op->erase();
  }
  return success();
}

namespace {
struct LowerTeam : gatefold::impl::LowerTeamBase<LowerTeam> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry = module.lookupSymbol<func::FuncOp>(runFunction);
    if (!entry || entry.getNumResults() != 1) {
      module.emitError("has no function '")
          << runFunction << "' that returns a code";
      return signalPassFailure();
    }
    // The entry and the functions of parts of it that know the team.
    Parts members = findParts(module, isOfTeam, {entry.getSymNameAttr()});
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (members.contains(function.getSymNameAttr()))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(lowerTeam(module, function, members)))
        return signalPassFailure();
  }
};
} // namespace
