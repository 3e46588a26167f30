// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phases gpu and nvvm -------------*- C++ -*-===//

#ifndef PASSES_GPU_PASSES_H
#define PASSES_GPU_PASSES_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/gpu/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/gpu/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_GPU_PASSES_H
