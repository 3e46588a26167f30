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

/// Whether the elements of a result are computed one after the other, or in any
/// order, as iterations of one scf.parallel.
enum class LoopKind { Sequential, Parallel };

/// Loops in front of an operation on buffers that do the same, for operands
/// of any layout.
void makeLinearLoops(KernelBuilder &builder, LinearOp op,
                     const TargetDescription &target,
                     LoopKind kind = LoopKind::Sequential);
void makePackLoops(KernelBuilder &builder, PackOp op,
                   LoopKind kind = LoopKind::Sequential);

} // namespace gatefold

#endif // PASSES_CPU_PRODUCTLOOPS_H
