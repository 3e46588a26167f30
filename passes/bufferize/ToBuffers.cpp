// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ToBuffers.cpp - One-shot bufferization with our copies -------------===//
//
// Upstream's one-shot bufferization, set up for an entry on buffers.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "passes/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_TOBUFFERS
#include "passes/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

namespace {
struct ToBuffers : gatefold::impl::ToBuffersBase<ToBuffers> {
  void getDependentDialects(DialectRegistry &registry) const override {
    ToBuffersBase::getDependentDialects(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    cf::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerBufferizableOpInterfaceExternalModels(registry);
    scf::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                          Value to) {
      linalg::CopyOp::create(builder, loc, from, to);
      return success();
    };
    bufferization::BufferizationState state;
    if (failed(
            bufferization::runOneShotBufferize(getOperation(), options, state)))
      signalPassFailure();
  }
};
} // namespace
