// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductCalls.h - Products as calls of a function of rows -*- C++ -*-===//
//
// What the products of a CPU and of a GPU share: from a product of any rank to
// the function on matrices that computes it.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_PRODUCTCALLS_H
#define PASSES_CPU_PRODUCTCALLS_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/cpu/ProductTile.h"
#include "llvm/ADT/StringMap.h"

namespace gatefold {

/// All products of a module, or an error for one on tensors.
mlir::FailureOr<llvm::SmallVector<LinearOp>>
collectProducts(mlir::ModuleOp module);

/// What a product multiplies; without an initial value its type is that of the
/// output.
ProductTypes getProductTypes(LinearOp op);

/// Why a product cannot be such calls, or nothing: what lies along k or along
/// the columns has gaps.
llvm::StringRef getLayoutObstacle(LinearOp op);

/// Puts in front of a product calls of `kernel`, whose arguments are x [m, k],
/// panels [p, k, width], initial [m, n], whether to begin with it, and the
/// output [m, n], any stride between rows and between panels; initial and
/// output [m, gates, n] where the product has gates. What finds the
/// rows of a product of more than two dimensions is a function of its own; all
/// are in `kernels` by their names.
void callProductKernel(LinearOp op, mlir::func::FuncOp kernel,
                       mlir::SymbolTable &symbols,
                       llvm::StringMap<mlir::func::FuncOp> &kernels);

} // namespace gatefold

#endif // PASSES_CPU_PRODUCTCALLS_H
