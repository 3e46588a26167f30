// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductTile.h - Registers that a product takes -----------*- C++ -*-===//
//
// Tiles that fit the registers of a processor and a width of panels.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_PRODUCTTILE_H
#define PASSES_CPU_PRODUCTTILE_H

#include "mlir/IR/BuiltinTypes.h"
#include "passes/support/Target.h"
#include <optional>
#include <string>

namespace gatefold {

/// How the accumulators of a product lie in registers. Columns are taken in
/// strips of some vectors next to each other in one panel.
struct ProductTile {
  /// Elements of a vector, vectors of a strip, strips of a panel.
  int64_t lanes, vectors, stripsPerPanel;
  /// Rows of the largest tile.
  int64_t rows;
  /// Panels so narrow are chosen for the columns of one only.
  bool isNarrow;

  int64_t getStripWidth() const { return lanes * vectors; }

  /// The tile for panels of `width` columns, or none if vectors do not fill
  /// them.
  static std::optional<ProductTile> choose(const TargetDescription &target,
                                           mlir::Type sumType, int64_t width);

  /// Strips that a tile of `rows` rows computes at once: alone, it has enough
  /// accumulators to hide the time that one addition takes.
  int64_t getStrips(const TargetDescription &target, int64_t tileRows) const;
  /// Strips of the tiles of a product of many rows.
  int64_t getStrips(const TargetDescription &target) const;
};

/// What a kernel multiplies.
struct ProductTypes {
  mlir::Type x, panels, initial, output;
  int64_t width;

  mlir::Type getSum() const;
  std::string getName() const;
};

} // namespace gatefold

#endif // PASSES_CPU_PRODUCTTILE_H
