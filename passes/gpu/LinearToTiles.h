// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinearToTiles.h - The tiles of a product on a GPU --------*- C++ -*-===//
//
// The functions that all products of the same types and width of panel call.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_LINEARTOTILES_H
#define PASSES_GPU_LINEARTOTILES_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/cpu/ProductTile.h"

namespace gatefold {

/// The tile that a block computes at once: `rows` rows with the columns of
/// `panels` panels, dealt to so many warps along each, and along k.
struct LinearTile {
  int64_t rows, warpRows, warpColumns, panels, warpTerms = 1;
};

/// Columns of a panel, or of an equal part of it, that a tile takes; 0 if
/// panels so wide cannot be taken apart in groups of 8.
int64_t getTileColumns(int64_t width);

/// Elements along k that a tile takes at a time, if warps share them or not.
int64_t getTileStep(const ProductTypes &types, bool sharesTerms);

/// Whether the terms of a product are summed in parts that warps may share.
bool mayShareTerms(const ProductTypes &types);

/// What the functions of a product multiply, and where its panels are: in
/// global memory, or kept in shared memory.
///
/// Kept panels are tiles (SharedTile.h) of getStep() rows, those of a panel
/// one behind another; what lies behind the end of k is 0. The distance
/// between panels is whole tiles.
struct LinearTileTypes {
  ProductTypes types;
  mlir::MemRefType panels;
  /// Bytes that the loop around the product keeps, or 0.
  int64_t keptBytes = 0;
  /// Whether warps share its terms.
  bool sharesTerms = false;
  /// Gates of which each panel has equally many columns, 0 where the output has
  /// no dimension of them.
  int64_t gates = 0;

  int64_t getStep() const { return getTileStep(types, sharesTerms); }
  bool isKept() const { return bool(panels.getMemorySpace()); }
  std::string getName() const;
  /// Tiles of most rows first. The last takes what has as many rows or fewer.
  llvm::ArrayRef<LinearTile> getTiles() const;
};

/// Why a product is left to gf-linear-to-parallel, or nothing.
llvm::StringRef getTileObstacle(LinearOp op);

/// The function on vectors of one tile: (x [m, k], panels [p, k, width],
/// initial [m, n], whether to add it, output [m, n], first row, end of the
/// rows); initial and output [m, gates, n] where there are gates. It is not yet
/// in a module.
mlir::func::FuncOp makeLinearTileFunction(mlir::Location loc,
                                          const LinearTileTypes &product,
                                          const LinearTile &tile,
                                          llvm::StringRef name);

} // namespace gatefold

#endif // PASSES_GPU_LINEARTOTILES_H
