// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreads.h - Vectors of a block, values of a thread -*- C++ -*-//
//
// What the parts of gf-vectors-to-threads share: which elements of a vector a
// thread has, and where the thread stands in its block.
//
// README.md, "Fragments", has the picture.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_VECTORSTOTHREADS_H
#define PASSES_GPU_VECTORSTOTHREADS_H

#include "mlir/Transforms/DialectConversion.h"
#include "passes/gpu/Passes.h"
#include <map>
#include <memory>

namespace gatefold {

class OperandLoader;
struct RightParts;

/// The warps among which rows and columns of a tile are dealt, and the terms of
/// products: of 16 * terms that follow one another, or a multiple, each of
/// `terms` warps has an equal part. Sums are in parts until they are joined.
struct WarpGrid {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t terms = 1;
  int64_t size() const { return rows * columns * terms; }
};

/// The warps that a function asks for, if it does; or an error.
mlir::FailureOr<std::optional<WarpGrid>> getWarps(mlir::func::FuncOp function);

/// Bytes of shared memory in which a function with these warps joins sums.
int64_t getJoinBytes(WarpGrid grid);

/// Which elements of a vector a thread has. Of each 16 x 8 elements they are
/// two rows and two columns, as an accumulator of mma.sync; a thread's values
/// are ordered by row, then by column. A vector of one column (or of rank 1) or
/// of one row has them once for all columns or rows.
class VectorLayout {
public:
  /// Failure if the vector cannot be dealt so.
  static mlir::FailureOr<VectorLayout> get(mlir::VectorType type,
                                           WarpGrid grid);

  /// Tiles of 16 rows that a warp has; 0 if the vector has one row.
  int64_t getRowTiles() const { return rowTiles; }
  /// Tiles of 8 columns that a warp has; 0 if the vector has one column.
  int64_t getColumnTiles() const { return columnTiles; }
  /// Rows and columns of a thread.
  int64_t getRows() const { return rowTiles == 0 ? 1 : 2 * rowTiles; }
  int64_t getColumns() const { return columnTiles == 0 ? 1 : 2 * columnTiles; }
  int64_t size() const { return getRows() * getColumns(); }

  /// The place among a thread's values of what it has of a row and a column,
  /// in the vector itself or in one that is broadcast.
  int64_t getIndex(int64_t row, int64_t column) const {
    return (rowTiles == 0 ? 0 : row) * getColumns() +
           (columnTiles == 0 ? 0 : column);
  }

  /// From a thread's first row or column to another one of its own.
  static int64_t getRowStep(int64_t row) { return row / 2 * 16 + row % 2 * 8; }
  static int64_t getColumnStep(int64_t column) {
    return column / 2 * 8 + column % 2;
  }

private:
  VectorLayout(int64_t rowTiles, int64_t columnTiles)
      : rowTiles(rowTiles), columnTiles(columnTiles) {}
  int64_t rowTiles, columnTiles;
};

/// Where a thread stands in its block. All are computed where the function
/// begins.
class ThreadPlace {
public:
  /// `warps` are those of the block.
  ThreadPlace(mlir::func::FuncOp function, WarpGrid grid, int64_t warps);

  WarpGrid getGrid() const { return grid; }
  VectorLayout getLayout(mlir::Type type) const {
    return *VectorLayout::get(llvm::cast<mlir::VectorType>(type), grid);
  }

  /// 0 to 31, i32.
  mlir::Value getLane() const { return lane; }
  /// The place in a quad of lanes, which have the same rows, i32; and the
  /// number of the quad.
  mlir::Value getInQuad() const { return inQuad; }
  mlir::Value getQuad() const { return quad; }
  mlir::Value getWarpRow() const { return warpRow; }
  mlir::Value getWarpColumn() const { return warpColumn; }
  /// Which part of the terms of a product the warp has.
  mlir::Value getWarpTerm() const { return warpTerm; }
  /// Whether the warp does what no other does; null if all do.
  mlir::Value getIsInGrid() const { return isInGrid; }

  /// The first row and column that the thread has of a vector, i32.
  mlir::Value getFirstRow(mlir::OpBuilder &builder, mlir::Location loc,
                          const VectorLayout &layout) const;
  mlir::Value getFirstColumn(mlir::OpBuilder &builder, mlir::Location loc,
                             const VectorLayout &layout) const;

  /// Whether this thread, of all that have the same elements, is the one that
  /// writes them; null if each has its own.
  mlir::Value getIsWriter(mlir::OpBuilder &builder, mlir::Location loc,
                          const VectorLayout &layout) const;

private:
  WarpGrid grid;
  mlir::Value lane, inQuad, quad, warpRow, warpColumn, warpTerm;
  /// Whether the warp is one of the grid; null if all are.
  mlir::Value isInGrid;
};

/// What a function on vectors is compiled for.
struct VectorFunction {
  const ThreadPlace &place;
  /// The exponential that the GPU has an instruction for is good enough.
  bool hasFastExp;
  /// Products of f32 are one product of numbers of 19 bits.
  bool hasFastProducts;
  /// Registers of a thread that loops carry, and of the operands in `kept`.
  mutable int64_t registers;
  /// Operands that are loaded where they are read, by read and role.
  mutable std::map<std::pair<mlir::Operation *, int>,
                   std::shared_ptr<OperandLoader>>
      kept = {};
  /// What the last product that is the first of two has loaded.
  mutable std::shared_ptr<RightParts> rightParts = {};
  /// Shared memory in which sums are joined; null if warps share no terms.
  mlir::Value joinMemory = {};
};

/// A pattern that knows what the function is compiled for.
template <typename Op>
class VectorPattern : public mlir::OpConversionPattern<Op> {
public:
  VectorPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, const VectorFunction &function,
                mlir::PatternBenefit benefit = 1)
      : mlir::OpConversionPattern<Op>(converter, context, benefit),
        function(function) {}
  /// Of an operation whose operands are no values of a thread.
  VectorPattern(mlir::MLIRContext *context, const VectorFunction &function)
      : mlir::OpConversionPattern<Op>(context), function(function) {}

protected:
  /// What is no vector stays one value.
  static mlir::Value getOnly(mlir::ValueRange values) {
    assert(values.size() == 1 && "not a vector");
    return values.front();
  }
  static llvm::SmallVector<mlir::Value>
  getEach(llvm::ArrayRef<mlir::ValueRange> ranges) {
    return llvm::map_to_vector(ranges, getOnly);
  }

  const VectorFunction &function;
};

/// The memory and the place that a vector is read from or written to.
class VectorMemory {
public:
  VectorMemory(mlir::VectorTransferOpInterface op, mlir::Value memory,
               mlir::ValueRange indices);

  /// The element of a row and a column (index), the padding if there is none.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value row, mlir::Value column,
                   mlir::Value padding) const;
  /// Nothing is written behind the end of the memory.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row,
             mlir::Value column, mlir::Value value) const;

  /// Whether all of the vector lies in the memory (i1); null if it is known to.
  mlir::Value isWhole(mlir::OpBuilder &builder, mlir::Location loc) const;
  /// The same without looking.
  VectorMemory withoutBounds() const;

private:
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpBuilder &builder,
                                            mlir::Location loc, mlir::Value row,
                                            mlir::Value column) const;
  mlir::Value isInBounds(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::ValueRange at) const;

  /// A dimension of the vector.
  struct Dimension {
    int64_t size;
    /// The index of the memory that counts it; none if all are one element.
    std::optional<unsigned> position;
    /// Whether the memory may end before it does.
    bool hasBound;
  };
  mlir::Value memory;
  llvm::SmallVector<mlir::Value> indices;
  llvm::SmallVector<Dimension, 2> dimensions;
};

/// Whether the read is the operand of products alone, perhaps extended: then
/// it is loaded by each product in the form that this takes.
bool isOperandRead(mlir::Operation *op);

/// The read that an operand of a product is, perhaps extended; null if it is
/// computed.
mlir::vector::TransferReadOp getOperandRead(mlir::Value operand);

/// Whether the operation makes the numbers of rows or columns of a step.
bool isUseOfStep(mlir::Operation *op);

/// Attribute of two products side by side with one right operand, which are
/// walked together: whether it is the first.
inline constexpr llvm::StringLiteral joinedName = "gf.joined";

/// Places such products side by side, where they are in one block.
void joinProducts(mlir::func::FuncOp function);

/// Where warps share the terms of products, marks where each sum is whole: at
/// the end of the loops that carry it. A sum begins with 0.
mlir::LogicalResult markSums(mlir::func::FuncOp function, WarpGrid grid);

/// Fails with a message where a function holds what is not known on vectors.
mlir::LogicalResult checkVectors(mlir::func::FuncOp function, WarpGrid grid);

void populateElementPatterns(const mlir::TypeConverter &converter,
                             const VectorFunction &function,
                             mlir::RewritePatternSet &patterns);
void populateMemoryPatterns(const mlir::TypeConverter &converter,
                            const VectorFunction &function,
                            mlir::RewritePatternSet &patterns);
void populateProductPatterns(const VectorFunction &function,
                             mlir::RewritePatternSet &patterns);
void populateSumPatterns(const mlir::TypeConverter &converter,
                         const VectorFunction &function,
                         mlir::RewritePatternSet &patterns);

} // namespace gatefold

#endif // PASSES_GPU_VECTORSTOTHREADS_H
