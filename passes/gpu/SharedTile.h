// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SharedTile.h - A matrix in shared memory -----------------*- C++ -*-===//
//
// Where the elements of a matrix lie in shared memory: the only place that
// knows. Rows follow one another, but the 16-byte chunks of a row change
// places, so that the same chunk of 8 rows, which is what `ldmatrix` reads at
// once, lies in 8 different groups of banks:
//
//   chunk c of row r is at place c xor ((r >> shift) & mask)
//
// With P the greatest power of two, 8 at most, that divides a row's chunks:
// mask = P - 1, shift = 3 - log2 P. So a chunk stays within its row, whatever
// the length of that, and its place depends on r modulo 8 alone.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_SHAREDTILE_H
#define PASSES_GPU_SHAREDTILE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace gatefold {

/// The pointer of a buffer in any memory that its offset counts from.
mlir::Value buildBufferPointer(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value buffer);

class SharedTile {
public:
  /// What one access of a thread moves at most, and what stays together.
  static constexpr int64_t chunkBytes = 16;
  /// Where tiles begin: a multiple of this, which all banks are read with.
  static constexpr int64_t alignment = 128;

  /// In which order the lanes of a warp name the rows of four 8 x 8 matrices
  /// (of 16 bits, or 8 x 4 of 32) that are a square: lanes 0 to 7 those of the
  /// first, 8 to 15 those of the second one, and so on.
  enum class MatrixOrder {
    /// The second matrix lies below the first one: the operand A of a product,
    /// and B where its rows are k.
    Down,
    /// The second one lies beside the first one: B where its columns are k.
    Across
  };

  /// A row is a multiple of 16 bytes.
  SharedTile(int64_t rows, int64_t columns, int64_t elementBytes);

  /// Whose elements a buffer `memref<RxCxT, strided<[C, 1], offset: ?>,
  /// #gpu.address_space<workgroup>>` holds; failure if it is none like this.
  static mlir::FailureOr<SharedTile> get(mlir::MemRefType type);

  int64_t getRows() const { return rows; }
  int64_t getRowBytes() const { return rowBytes; }
  int64_t getRowChunks() const { return rowBytes / chunkBytes; }
  int64_t getBytes() const { return rows * rowBytes; }
  int64_t getElementBytes() const { return elementBytes; }

  /// From the begin of the tile to an element.
  int64_t getByte(int64_t row, int64_t column) const;

  /// The `!llvm.ptr<3>` to the begin of the tile that a buffer of such a type
  /// holds.
  static mlir::Value buildBase(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value tile);

  /// From the begin of the tile to an element of a row and a column, as i32.
  mlir::Value buildOffset(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value row, mlir::Value column) const;

  /// The same of the row of 16 bytes that this lane (i32, 0 to 31) names to
  /// `ldmatrix`.
  mlir::Value buildMatrixOffset(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value lane, MatrixOrder order) const;

  /// The `!llvm.ptr<3>` to the element that lies `rows` rows below and
  /// `columns` columns beside the one at `offset`, as the functions above give
  /// it: no bit may be set both in the row of that and in `rows`, nor in its
  /// column and in `columns`. Then all steps share `offset`, which is computed
  /// once: a step is an xor with one of few constants, and a constant in the
  /// instruction that uses the pointer.
  mlir::Value buildPointer(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value base, mlir::Value offset,
                           int64_t rows = 0, int64_t columns = 0) const;

private:
  /// What the place of a row's bytes is, xor where they would be in order.
  int64_t getSwizzle(int64_t row) const {
    return ((row >> shift) & mask) * chunkBytes;
  }

  int64_t rows, rowBytes, elementBytes, mask, shift;
};

} // namespace gatefold

#endif // PASSES_GPU_SHAREDTILE_H
