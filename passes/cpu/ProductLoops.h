// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductLoops.h - Products element by element -------------*- C++ -*-===//
//
// Plain loops for products and packings that have no form in vectors.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_PRODUCTLOOPS_H
#define PASSES_CPU_PRODUCTLOOPS_H

#include "dialect/GatefoldOps.h"
#include "passes/cpu/KernelBuilder.h"

namespace gatefold {

/// Loops in front of an operation on buffers that do the same, for operands
/// of any layout.
void makeLinearLoops(KernelBuilder &builder, LinearOp op,
                     const TargetDescription &target);
void makePackLoops(KernelBuilder &builder, PackOp op);

} // namespace gatefold

#endif // PASSES_CPU_PRODUCTLOOPS_H
