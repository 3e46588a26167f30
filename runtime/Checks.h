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

/// Checks type, device and data of a tensor with a checked shape: element type,
/// memory that a CPU reaches, data where there are elements, strides within
/// memory.
bool checkData(Message &message, const Subject &subject,
               const DLTensor &tensor);

/// Checks that a bool tensor holds zeros and ones, as compiled code may take
/// for granted.
bool checkBooleans(Message &message, const Subject &subject, const View &view);

/// Checks 0 <= v <= last of each element of an i32 or i64 input; last may be
/// -1.
bool checkValues(Message &message, const Subject &subject, const View &view,
                 int64_t last);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_CHECKS_H
