// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ResultSizes.h - Sizes of what a region yields ------------*- C++ -*-===//
//
// Sizes of the results of a gf operation with a region, before it.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_RESULTSIZES_H
#define PASSES_TILE_RESULTSIZES_H

#include "mlir/IR/Builders.h"

namespace gatefold {

/// The size of a dimension of a region's argument, before the operation.
using ArgumentSize =
    llvm::function_ref<mlir::Value(mlir::BlockArgument argument, int64_t dim)>;

/// Sizes of the first results, at the builder's place before `op`: by its
/// ReifyRankedShapedTypeOpInterface, else by following the yielded value, of
/// which `yieldDim` says which dimension a dimension of the result is (-1 for
/// none). A diagnostic where a size is known to the region alone.
llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<mlir::OpFoldResult>>>
getResultSizes(mlir::OpBuilder &builder, mlir::Operation *op,
               unsigned resultCount, mlir::ValueRange yielded,
               llvm::function_ref<int64_t(int64_t dim)> yieldDim,
               ArgumentSize argumentSize);

} // namespace gatefold

#endif // PASSES_TILE_RESULTSIZES_H
