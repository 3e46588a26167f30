// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PackToVectors.cpp - Matrices as packed panels -------------------===//
//
// Each gf.pack on buffers becomes loops.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Passes.h"
#include "passes/cpu/ProductLoops.h"

namespace gatefold {
#define GEN_PASS_DEF_PACKTOVECTORS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct PackToVectors : gatefold::impl::PackToVectorsBase<PackToVectors> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<PackOp> packs;
    WalkResult result = module.walk([&](PackOp op) {
      if (op.getResult()) {
        op.emitError("not compiled yet: 'gf.pack' on tensors");
        return WalkResult::interrupt();
      }
      packs.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (PackOp op : packs) {
      OpBuilder builder(op);
      makePackLoops(builder, op);
      op.erase();
      ++matricesPacked;
    }
  }
};
} // namespace
