// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerAssertions.cpp - The code of a run that fails -----------------===//
//
// The entry returns 0, or the code of the first assertion that fails.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "passes/cpu/Passes.h"
#include "passes/support/Entry.h"
#include "runtime/Description.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERASSERTIONS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static LogicalResult returnCodes(func::FuncOp entry) {
  SmallVector<cf::AssertOp> assertions;
  SmallVector<func::ReturnOp> returns;
  entry.walk([&](cf::AssertOp op) { assertions.push_back(op); });
  entry.walk([&](func::ReturnOp op) { returns.push_back(op); });
  OpBuilder builder(entry.getContext());
  entry->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                 builder.getUnitAttr());
  Type i32 = builder.getI32Type();
  auto makeReturn = [&](Location loc, int32_t code) {
    Value value = arith::ConstantIntOp::create(builder, loc, i32, code);
    func::ReturnOp::create(builder, loc, value);
  };
  for (func::ReturnOp op : returns) {
    builder.setInsertionPoint(op);
    makeReturn(op.getLoc(), GATEFOLD_RUN_OK);
    op.erase();
  }
  entry.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), i32));

  Block *failed = nullptr;
  for (cf::AssertOp op : assertions) {
    if (!isa<func::FuncOp>(op->getParentOp()))
      return op.emitError("stands in a region; run this after scf-to-cf");
    if (!failed) {
      failed = builder.createBlock(&entry.getBody(), entry.getBody().end());
      makeReturn(op.getLoc(), GATEFOLD_RUN_EMPTY_REDUCTION);
    }
    Block *block = op->getBlock();
    Block *rest = block->splitBlock(op->getNextNode());
    builder.setInsertionPoint(op);
    cf::CondBranchOp::create(builder, op.getLoc(), op.getArg(), rest, failed);
    op.erase();
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
    for (EntryFunction &entry : *functions) {
      if (entry.function.getNumResults() != 0) {
        entry.function->emitError("returns something already");
        return signalPassFailure();
      }
      if (failed(returnCodes(entry.function)))
        return signalPassFailure();
    }
  }
};
} // namespace
