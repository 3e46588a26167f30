// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StepPanels.cpp - Panels of a recurrence's products -----------------===//

#include "passes/schedule/StepPanels.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;

int64_t gatefold::chooseStepPanelWidth(const TargetDescription &target,
                                       int64_t columns, int64_t width) {
  // What two warps take, 8 columns each.
  constexpr int64_t least = 16;
  if (!target.isGpu() || ShapedType::isDynamic(columns) || width <= least)
    return width;
  int64_t share = llvm::divideCeil(columns, target.multiprocessors);
  return std::clamp<int64_t>(llvm::alignTo(share, least), least, width);
}

int64_t gatefold::chooseGateColumns(const TargetDescription &target,
                                    int64_t columns, int64_t gates) {
  // What an instruction of tensor cores takes, and what a tile has.
  constexpr int64_t least = 8, tile = 64;
  int64_t most = llvm::alignDown(tile / gates, least);
  int64_t share = llvm::divideCeil(columns, target.multiprocessors);
  return std::min<int64_t>(llvm::alignTo(share, least), most);
}
