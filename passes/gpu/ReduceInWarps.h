// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReduceInWarps.h - Parts of gf-reduce-in-warps ------------*- C++ -*-===//
//
// A row is what is reduced into one element. A plan says how; loops are made
// of it.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_REDUCEINWARPS_H
#define PASSES_GPU_REDUCEINWARPS_H

#include "passes/cpu/LinalgToVectors.h"

namespace gatefold {

/// Partial results of a row: element k belongs to number k modulo
/// `rowPartials`, strip and lane of which are the quotient and the rest by the
/// threads of a warp. A warp computes all strips of its lanes side by side, a
/// block spreads them over its warps; both join the same numbers in the same
/// order.
inline constexpr int64_t rowPartials = TargetDescription::rowPartials;
inline constexpr int64_t mostStrips =
    rowPartials / TargetDescription::warpThreads;
/// In shorter rows a lane has a few elements, for which no barrier is worth it.
inline constexpr int64_t leastBlockColumns = 4 * rowPartials;

struct RowPlan {
  /// The loops over rows, and those within one; along the last of these most
  /// operands are contiguous.
  llvm::SmallVector<unsigned> rows, columns;
  /// Strips that have elements, a power of 2, at most `mostStrips`.
  int64_t strips = mostStrips;
  /// Where few rows are long, a block computes each of them as a whole.
  bool mayTakeBlock = true;
  /// How partial results are joined; what it says of lanes does not apply.
  VectorPlan joining;
};

/// How warps reduce the rows of an operation; none where threads do as well, or
/// where the reduction has no partial results.
std::optional<RowPlan> planRows(mlir::linalg::LinalgOp op);

/// Replaces an operation by loops. Gives the bytes of shared memory that they
/// use.
int64_t makeRowLoops(mlir::linalg::LinalgOp op, const RowPlan &plan,
                     mlir::IRRewriter &rewriter);

} // namespace gatefold

#endif // PASSES_GPU_REDUCEINWARPS_H
