// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, checked sizes, and the texts that messages are made of.
#include "runtime/files/Tensor.h"

#include <limits>

namespace gatefold::files {

size_t elementBytes(ElementKind element) {
  switch (element) {
  case ElementKind::i8:
  case ElementKind::u8:
  case ElementKind::boolean:
    return 1;
  case ElementKind::f16:
  case ElementKind::bf16:
  case ElementKind::i16:
  case ElementKind::u16:
    return 2;
  case ElementKind::f32:
  case ElementKind::i32:
  case ElementKind::u32:
    return 4;
  case ElementKind::f64:
  case ElementKind::i64:
  case ElementKind::u64:
    return 8;
  }
  return 0;
}

const char *elementName(ElementKind element) {
  switch (element) {
  case ElementKind::f16:
    return "f16";
  case ElementKind::bf16:
    return "bf16";
  case ElementKind::f32:
    return "f32";
  case ElementKind::f64:
    return "f64";
  case ElementKind::i8:
    return "i8";
  case ElementKind::i16:
    return "i16";
  case ElementKind::i32:
    return "i32";
  case ElementKind::i64:
    return "i64";
  case ElementKind::u8:
    return "u8";
  case ElementKind::u16:
    return "u16";
  case ElementKind::u32:
    return "u32";
  case ElementKind::u64:
    return "u64";
  case ElementKind::boolean:
    return "boolean";
  }
  return "unknown";
}

Result<uint64_t> denseBytes(const std::vector<int64_t> &shape,
                            uint64_t elementBits) {
  if (shape.size() > maxRank)
    return FileError{"rank " + std::to_string(shape.size()) +
                         " exceeds the limit of " + std::to_string(maxRank),
                     ""};
  // Kept below 2^63 so that the result also fits a signed size.
  const uint64_t limit = std::numeric_limits<int64_t>::max();
  uint64_t bits = elementBits;
  bool empty = false;
  for (int64_t dimension : shape) {
    if (dimension < 0)
      return FileError{"negative dimension in shape " + shapeText(shape), ""};
    if (dimension == 0) {
      empty = true;
      continue;
    }
    if (bits > limit / static_cast<uint64_t>(dimension))
      return FileError{"the size of shape " + shapeText(shape) + " overflows",
                       ""};
    bits *= static_cast<uint64_t>(dimension);
  }
  if (empty)
    return uint64_t(0);
  if (bits % 8 != 0)
    return FileError{"shape " + shapeText(shape) + " of elements of " +
                         std::to_string(elementBits) +
                         " bits does not fill whole bytes",
                     ""};
  return bits / 8;
}

std::string quotedName(std::string_view name) {
  constexpr size_t longest = 200;
  static const char digits[] = "0123456789abcdef";
  std::string text = "\"";
  for (char character : name.substr(0, longest)) {
    unsigned char byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f) {
      text += "\\x";
      text += digits[byte >> 4];
      text += digits[byte & 15];
    } else if (character == '"' || character == '\\') {
      text += '\\';
      text += character;
    } else {
      text += character;
    }
  }
  text += name.size() > longest ? "...\"" : "\"";
  return text;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0)
      text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

} // namespace gatefold::files
