// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerAssertions.cpp - The code of a run that fails -----------------===//
//
// The entry returns 0, or the code of the first assertion that fails. So does a
// function of a part of it.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "passes/cpu/Passes.h"
#include "passes/support/Entry.h"
#include "passes/support/Parts.h"
#include "runtime/Description.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERASSERTIONS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// Whether a run may end here: what is called then returns its code.
static bool mayEndRun(Operation *op, const Parts &parts) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return parts.contains(call.getCalleeAttr().getAttr());
  return isa<cf::AssertOp, TeamBarrierOp>(op);
}

static LogicalResult returnCodes(func::FuncOp function, const Parts &parts) {
  if (function.getNumResults() != 0)
    return function->emitError("returns something already");
  SmallVector<Operation *> ends;
  SmallVector<func::ReturnOp> returns;
  function.walk([&](Operation *op) {
    if (mayEndRun(op, parts) && !isa<TeamBarrierOp>(op))
      ends.push_back(op);
    else if (auto end = dyn_cast<func::ReturnOp>(op))
      returns.push_back(end);
  });
  OpBuilder builder(function.getContext());
  Type i32 = builder.getI32Type();
  auto makeCode = [&](Location loc, int32_t code) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i32, code);
  };
  for (func::ReturnOp op : returns) {
    builder.setInsertionPoint(op);
    func::ReturnOp::create(builder, op.getLoc(),
                           makeCode(op.getLoc(), GATEFOLD_RUN_OK));
    op.erase();
  }
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), i32));

  Block *end = nullptr;
  for (Operation *op : ends) {
    Location loc = op->getLoc();
    if (!isa<func::FuncOp>(op->getParentOp()))
      return op->emitError("stands in a region; run this after scf-to-cf");
    if (!end) {
      Region &body = function.getBody();
      end = builder.createBlock(&body, body.end(), {i32}, {loc});
      func::ReturnOp::create(builder, loc, end->getArgument(0));
    }
    Block *rest = op->getBlock()->splitBlock(op->getNextNode());
    builder.setInsertionPoint(op);
    Value isFine, code;
    if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      FailureOr<int32_t> number = failureCode(assertion);
      if (failed(number))
        return failure();
      isFine = assertion.getArg();
      code = makeCode(loc, *number);
    } else {
      auto call = cast<func::CallOp>(op);
      code = func::CallOp::create(builder, loc, call.getCallee(),
                                  TypeRange{i32}, call.getOperands())
                 .getResult(0);
      isFine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     code, makeCode(loc, GATEFOLD_RUN_OK));
    }
    cf::CondBranchOp::create(builder, loc, isFine, rest, ValueRange(), end,
                             ValueRange(code));
    op->erase();
  }
  return success();
}

namespace {
struct LowerAssertions : gatefold::impl::LowerAssertionsBase<LowerAssertions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Interface> interface = Interface::fromModule(module);
    if (failed(interface))
      return signalPassFailure();
    auto functions = findEntryFunctions(module, *interface, /*haveArena=*/true);
    if (failed(functions))
      return signalPassFailure();
    // The functions in which a run may end, the entries apart.
    Parts parts = findParts(module, mayEndRun);
    llvm::SetVector<Operation *> changed;
    for (EntryFunction &entry : *functions) {
      entry.function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                              UnitAttr::get(&getContext()));
      changed.insert(entry.function);
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (parts.contains(function.getSymNameAttr()))
        changed.insert(function);
    for (Operation *function : changed)
      if (failed(returnCodes(cast<func::FuncOp>(function), parts)))
        return signalPassFailure();
  }
};
} // namespace
