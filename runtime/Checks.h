// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks.h - checks of one tensor that a host handed over, and their messages.

#ifndef GATEFOLD_RUNTIME_CHECKS_H
#define GATEFOLD_RUNTIME_CHECKS_H

#include "runtime/Description.h"
#include "runtime/Message.h"
#include "runtime/Runtime.h"
#include "runtime/View.h"

namespace gatefold::runtime {

/// How messages speak of a tensor: "`x`", "result `y`", "parameter `w`".
enum class Kind { Input, Result, Parameter };

struct Subject {
  Kind kind;
  const gatefold_tensor &tensor;
};

void appendSubject(Message &message, const Subject &subject);

/// Checks that there is a tensor with the right number of dimensions, each 0 or
/// more, whose bytes can be counted. Does not look at data or type.
bool checkShape(Message &message, const Subject &subject,
                const DLTensor *tensor);

/// What memory a tensor may be in: the host's, and that of one GPU with what it
/// reaches of the host's.
struct Memory {
  bool isHost = true, isGpu = false;
  int32_t device = 0;
};

/// True of memory that a CPU reads, pinned memory too.
bool isHostMemory(const DLTensor &tensor);

/// Checks type, device and data of a tensor with a checked shape: element type,
/// memory that may be, data where there are elements, strides within memory.
bool checkData(Message &message, const Subject &subject, const DLTensor &tensor,
               Memory memory = {});

/// Checks that a bool tensor holds zeros and ones, as compiled code may take
/// for granted.
bool checkBooleans(Message &message, const Subject &subject, const View &view);

/// Checks 0 <= v <= last of each element of an i32 or i64 input; last may be
/// -1.
bool checkValues(Message &message, const Subject &subject, const View &view,
                 int64_t last);

/// Says that the element at `place`, in row-major order, has a value that a
/// check of it refuses; a bool's is 0..1.
void appendBadValue(Message &message, const Subject &subject,
                    const int64_t *shape, int64_t place, int64_t value,
                    int64_t last);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_CHECKS_H
