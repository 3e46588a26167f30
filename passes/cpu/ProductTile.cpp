// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductTile.cpp - Registers that a product takes -------------------===//
//
// Tiles that fit the registers of a processor and a width of panels.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/ProductTile.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace gatefold;

Type ProductTypes::getSum() const {
  return output.isF64() ? output : Float32Type::get(output.getContext());
}

std::string ProductTypes::getName() const {
  std::string name;
  llvm::raw_string_ostream stream(name);
  stream << "gatefold_linear_" << x;
  if (panels != x || initial != x || output != x)
    stream << '_' << panels << '_' << initial << '_' << output;
  stream << '_' << width;
  return name;
}

std::optional<ProductTile> ProductTile::choose(const TargetDescription &target,
                                               Type sumType, int64_t width) {
  ProductTile tile;
  // A power of two is what vectors have.
  tile.lanes = llvm::bit_floor<uint64_t>(target.getLanes(sumType));
  while (width % tile.lanes != 0)
    tile.lanes /= 2;
  if (tile.lanes < 2)
    return std::nullopt;
  int64_t vectors = width / tile.lanes;
  tile.vectors = std::min(vectors, target.getTileVectors());
  while (vectors % tile.vectors != 0)
    --tile.vectors;
  tile.stripsPerPanel = vectors / tile.vectors;
  tile.isNarrow = 2 * vectors <= target.getTileVectors();
  // As many sums as two vectors make in the usual tile.
  tile.rows = tile.isNarrow ? 2 * target.getTileRows() / tile.vectors
                            : target.getTileRows();
  return tile;
}

int64_t ProductTile::getStrips(const TargetDescription &target) const {
  return isNarrow ? 1 : std::max<int64_t>(1, target.getTileVectors() / vectors);
}

int64_t ProductTile::getStrips(const TargetDescription &target,
                               int64_t tileRows) const {
  if (isNarrow)
    return 1;
  // Two additions start in each cycle and take four.
  constexpr int64_t accumulators = 8;
  return std::max(getStrips(target),
                  llvm::divideCeilSigned(accumulators, tileRows * vectors));
}
