// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Check.h - values of inputs that a GPU checks ahead of a run.

#ifndef GATEFOLD_RUNTIME_CUDA_CHECK_H
#define GATEFOLD_RUNTIME_CUDA_CHECK_H

#include "runtime/View.h"

namespace gatefold::runtime::cuda {

/// PTX of CheckValues.ll, for every GPU since the first that programs are
/// compiled for.
extern const char checkImage[];
inline constexpr char checkKernel[] = "gatefold_check_kernel";
inline constexpr uint32_t checkThreads = 1024;

/// The values of one input lie in 0..last.
struct ValueCheck {
  int64_t input;
  int64_t last;
  /// The GPU looks; else there is nothing to look at, or the host did.
  bool isLaunched;
  /// The shape of the input, to say where a value is.
  int64_t shape[maximalRank];
};

/// How many checks a run has: those of integers, then one of each bool input.
int64_t countChecks(const gatefold_description &description);

/// A tensor as rows of elements, where its strides allow it.
struct Matrix {
  int64_t rows, columns, rowStride, columnStride;
};

/// Merges dimensions that stand side by side; false where more than two are
/// left. The view has elements.
bool asMatrix(const View &view, Matrix &matrix);

} // namespace gatefold::runtime::cuda

#endif // GATEFOLD_RUNTIME_CUDA_CHECK_H
