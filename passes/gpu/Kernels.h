// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Kernels.h - What the kernels of a program are called -----*- C++ -*-===//
//
// Names that the passes, the code that is emitted and whoever launches it
// share.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_KERNELS_H
#define PASSES_GPU_KERNELS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace gatefold {

/// The gpu.module that holds a program's kernels.
inline constexpr llvm::StringLiteral kernelsModule = "gatefold_kernels";

/// The kernels of a run and of `prepare`. Their parameters are, for each tensor
/// of the interface and then the arena, a pointer to its first element and, as
/// 64-bit integers, its sizes and then its strides as far as its type leaves
/// them open; last a pointer to the team's memory.
inline constexpr llvm::StringLiteral runKernel = "gatefold_run_kernel";
inline constexpr llvm::StringLiteral prepareKernel = "gatefold_prepare_kernel";

/// Attribute of a kernel: for each tensor and then the arena the words of a
/// memref descriptor (pointers, offset, sizes, strides) that are its
/// parameters, in order. Word 1, the pointer, stands for that of the first
/// element.
inline constexpr llvm::StringLiteral argumentWordsName = "gf.argument_words";

/// What the blocks of one launch share: 32-bit words in global memory, all 0
/// when it begins.
enum TeamWord : int64_t {
  /// How many blocks have come to the grid's barrier.
  TeamArrivals = 0,
  /// 0, or the code of an assertion that failed (runtime/Description.h).
  TeamStatus = 1,
  TeamWords = 2
};

/// Bytes of parameters that a kernel takes at most.
inline constexpr int64_t mostParameterBytes = 32764;

} // namespace gatefold

#endif // PASSES_GPU_KERNELS_H
