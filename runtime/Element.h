// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element.h - the element types of tensors: names, sizes, values.

#ifndef GATEFOLD_RUNTIME_ELEMENT_H
#define GATEFOLD_RUNTIME_ELEMENT_H

#include "runtime/Description.h"
#include "runtime/Message.h"
#include "runtime/dlpack.h"

namespace gatefold::runtime {

/// True of the types that a description may name: f16, bf16, f32, f64, i32,
/// i64, bool.
bool isSupported(gatefold_element element);

inline int64_t elementBytes(gatefold_element element) {
  return element.bits / 8;
}

inline bool isBool(gatefold_element element) { return element.code == kDLBool; }

/// True of i32 and i64.
inline bool isInteger(gatefold_element element) {
  return element.code == kDLInt;
}

/// Appends the type in the language's words: "f32", "i64", "bool"; also of
/// types that no description has.
void appendType(Message &message, DLDataType type);

DLDataType typeOf(gatefold_element element);

/// True if `value` can stand for an element: integers need a whole number in
/// their range, bool 0 or 1.
bool canHold(gatefold_element element, double value);

/// Writes `value`, which the type can hold, as one element: elementBytes bytes.
void encode(gatefold_element element, double value, void *bytes);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_ELEMENT_H
