// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttachTarget.cpp - The processor as an attribute -------------------===//
//
// Writes what later passes need to know of the processor on the module.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Passes.h"
#include "passes/support/Target.h"

namespace gatefold {
#define GEN_PASS_DEF_ATTACHTARGET
#include "passes/schedule/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct AttachTarget : gatefold::impl::AttachTargetBase<AttachTarget> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (fastMath)
      module->setAttr(fastMathName, UnitAttr::get(&getContext()));
    if (module->hasAttr(targetName))
      return;
    llvm::Expected<TargetDescription> description =
        TargetDescription::describe(target);
    if (!description) {
      module.emitError(llvm::toString(description.takeError()));
      return signalPassFailure();
    }
    module->setAttr(targetName, description->toAttribute(&getContext()));
  }
};
} // namespace
