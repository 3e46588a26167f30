// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variant.h - which kernels of a program suit a GPU.

#ifndef GATEFOLD_RUNTIME_CUDA_VARIANT_H
#define GATEFOLD_RUNTIME_CUDA_VARIANT_H

#include "runtime/Description.h"
#include "runtime/Message.h"

namespace gatefold::runtime::cuda {

/// How well kernels for `target` suit a GPU of a compute capability, such as 90
/// for 9.0: the greater, the better; 0: not at all. Those for a kind alone
/// (`sm_90a`) suit just that one, those for a family (`sm_100f`) newer ones of
/// the same major number, others all newer ones, for which the driver compiles
/// the PTX of their image.
int32_t suitability(const char *target, int32_t capability);

/// Refuses a variant that contradicts itself or its program, with a message.
/// This catches a compiler's faults, not an attacker: its code is trusted.
bool checkVariant(const gatefold_description &description,
                  const gatefold_variant &variant, Message &message);

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_VARIANT_H
