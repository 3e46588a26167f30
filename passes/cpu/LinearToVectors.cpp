// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToVectors.cpp - Products on packed panels --------------------===//
//
// Each gf.linear on buffers becomes loops.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Passes.h"
#include "passes/cpu/ProductLoops.h"

namespace gatefold {
#define GEN_PASS_DEF_LINEARTOVECTORS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct LinearToVectors : gatefold::impl::LinearToVectorsBase<LinearToVectors> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = TargetDescription::fromModule(module);
    SmallVector<LinearOp> products;
    WalkResult result = module.walk([&](LinearOp op) {
      if (op.getResult()) {
        op.emitError("not compiled yet: 'gf.linear' on tensors");
        return WalkResult::interrupt();
      }
      products.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (LinearOp op : products) {
      OpBuilder builder(op);
      makeLinearLoops(builder, op, target);
      op.erase();
      ++productsLowered;
    }
  }
};
} // namespace
