// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearKernel.h - The register tile of a product ----------*- C++ -*-===//
//
// The function that all products of the same types and width of panel call.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_LINEARKERNEL_H
#define PASSES_CPU_LINEARKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/cpu/ProductTile.h"

namespace gatefold {

/// (x [m, k], panels [p, k, width], initial [m, n], whether to begin with it,
/// output [m, n]), any stride between rows and between panels: the function,
/// not yet in a module.
mlir::func::FuncOp makeLinearKernel(mlir::Location loc,
                                    const TargetDescription &target,
                                    const ProductTile &tile,
                                    const ProductTypes &types);

} // namespace gatefold

#endif // PASSES_CPU_LINEARKERNEL_H
