// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// View.h - strided memory: walking, copying, and whether two share a byte.

#ifndef GATEFOLD_RUNTIME_VIEW_H
#define GATEFOLD_RUNTIME_VIEW_H

#include "runtime/Description.h"
#include "runtime/dlpack.h"

namespace gatefold::runtime {

/// The most dimensions that a tensor of a description may have.
inline constexpr int32_t maximalRank = 32;

/// A tensor's memory. `shape` is the caller's, `strides` (in elements) is
/// filled in also where the caller gave none.
struct View {
  char *data;
  int32_t rank;
  int64_t elementBytes;
  const int64_t *shape;
  int64_t *strides;

  bool isEmpty() const;
  /// False where an element does not stand at a multiple of its size.
  bool isAligned() const { return (uintptr_t)data % elementBytes == 0; }
  /// True if the elements of the last dimension stand side by side.
  bool hasContiguousRows() const { return rank == 0 || strides[rank - 1] == 1; }
  /// Bytes of its elements side by side.
  int64_t packedBytes() const;
};

/// The number of elements times `elementBytes`; false if it is not an i64.
/// Sizes are not negative. Nothing overflows where one of the sizes is 0.
bool checkedBytes(const int64_t *shape, int32_t rank, int64_t elementBytes,
                  int64_t &bytes);

/// Row-major strides in elements, for a shape that checkedBytes accepted. Times
/// 8 bytes they do not overflow.
void packedStrides(const int64_t *shape, int32_t rank, int64_t *strides);

/// The view of a tensor whose shape checkedBytes accepted; strides go to
/// `strides`, packed ones for dimensions of size 1 and for an empty tensor.
View viewOf(const DLTensor &tensor, int64_t elementBytes, int64_t *strides);

/// Whether all elements stand side by side, in row-major order.
bool isContiguous(const View &view);

/// First byte and the one after the last, as addresses. False if they are no
/// addresses (strides that lead out of memory). An empty view has no bytes.
bool byteRange(const View &view, uintptr_t &begin, uintptr_t &end);

/// Visits a view's rows (its last dimension; a scalar is a row of one element)
/// in row-major order.
class RowWalk {
public:
  explicit RowWalk(const View &view);
  bool isDone() const { return done; }
  void next();
  char *row() const { return position; }
  int64_t rowLength() const { return length; }
  /// Bytes from one element of a row to the next.
  int64_t step() const { return stepBytes; }
  /// Place of the row: one entry less than the view's rank, and room for one
  /// more.
  int64_t *index() { return indices; }

private:
  const View &view;
  bool done;
  char *position;
  int64_t length, stepBytes;
  int64_t indices[maximalRank + 1];
};

/// Copies elements between views of one shape and type that share no byte.
void copy(const View &to, const View &from);

/// Writes one element, given by its bytes, everywhere.
void fill(const View &view, const void *element);

/// True if both are the same elements at the same places.
bool isSameMemory(const View &a, const View &b);

/// False only if no byte belongs to both. True where they are interleaved in a
/// way that is not seen to be free of overlap: columns of one matrix are seen.
bool mayOverlap(const View &a, const View &b);

/// False only if every element has bytes of its own.
bool mayOverlapItself(const View &view);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_VIEW_H
