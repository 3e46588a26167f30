// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductLoops.h - Products element by element -------------*- C++ -*-===//
//
// Plain loops for products and packings that have no form in vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_PRODUCTLOOPS_H
#define PASSES_CPU_PRODUCTLOOPS_H

#include "dialect/GatefoldOps.h"
#include "passes/support/Target.h"

namespace gatefold {

/// `value` in the type of sums, or a sum in a type of storage.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type element);

/// a * b + c, rounded once where the target can.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc,
                        const TargetDescription &target, mlir::Value a,
                        mlir::Value b, mlir::Value c);

/// Loops in front of an operation on buffers that do the same, for operands
/// of any layout.
void makeLinearLoops(mlir::OpBuilder &builder, LinearOp op,
                     const TargetDescription &target);
void makePackLoops(mlir::OpBuilder &builder, PackOp op);

} // namespace gatefold

#endif // PASSES_CPU_PRODUCTLOOPS_H
