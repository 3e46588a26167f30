// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeyScale.h - Parts of gf-fold-key-scales -----------------*- C++ -*-===//
//
// Keys times what is the same for all of them, and the query times that.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_KEYSCALE_H
#define PASSES_FUSE_KEYSCALE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// Keys, a dimension along them and one along their elements among others,
/// times what has these but for the first.
class KeyScale {
public:
  /// Of an operation on whole tensors, or on keys in the region.
  static std::optional<KeyScale> match(mlir::linalg::GenericOp scale);

  mlir::linalg::GenericOp getOperation() const { return scale; }
  mlir::Block *getBody() const {
    return mlir::linalg::GenericOp(scale).getBody();
  }
  /// The keys that are scaled.
  mlir::Value getKeys() const {
    return mlir::linalg::GenericOp(scale).getInputs()[keyInput];
  }
  /// Whether a factor is another one along the loop.
  bool variesAlong(unsigned loop) const;
  /// The query, scaled by the same operations, of which `factors` are the
  /// inputs, a null in place of the keys.
  mlir::Value scaleQuery(mlir::IRRewriter &rewriter, mlir::Value query,
                         llvm::ArrayRef<mlir::Value> factors,
                         llvm::ArrayRef<mlir::AffineMap> maps) const;

private:
  KeyScale(mlir::linalg::GenericOp scale, unsigned keyInput)
      : scale(scale), keyInput(keyInput) {}
  mlir::linalg::GenericOp scale;
  unsigned keyInput;
};

/// The two factors of a product of rows, element by element.
std::optional<std::pair<mlir::Value, mlir::Value>>
matchRowProduct(mlir::Value value);

} // namespace gatefold

#endif // PASSES_FUSE_KEYSCALE_H
