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
/// them open; last a pointer to the team's memory. Both are launched as a
/// cooperative grid: the run with as many blocks as gatefold_useful_ranks says,
/// or one where there is no such function; `prepare` with any number, best with
/// as many as are resident at once. A block has a multiple of 32 threads.
inline constexpr llvm::StringLiteral runKernel = "gatefold_run_kernel";
inline constexpr llvm::StringLiteral prepareKernel = "gatefold_prepare_kernel";

/// Attribute of a kernel: for each tensor and then the arena the words of a
/// memref descriptor (pointers, offset, sizes, strides) that are its
/// parameters, in order. Word 1, the pointer, stands for that of the first
/// element.
inline constexpr llvm::StringLiteral argumentWordsName = "gf.argument_words";

/// Attribute of a function, without a value: code of a whole block on vectors,
/// made for as many threads as gf.target says.
inline constexpr llvm::StringLiteral vectorsName = "gf.vectors";

/// Of these, one that is a product and nothing else.
inline constexpr llvm::StringLiteral productName = "gf.product";

/// Attribute of such a function: the warps among which the rows of its tiles
/// are dealt, among which the columns are, and, if given, among which the terms
/// of its products are.
inline constexpr llvm::StringLiteral warpsName = "gf.warps";

/// Attribute of a function: the bytes from the begin of a block's dynamic
/// shared memory that it writes and reads; it begins with a barrier. Of a
/// kernel: what its launch provides, as much as any function that it calls
/// needs.
inline constexpr llvm::StringLiteral sharedBytesName = "gf.shared_bytes";

/// Attribute of a loop, and of functions on vectors that it calls: the bytes at
/// the end of a block's shared memory in which the loop keeps weights.
inline constexpr llvm::StringLiteral keptBytesName = "gf.kept_bytes";

/// Attribute of a loop: the tiles of so many iterations are in shared memory at
/// once.
inline constexpr llvm::StringLiteral stagesName = "gf.stages";

/// Attribute of an scf.parallel: who executes an iteration of it. Without it a
/// thread does; else all threads of a warp, or of the block, come to it.
inline constexpr llvm::StringLiteral executorName = "gf.executor";
inline constexpr llvm::StringLiteral warpExecutor = "warp";
inline constexpr llvm::StringLiteral blockExecutor = "block";

/// What the blocks of one launch share: 32-bit words in global memory, all 0
/// when it begins; but a run that finds a code leaves at once.
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
