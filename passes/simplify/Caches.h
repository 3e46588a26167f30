// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Caches.h - States that rows are written into -------------*- C++ -*-===//

#ifndef PASSES_SIMPLIFY_CACHES_H
#define PASSES_SIMPLIFY_CACHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {

/// The values that states of 16-bit floats have from the beginning of a
/// function, or of a recurrence, to its end, of those states that become
/// nothing but themselves with rows written into them. In a recurrence that no
/// state of the function goes through these rows are rounded already.
llvm::SetVector<mlir::Value> findCaches(mlir::func::FuncOp function);

/// Whether a use of such a value makes another one of it, or looks at its size.
bool isOfCache(mlir::OpOperand &use,
               const llvm::SetVector<mlir::Value> &caches);

} // namespace gatefold

#endif // PASSES_SIMPLIFY_CACHES_H
