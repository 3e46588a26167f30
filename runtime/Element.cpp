// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element.cpp - the element types of tensors: names, sizes, values.

#include "runtime/Element.h"
#include "runtime/Half.h"

#include <string.h>

namespace gatefold::runtime {

bool isSupported(gatefold_element element) {
  switch (element.code) {
  case kDLFloat:
    return element.bits == 16 || element.bits == 32 || element.bits == 64;
  case kDLBfloat:
    return element.bits == 16;
  case kDLInt:
    return element.bits == 32 || element.bits == 64;
  case kDLBool:
    return element.bits == 8;
  default:
    return false;
  }
}

DLDataType typeOf(gatefold_element element) {
  return {element.code, element.bits, 1};
}

void appendType(Message &message, DLDataType type) {
  switch (type.code) {
  case kDLFloat:
    message.append("f%d", type.bits);
    break;
  case kDLInt:
    message.append("i%d", type.bits);
    break;
  case kDLUInt:
    message.append("u%d", type.bits);
    break;
  case kDLBfloat:
    message.append("bf%d", type.bits);
    break;
  case kDLComplex:
    message.append("complex%d", type.bits);
    break;
  case kDLBool:
    message.append(type.bits == 8 ? "bool" : "bool of %d bits", type.bits);
    break;
  default:
    message.append("of type code %d and %d bits", type.code, type.bits);
    break;
  }
  if (type.lanes != 1)
    message.append(" in vectors of %d", type.lanes);
}

bool canHold(gatefold_element element, double value) {
  if (isBool(element))
    return value == 0 || value == 1;
  if (!isInteger(element))
    return true;
  // 2^31 and 2^63 are exact doubles, the largest i64 is not.
  double limit = element.bits == 32 ? 2147483648.0 : 9223372036854775808.0;
  return value >= -limit && value < limit && (double)(int64_t)value == value;
}

template <typename T> static void store(T value, void *bytes) {
  memcpy(bytes, &value, sizeof(T));
}

void encode(gatefold_element element, double value, void *bytes) {
  if (isBool(element))
    store((uint8_t)value, bytes);
  else if (isInteger(element))
    element.bits == 32 ? store((int32_t)value, bytes)
                       : store((int64_t)value, bytes);
  else if (element.code == kDLBfloat)
    store(toBf16(toOddFloat(value)), bytes);
  else if (element.bits == 16)
    store(toF16(toOddFloat(value)), bytes);
  else
    element.bits == 32 ? store((float)value, bytes) : store(value, bytes);
}

} // namespace gatefold::runtime
