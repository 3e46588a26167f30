// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeResolver.h - A size in terms of other values ---------*- C++ -*-===//
//
// Says what a size, computed somewhere in a function, is at another place:
// before a loop, or in a function that knows the open dimensions only.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_SIZERESOLVER_H
#define PASSES_SUPPORT_SIZERESOLVER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace gatefold {

class CheckedSizes;

/// Clones the computation of sizes to the insertion point of a builder.
///
/// Follows tensors and memrefs to where their sizes come from, through views,
/// destinations, loops and whatever can reify its shape, and copies pure index
/// arithmetic. What it returns is null where a size depends on data, or where
/// its computation is deeper than any that a program of sensible size has.
class SizeResolver {
public:
  /// The size of a value's dimension where that is known, else null.
  using SizeLeaf = std::function<mlir::Value(mlir::Value shaped, int64_t dim)>;
  /// The value to use for an index, else null.
  using IndexLeaf = std::function<mlir::Value(mlir::Value index)>;

  SizeResolver(mlir::OpBuilder &builder, SizeLeaf sizeLeaf, IndexLeaf indexLeaf)
      : builder(builder), sizeLeaf(std::move(sizeLeaf)),
        indexLeaf(std::move(indexLeaf)) {}

  /// Gives for a buffer's size one that is no less, where it is a minimum of
  /// which only one side is known, what such a size leaves of a known one, or
  /// that of one of two branches.
  void boundBuffers() { bounds = true; }

  /// Notes each overflow of a product or sum that is copied.
  void checkWith(CheckedSizes *sizes) { checked = sizes; }

  /// Size of dimension `dim` of a tensor or memref, as an index.
  mlir::Value size(mlir::Value shaped, int64_t dim);

  /// The value of `value`, of an integer or index type.
  mlir::Value index(mlir::Value value);

  /// The value whose size could not be resolved last.
  mlir::Value getCulprit() const { return culprit; }

private:
  mlir::Value resolveSize(mlir::Value shaped, int64_t dim);
  mlir::Value resolveIndex(mlir::Value value);
  mlir::Value boundIndex(mlir::Value value);
  mlir::Value mixed(mlir::OpFoldResult size, mlir::Location loc);

  void check(mlir::Operation *copy);

  mlir::OpBuilder &builder;
  CheckedSizes *checked = nullptr;
  bool bounds = false;
  SizeLeaf sizeLeaf;
  IndexLeaf indexLeaf;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> sizes;
  llvm::DenseMap<mlir::Value, mlir::Value> indices, indexBounds;
  mlir::Value culprit;
  unsigned depth = 0;
};

} // namespace gatefold

#endif // PASSES_SUPPORT_SIZERESOLVER_H
