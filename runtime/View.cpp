// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// View.cpp - strided memory: walking, copying, and whether two share a byte.

#include "runtime/View.h"

#include <string.h>

namespace gatefold::runtime {

bool View::isEmpty() const {
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] == 0)
      return true;
  return false;
}

int64_t View::packedBytes() const {
  int64_t bytes = 0;
  checkedBytes(shape, rank, elementBytes, bytes);
  return bytes;
}

bool checkedBytes(const int64_t *shape, int32_t rank, int64_t elementBytes,
                  int64_t &bytes) {
  bytes = 0;
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] == 0)
      return true;
  int64_t product = elementBytes;
  for (int32_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(product, shape[d], &product))
      return false;
  bytes = product;
  return true;
}

void packedStrides(const int64_t *shape, int32_t rank, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    // Only an empty tensor gets here beyond what bytes can count; its strides
    // lead nowhere, they must merely not overflow where they are multiplied.
    if (__builtin_mul_overflow(stride, shape[d], &stride) ||
        stride > INT64_MAX / 16)
      stride = 0;
  }
}

View viewOf(const DLTensor &tensor, int64_t elementBytes, int64_t *strides) {
  packedStrides(tensor.shape, tensor.ndim, strides);
  uintptr_t address = (uintptr_t)tensor.data;
  // The data of an empty tensor may be null; then there is nothing to offset.
  if (tensor.data)
    address += (uintptr_t)tensor.byte_offset;
  View view = {(char *)address, tensor.ndim, elementBytes, tensor.shape,
               strides};
  // What is never stepped over may have any stride in DLPack, and keeps a
  // packed one.
  if (tensor.strides && !view.isEmpty())
    for (int32_t d = 0; d < tensor.ndim; ++d)
      if (tensor.shape[d] > 1)
        strides[d] = tensor.strides[d];
  return view;
}

bool isContiguous(const View &view) {
  int64_t packed[maximalRank];
  packedStrides(view.shape, view.rank, packed);
  for (int32_t d = 0; d < view.rank; ++d)
    if (view.shape[d] > 1 && view.strides[d] != packed[d])
      return false;
  return true;
}

bool byteRange(const View &view, uintptr_t &begin, uintptr_t &end) {
  begin = end = (uintptr_t)view.data;
  if (view.isEmpty())
    return true;
  int64_t below = 0, above = view.elementBytes;
  for (int32_t d = 0; d < view.rank; ++d) {
    int64_t reach;
    if (__builtin_mul_overflow(view.strides[d], view.shape[d] - 1, &reach) ||
        __builtin_mul_overflow(reach, view.elementBytes, &reach))
      return false;
    int64_t &side = reach < 0 ? below : above;
    if (__builtin_add_overflow(side, reach, &side))
      return false;
  }
  return !__builtin_sub_overflow(begin, (uintptr_t)0 - (uintptr_t)below,
                                 &begin) &&
         !__builtin_add_overflow(end, (uintptr_t)above, &end) &&
         end - begin <= (uintptr_t)INT64_MAX;
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

RowWalk::RowWalk(const View &view)
    : view(view), done(view.isEmpty()), position(view.data),
      length(view.rank ? view.shape[view.rank - 1] : 1),
      stepBytes(view.rank ? view.strides[view.rank - 1] * view.elementBytes
                          : view.elementBytes) {
  memset(indices, 0, sizeof(indices));
}

void RowWalk::next() {
  for (int32_t d = view.rank - 2; d >= 0; --d) {
    int64_t stride = view.strides[d] * view.elementBytes;
    if (++indices[d] < view.shape[d]) {
      position += stride;
      return;
    }
    position -= stride * (view.shape[d] - 1);
    indices[d] = 0;
  }
  done = true;
}

template <size_t Bytes>
static void copyRow(char *to, int64_t toStep, const char *from,
                    int64_t fromStep, int64_t length) {
  for (int64_t i = 0; i < length; ++i)
    memcpy(to + i * toStep, from + i * fromStep, Bytes);
}

void copy(const View &to, const View &from) {
  int64_t bytes = to.elementBytes;
  for (RowWalk toRows(to), fromRows(from); !toRows.isDone();
       toRows.next(), fromRows.next()) {
    char *target = toRows.row();
    const char *source = fromRows.row();
    int64_t length = toRows.rowLength();
    int64_t toStep = toRows.step(), fromStep = fromRows.step();
    if (toStep == bytes && fromStep == bytes)
      memcpy(target, source, (size_t)(length * bytes));
    else if (bytes == 8)
      copyRow<8>(target, toStep, source, fromStep, length);
    else if (bytes == 4)
      copyRow<4>(target, toStep, source, fromStep, length);
    else if (bytes == 2)
      copyRow<2>(target, toStep, source, fromStep, length);
    else
      copyRow<1>(target, toStep, source, fromStep, length);
  }
}

void fill(const View &view, const void *element) {
  for (RowWalk rows(view); !rows.isDone(); rows.next())
    for (int64_t i = 0; i < rows.rowLength(); ++i)
      memcpy(rows.row() + i * rows.step(), element, (size_t)view.elementBytes);
}

//===----------------------------------------------------------------------===//
// Overlap
//===----------------------------------------------------------------------===//

bool isSameMemory(const View &a, const View &b) {
  if (a.data != b.data || a.rank != b.rank || a.elementBytes != b.elementBytes)
    return false;
  for (int32_t d = 0; d < a.rank; ++d)
    if (a.shape[d] != b.shape[d] ||
        (a.shape[d] > 1 && a.strides[d] != b.strides[d]))
      return false;
  return true;
}

/// The bytes of a view modulo `pitch` lie in `width` bytes (possibly more than
/// the pitch) from `start` on. The view is not empty and byteRange accepts it.
static void windowModulo(const View &view, int64_t pitch, int64_t &start,
                         int64_t &width) {
  int64_t below = 0;
  width = view.elementBytes;
  for (int32_t d = 0; d < view.rank; ++d) {
    int64_t stride = view.strides[d] * view.elementBytes;
    if (view.shape[d] == 1 || stride % pitch == 0)
      continue;
    int64_t reach = stride * (view.shape[d] - 1);
    width += reach < 0 ? -reach : reach;
    if (reach < 0)
      below += reach;
  }
  start = (int64_t)(((uintptr_t)view.data - ((uintptr_t)0 - (uintptr_t)below)) %
                    (uintptr_t)pitch);
}

static bool isDisjointModulo(const View &a, const View &b, int64_t pitch) {
  int64_t aStart, aWidth, bStart, bWidth;
  windowModulo(a, pitch, aStart, aWidth);
  windowModulo(b, pitch, bStart, bWidth);
  // How far b's window begins behind a's, and a's behind b's, going round.
  int64_t forward =
      bStart >= aStart ? bStart - aStart : bStart - aStart + pitch;
  return forward != 0 && aWidth <= forward && bWidth <= pitch - forward;
}

bool mayOverlap(const View &a, const View &b) {
  if (a.isEmpty() || b.isEmpty())
    return false;
  uintptr_t aBegin, aEnd, bBegin, bEnd;
  if (byteRange(a, aBegin, aEnd) && byteRange(b, bBegin, bEnd) &&
      (aEnd <= bBegin || bEnd <= aBegin))
    return false;
  const View *views[] = {&a, &b};
  for (const View *view : views)
    for (int32_t d = 0; d < view->rank; ++d) {
      int64_t pitch = view->strides[d] * view->elementBytes;
      if (pitch < 0)
        pitch = -pitch;
      if (view->shape[d] > 1 && pitch > 0 && isDisjointModulo(a, b, pitch))
        return false;
    }
  return true;
}

bool mayOverlapItself(const View &view) {
  if (view.isEmpty())
    return false;
  // Dimensions from the smallest stride up: each must step over all of those
  // before.
  int64_t covered = 1;
  bool used[maximalRank] = {};
  for (int32_t round = 0; round < view.rank; ++round) {
    int32_t least = -1;
    int64_t leastStride = 0;
    for (int32_t d = 0; d < view.rank; ++d) {
      if (used[d] || view.shape[d] == 1)
        continue;
      int64_t stride = view.strides[d] < 0 ? -view.strides[d] : view.strides[d];
      if (least < 0 || stride < leastStride) {
        least = d;
        leastStride = stride;
      }
    }
    if (least < 0)
      return false;
    if (leastStride < covered)
      return true;
    used[least] = true;
    covered += leastStride * (view.shape[least] - 1);
  }
  return false;
}

} // namespace gatefold::runtime
