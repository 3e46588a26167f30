// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionOnline.h - Row programs that keys can pass through ----===//
//
// Which row programs can be computed in one pass over blocks of keys, with a
// running maximum and sum of each softmax, and where their operations then
// stand.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILEATTENTIONONLINE_H
#define PASSES_TILE_TILEATTENTIONONLINE_H

#include "passes/tile/TileAttentionBody.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {

/// The region of an attention in one pass over blocks of keys.
class OnlineForm {
public:
  /// Where an operation of the region stands.
  enum class Place { BeforeKeys, InKeys, AfterKeys };

  /// Of a region that prepareAttentionBody has rewritten.
  OnlineForm(AttentionOp op, const AttentionBody &body);

  /// The operation that has no such form, or null, and what it needs instead.
  mlir::Operation *getObstacle() const { return obstacle; }
  llvm::StringRef getNeed() const { return need; }

  /// Where an operation stands whose value is another one for each query.
  Place getPlace(mlir::Operation *inner) const { return places.lookup(inner); }

  /// Products with the values: as the region has them, and with one for each
  /// softmax.
  int64_t getProducts() const { return products; }
  int64_t getSeparateProducts() const { return separate.size(); }

private:
  void place(mlir::Operation *inner);
  void refuse(mlir::Operation *inner, llvm::StringRef what);
  bool isWeights(mlir::Value value) const { return weights.contains(value); }

  const AttentionBody &body;
  mlir::Operation *obstacle = nullptr;
  llvm::StringRef need;
  llvm::DenseMap<mlir::Operation *, Place> places;
  /// Values along the keys that are linear in softmaxes, and in which.
  llvm::DenseMap<mlir::Value, llvm::SetVector<mlir::Value>> weights;
  /// Values that are known when all keys have passed.
  llvm::DenseSet<mlir::Value> sums;
  int64_t products = 0;
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> separate;
};

/// Rewrites products of values with weights that are linear in softmaxes, in a
/// region that has the form: each softmax has a product of its own, and what
/// made the weights of them makes the result of the products.
///   (p1 - l p2) V = p1 V - l (p2 V)
void separateWeights(AttentionOp op, mlir::RewriterBase &rewriter);

/// What an attention would cost in this form; nullopt if it has none. Leaves
/// the attention as it is.
struct OnlineProducts {
  int64_t together, separate;
};
std::optional<OnlineProducts> countOnlineProducts(AttentionOp op);

} // namespace gatefold

#endif // PASSES_TILE_TILEATTENTIONONLINE_H
