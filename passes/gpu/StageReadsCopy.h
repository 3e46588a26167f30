// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StageReadsCopy.h - From global to shared memory ----------*- C++ -*-===//

#ifndef PASSES_GPU_STAGEREADSCOPY_H
#define PASSES_GPU_STAGEREADSCOPY_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/gpu/SharedTile.h"

namespace gatefold {

/// A matrix in global memory, as a `vector.transfer_read` reads it.
struct TileSource {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> indices;
  mlir::VectorType tile;
  /// Whether all rows, and all columns, are known to exist; else 0 stands for
  /// those that do not.
  bool hasAllRows, hasAllColumns;

  static TileSource of(mlir::vector::TransferReadOp read);
};

/// Whether the memory surely has all that a dimension of the vector stands for.
/// Upstream's folder of `in_bounds` asks of an index that is a number for the
/// end of the vector alone, not for its begin: where that is below 0, the
/// attribute says nothing.
bool isSurelyInBounds(mlir::VectorTransferOpInterface transfer, unsigned dim);

/// Code in which all `threads` threads of a block copy a matrix to the tile at
/// `base` (`!llvm.ptr<3>`): asynchronously, of the group that is committed
/// next, or at once where its place in memory allows nothing else.
void buildTileCopy(mlir::OpBuilder &builder, mlir::Location loc,
                   const TileSource &source, const SharedTile &tile,
                   mlir::Value base, int64_t threads);

} // namespace gatefold

#endif // PASSES_GPU_STAGEREADSCOPY_H
