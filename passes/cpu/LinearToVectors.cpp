// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToVectors.cpp - Products as calls of a kernel ----------------===//
//
// Each gf.linear on buffers becomes a call of the function for its types.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/cpu/LinearKernel.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/ProductCalls.h"
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
    FailureOr<SmallVector<LinearOp>> products = collectProducts(module);
    if (failed(products))
      return signalPassFailure();
    SymbolTable symbols(module);
    llvm::StringMap<func::FuncOp> kernels;
    for (LinearOp op : *products) {
      lower(op, target, symbols, kernels);
      op.erase();
      ++productsLowered;
    }
  }

  void lower(LinearOp op, const TargetDescription &target, SymbolTable &symbols,
             llvm::StringMap<func::FuncOp> &kernels) {
    ProductTypes types = getProductTypes(op);
    std::optional<ProductTile> tile =
        ProductTile::choose(target, types.getSum(), types.width);
    StringRef obstacle = !tile ? StringRef("vectors do not fill the panels")
                         : op.hasGates()
                             ? "a panel has columns of several gates"
                             : getLayoutObstacle(op);
    if (!obstacle.empty()) {
      remark::missed(op.getLoc(), remark::RemarkOpts::name("LinearToVectors")
                                      .category("gf-linear-to-vectors"))
          << ("product: element by element, since " + obstacle).str();
      KernelBuilder builder(op.getLoc(), op);
      makeLinearLoops(builder, op, target);
      ++productsInLoops;
      return;
    }
    func::FuncOp &kernel = kernels[types.getName()];
    if (!kernel) {
      kernel = makeLinearKernel(op.getLoc(), target, *tile, types);
      symbols.insert(kernel);
      ++kernelsMade;
    }
    func::FuncOp made = kernel;
    callProductKernel(op, made, symbols, kernels);
  }
};
} // namespace
