// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeSharedMemory.cpp - How much shared memory a kernel takes -------===//
//
// The functions of a kernel use the same bytes one after another, so a launch
// needs as much as the one that uses most.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Target.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_SIZESHAREDMEMORY
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// What a loop keeps lies at the end of all there is.
static int64_t getSharedBytes(Operation *function, int64_t available) {
  if (function->hasAttr(keptBytesName))
    return available;
  auto bytes = function->getAttrOfType<IntegerAttr>(sharedBytesName);
  return bytes ? bytes.getInt() : 0;
}

/// The greatest number of a kernel and all that it calls.
static int64_t findMost(gpu::GPUFuncOp kernel, const SymbolTable &symbols,
                        int64_t available) {
  llvm::SetVector<Operation *> functions;
  functions.insert(kernel);
  int64_t most = 0;
  for (unsigned i = 0; i < functions.size(); ++i) {
    most = std::max(most, getSharedBytes(functions[i], available));
    functions[i]->walk([&](func::CallOp call) {
      if (Operation *callee = symbols.lookup(call.getCallee()))
        functions.insert(callee);
    });
  }
  return most;
}

namespace {
struct SizeSharedMemory
    : gatefold::impl::SizeSharedMemoryBase<SizeSharedMemory> {
  void runOnOperation() override {
    gpu::GPUModuleOp kernels = getOperation();
    int64_t available =
        TargetDescription::fromModule(kernels->getParentOfType<ModuleOp>())
            .blockSharedBytes;
    for (Operation &function : kernels.getOps()) {
      int64_t bytes = getSharedBytes(&function, available);
      if (bytes <= available)
        continue;
      function.emitError("needs ")
          << bytes << " bytes of shared memory, and a block of this GPU has "
          << available;
      return signalPassFailure();
    }
    SymbolTable symbols(kernels);
    Builder builder(&getContext());
    for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
      if (int64_t bytes = findMost(kernel, symbols, available))
        kernel->setAttr(sharedBytesName, builder.getI64IntegerAttr(bytes));
  }
};
} // namespace
