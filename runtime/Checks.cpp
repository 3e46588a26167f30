// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks.cpp - checks of one tensor that a host handed over, and their
// messages.

#include "runtime/Checks.h"

#include "runtime/Element.h"

#include <string.h>

namespace gatefold::runtime {

void appendSubject(Message &message, const Subject &subject) {
  if (subject.kind == Kind::Result)
    message.append("result ");
  else if (subject.kind == Kind::Parameter)
    message.append("parameter ");
  message.appendName(subject.tensor.name);
}

/// Starts a sentence: "parameter `w` is"; what follows is the tensor's own,
/// what comes after that is said by `endOwn`.
static void beginOwn(Message &message, const Subject &subject) {
  appendSubject(message, subject);
  message.append(" is ");
}

static const char *endOwn(const Subject &subject) {
  return subject.kind == Kind::Parameter ? " in the weights" : "";
}

bool checkShape(Message &message, const Subject &subject,
                const DLTensor *tensor) {
  const gatefold_tensor &expected = subject.tensor;
  if (!tensor) {
    appendSubject(message, subject);
    message.append(" is missing: its tensor is null");
    return false;
  }
  if (tensor->ndim != expected.rank) {
    appendSubject(message, subject);
    message.append(" has %d dimension%s%s, expected %d: ", tensor->ndim,
                   tensor->ndim == 1 ? "" : "s", endOwn(subject),
                   expected.rank);
    message.appendNames(expected.dimension_names, expected.rank);
    return false;
  }
  if (expected.rank > 0 && !tensor->shape) {
    appendSubject(message, subject);
    message.append(" has no shape: it is null");
    return false;
  }
  for (int32_t d = 0; d < expected.rank; ++d)
    if (tensor->shape[d] < 0) {
      beginOwn(message, subject);
      message.appendSizes(tensor->shape, expected.rank);
      message.append("%s: dimension %d is negative", endOwn(subject), d);
      return false;
    }
  int64_t bytes;
  if (!checkedBytes(tensor->shape, expected.rank,
                    elementBytes(expected.element), bytes)) {
    beginOwn(message, subject);
    message.appendSizes(tensor->shape, expected.rank);
    message.append("%s: more bytes than can be addressed", endOwn(subject));
    return false;
  }
  return true;
}

static const char *deviceName(int32_t type) {
  switch (type) {
  case kDLCPU:
    return "the CPU";
  case kDLCUDA:
  case kDLCUDAManaged:
    return "CUDA";
  case kDLROCM:
    return "ROCm";
  case kDLMetal:
    return "Metal";
  case kDLVulkan:
    return "Vulkan";
  case kDLOpenCL:
    return "OpenCL";
  case kDLOneAPI:
    return "oneAPI";
  default:
    return "unknown";
  }
}

bool isHostMemory(const DLTensor &tensor) {
  // Pinned memory belongs to the host as well.
  int32_t type = (int32_t)tensor.device.device_type;
  return type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
}

static bool checkMemory(Message &message, const Subject &subject,
                        const DLTensor &tensor, Memory memory) {
  int32_t type = (int32_t)tensor.device.device_type;
  bool isOfGpu = type == kDLCUDA && tensor.device.device_id == memory.device;
  if ((memory.isHost && isHostMemory(tensor)) ||
      (memory.isGpu &&
       (isOfGpu || type == kDLCUDAManaged || type == kDLCUDAHost)))
    return true;
  beginOwn(message, subject);
  if (memory.isGpu && type == kDLCUDA)
    message.append("on GPU %d", tensor.device.device_id);
  else
    message.append("on a device of type %d (%s)", type, deviceName(type));
  message.append("%s, expected ", endOwn(subject));
  if (memory.isGpu)
    message.append("GPU %d (kDLCUDA) or %s", memory.device,
                   memory.isHost ? "the CPU" : "pinned memory (kDLCUDAHost)");
  else
    message.append("the CPU");
  return false;
}

bool checkData(Message &message, const Subject &subject, const DLTensor &tensor,
               Memory memory) {
  const gatefold_tensor &expected = subject.tensor;
  DLDataType type = typeOf(expected.element);
  if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits ||
      tensor.dtype.lanes != 1) {
    beginOwn(message, subject);
    appendType(message, tensor.dtype);
    message.append("%s, expected ", endOwn(subject));
    appendType(message, type);
    return false;
  }
  if (!checkMemory(message, subject, tensor, memory))
    return false;
  int64_t strides[maximalRank];
  View view = viewOf(tensor, elementBytes(expected.element), strides);
  if (!tensor.data && !view.isEmpty()) {
    beginOwn(message, subject);
    message.appendSizes(tensor.shape, tensor.ndim);
    message.append("%s, but its data is null", endOwn(subject));
    return false;
  }
  if (tensor.data && (uintptr_t)view.data < (uintptr_t)tensor.data) {
    appendSubject(message, subject);
    message.append(" has a byte offset that leads out of memory: %llu",
                   (unsigned long long)tensor.byte_offset);
    return false;
  }
  uintptr_t begin, end;
  if (!byteRange(view, begin, end)) {
    appendSubject(message, subject);
    message.append(" has strides that lead out of memory: ");
    message.appendSizes(strides, tensor.ndim);
    return false;
  }
  return true;
}

void appendBadValue(Message &message, const Subject &subject,
                    const int64_t *shape, int64_t place, int64_t value,
                    int64_t last) {
  int32_t rank = subject.tensor.rank;
  int64_t index[maximalRank];
  for (int32_t d = rank - 1; d >= 0; --d) {
    index[d] = place % shape[d];
    place /= shape[d];
  }
  appendSubject(message, subject);
  if (rank > 0)
    message.appendSizes(index, rank);
  if (isBool(subject.tensor.element))
    message.append(" is the byte %lld, expected a bool: 0 or 1",
                   (long long)value);
  else if (last < 0)
    message.append(" is %lld, but no value is allowed: its range is empty",
                   (long long)value);
  else
    message.append(" is %lld, expected 0..%lld", (long long)value,
                   (long long)last);
}

/// The same of an element of a row of `view`.
static void appendBadValue(Message &message, const Subject &subject,
                           const View &view, RowWalk &rows, int64_t column,
                           int64_t value, int64_t last) {
  int64_t place = 0;
  for (int32_t d = 0; d + 1 < view.rank; ++d)
    place = (place + rows.index()[d]) * view.shape[d + 1];
  appendBadValue(message, subject, view.shape, place + column, value, last);
}

bool checkBooleans(Message &message, const Subject &subject, const View &view) {
  for (RowWalk rows(view); !rows.isDone(); rows.next()) {
    const unsigned char *row = (const unsigned char *)rows.row();
    unsigned char all = 0;
    for (int64_t i = 0; i < rows.rowLength(); ++i)
      all |= row[i * rows.step()];
    if (all <= 1)
      continue;
    int64_t column = 0;
    while (row[column * rows.step()] <= 1)
      ++column;
    appendBadValue(message, subject, view, rows, column,
                   row[column * rows.step()], /*last=*/1);
    return false;
  }
  return true;
}

template <typename T>
static bool checkIntegers(Message &message, const Subject &subject,
                          const View &view, int64_t last) {
  for (RowWalk rows(view); !rows.isDone(); rows.next())
    for (int64_t i = 0; i < rows.rowLength(); ++i) {
      T value;
      memcpy(&value, rows.row() + i * rows.step(), sizeof(T));
      if (value >= 0 && value <= last)
        continue;
      appendBadValue(message, subject, view, rows, i, value, last);
      return false;
    }
  return true;
}

bool checkValues(Message &message, const Subject &subject, const View &view,
                 int64_t last) {
  return view.elementBytes == 4
             ? checkIntegers<int32_t>(message, subject, view, last)
             : checkIntegers<int64_t>(message, subject, view, last);
}

} // namespace gatefold::runtime
