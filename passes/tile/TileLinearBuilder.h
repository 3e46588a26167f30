// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinearBuilder.h - gf.pack and gf.linear for a product *- C++ -*-===//
//
// The builder of one product, in two files: its operands, and the rest.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILELINEARBUILDER_H
#define PASSES_TILE_TILELINEARBUILDER_H

#include "passes/tile/TileLinear.h"

namespace gatefold {

/// A tensor whose dimensions stand for loops; several may stand in one
/// dimension, the last the fastest.
struct LoopTensor {
  mlir::Value tensor;
  llvm::SmallVector<llvm::SmallVector<unsigned>> dims;

  int64_t dimOf(unsigned loop) const {
    for (auto [dim, loops] : llvm::enumerate(dims))
      if (llvm::is_contained(loops, loop))
        return dim;
    llvm_unreachable("the tensor has no such loop");
  }
};

class LinearBuilder {
public:
  LinearBuilder(mlir::IRRewriter &rewriter, Contraction contraction,
                int64_t width)
      : rewriter(rewriter), c(std::move(contraction)), width(width),
        loc(c.op.getLoc()) {}

  mlir::Value build();

private:
  bool isUnit(unsigned loop) const { return c.ranges[loop] == 1; }
  mlir::OpFoldResult sizeOf(unsigned loop);
  mlir::OpFoldResult productOf(llvm::ArrayRef<unsigned> loops);
  mlir::Value gather(mlir::Value source, mlir::AffineMap map,
                     llvm::ArrayRef<unsigned> order);
  /// Fills `x`, and puts c.rows and c.summed into the order in which they are
  /// there.
  void makeRows();
  /// Fills `matrix` and `along`.
  void makeMatrix();
  mlir::Value pack(mlir::Value source);
  mlir::Value packAll();
  mlir::Value makeProduct(mlir::Value rows, mlir::Value panels,
                          mlir::Value output);
  mlir::Value sliceOfAll(mlir::ValueRange indices);
  mlir::Value makeProducts(mlir::Value output);
  mlir::Value restore(mlir::Value product);

  mlir::IRRewriter &rewriter;
  Contraction c;
  int64_t width;
  mlir::Location loc;
  /// [batch.., rows.., summed] in any order that ends so, without rows of size
  /// 1.
  LoopTensor x;
  /// [batch.., columns, summed] (along 0) or [batch.., summed, columns].
  LoopTensor matrix;
  int64_t along = 0;
  /// Of all batches, [batches * panels, k, width], or null.
  mlir::Value allPanels;
};

/// The loops of a map of plain dimensions, in their order.
llvm::SmallVector<unsigned> loopsOf(mlir::AffineMap map);

} // namespace gatefold

#endif // PASSES_TILE_TILELINEARBUILDER_H
