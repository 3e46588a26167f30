// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OutlineKernels.cpp - One function for equal operations -------------===//
//
// Moves structured operations into functions, equal ones into the same.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Outline.h"
#include "passes/cpu/Passes.h"
#include <unordered_map>

namespace gatefold {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

namespace {
struct OutlineKernels : gatefold::impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LinalgOp> operations;
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](LinalgOp op) {
        if (op.hasPureBufferSemantics() && op.getNumLoops() > 0)
          operations.push_back(op);
      });
    SymbolTable symbols(module);
    std::unordered_multimap<size_t, OutlinedOperation> kernels;
    for (LinalgOp op : operations) {
      OutlinedOperation outlined(op, "gatefold_kernel");
      auto [first, last] = kernels.equal_range(outlined.hash);
      auto equal = std::find_if(first, last, [&](auto &entry) {
        return outlined.isEqual(entry.second);
      });
      func::FuncOp kernel = outlined.function;
      if (equal != last) {
        kernel.erase();
        kernel = equal->second.function;
      } else {
        symbols.insert(kernel);
        kernels.emplace(outlined.hash, outlined);
        ++kernelsMade;
      }
      outlined.replaceByCall(kernel);
      ++operationsOutlined;
    }
  }
};
} // namespace
