// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerTeam.cpp - Ranks as arguments, barriers as calls --------------===//
//
// The entry takes its rank, the number of ranks and the team of the runtime.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/support/Entry.h"
#include "passes/team/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERTEAM
#include "passes/team/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// runtime/Team.h
static constexpr StringLiteral barrierFunction = "gatefold_team_barrier";

static LogicalResult lowerTeam(ModuleOp module, func::FuncOp entry) {
  OpBuilder builder(entry.getContext());
  Location loc = entry.getLoc();
  Type index = builder.getIndexType(), i32 = builder.getI32Type();
  Type pointer = LLVM::LLVMPointerType::get(entry.getContext());
  for (Type type : {index, index, pointer})
    if (failed(entry.insertArgument(entry.getNumArguments(), type, {}, loc)))
      return failure();
  auto [rank, ranks, team] = std::tuple(entry.getArguments().take_back(3)[0],
                                        entry.getArguments().take_back(3)[1],
                                        entry.getArguments().take_back(3)[2]);
  SmallVector<Operation *> operations;
  entry.walk([&](Operation *op) {
    if (isa<TeamRankOp, TeamSizeOp, TeamBarrierOp>(op))
      operations.push_back(op);
  });
  Block *failed = nullptr;
  for (Operation *op : operations) {
    if (isa<TeamRankOp, TeamSizeOp>(op)) {
      op->getResult(0).replaceAllUsesWith(isa<TeamRankOp>(op) ? rank : ranks);
      op->erase();
      continue;
    }
    if (!isa<func::FuncOp>(op->getParentOp()))
      return op->emitOpError("stands in a region; run this after scf-to-cf");
    if (!failed) {
      builder.setInsertionPointToEnd(module.getBody());
      auto barrier =
          func::FuncOp::create(builder, loc, barrierFunction,
                               builder.getFunctionType({pointer}, {i32}));
      barrier.setPrivate();
      failed = builder.createBlock(&entry.getBody(), entry.getBody().end(),
                                   {i32}, {loc});
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
    if (failed(lowerTeam(module, entry)))
      signalPassFailure();
  }
};
} // namespace
