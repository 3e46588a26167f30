// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToParallel.cpp - Products as parallel loops ------------------===//
//
// One iteration for each element of a product or of a packing.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/ProductLoops.h"
#include "passes/gpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LINEARTOPARALLEL
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct LinearToParallel
    : gatefold::impl::LinearToParallelBase<LinearToParallel> {
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    SmallVector<Operation *> operations;
    getOperation().walk([&](Operation *op) {
      if (isa<LinearOp, PackOp>(op))
        operations.push_back(op);
    });
    for (Operation *op : operations) {
      if (op->getNumResults() != 0) {
        op->emitOpError("is on tensors; products are lowered on buffers");
        return signalPassFailure();
      }
      KernelBuilder builder(op->getLoc(), &getContext());
      builder.setInsertionPoint(op);
      if (auto linear = dyn_cast<LinearOp>(op))
        makeLinearLoops(builder, linear, target, LoopKind::Parallel);
      else
        makePackLoops(builder, cast<PackOp>(op), LoopKind::Parallel);
      op->erase();
      ++operationsLowered;
    }
  }
};
} // namespace
