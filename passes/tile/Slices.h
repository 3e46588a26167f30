// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Slices.h - One index of some dimensions of a tensor ------*- C++ -*-===//
//
// Small builders that the lowerings of phase `tile` share.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_SLICES_H
#define PASSES_TILE_SLICES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace gatefold {

/// A dimension, and the one index of it that is meant.
using FixedIndex = std::pair<int64_t, mlir::Value>;

/// Whether `gf.algorithm` of an operation is `algorithm`.
bool hasAlgorithm(mlir::Operation *op, llvm::StringRef algorithm);

/// Size of a dimension as an index.
mlir::Value getSize(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value tensor, int64_t dim);

/// The value with another static shape of the same rank.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value tensor, mlir::Type type);

/// `tensor[.., index, ..]`, without the dimensions that are fixed.
mlir::Value takeSlice(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value tensor, llvm::ArrayRef<FixedIndex> fixed);

/// `tensor` with `slice` at `[.., index, ..]`.
mlir::Value putSlice(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value slice, mlir::Value tensor,
                     llvm::ArrayRef<FixedIndex> fixed);

} // namespace gatefold

#endif // PASSES_TILE_SLICES_H
