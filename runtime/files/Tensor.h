// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor that stands in a file, and the result type of everything that reads
// or writes one.
#ifndef GATEFOLD_RUNTIME_FILES_TENSOR_H
#define GATEFOLD_RUNTIME_FILES_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gatefold::files {

/// Why a file was refused. `message` names the file, the tensor where there is
/// one, what was expected and what was found; `hint`, where not empty, says
/// what to do instead.
struct FileError {
  std::string message;
  std::string hint;
};

/// A value or the reason why there is none. Reading the value of a failed
/// result, or the error of a successful one, is undefined.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  Result(FileError error) : failure(std::move(error)) {}

  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  const FileError &error() const { return failure; }
  /// Moves the value out.
  T take() { return std::move(*value); }

private:
  std::optional<T> value;
  FileError failure;
};

/// The element types that all formats can carry. Integers are two's complement,
/// floats IEEE 754 (bf16: the upper half of an f32), everything little endian;
/// a boolean is one byte, 0 or 1.
enum class ElementKind {
  f16,
  bf16,
  f32,
  f64,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean
};

/// The most dimensions a tensor in a file may have.
constexpr size_t maxRank = 32;

/// Bytes of one element: 1, 2, 4 or 8.
size_t elementBytes(ElementKind element);

/// The name as the language spells it: "f32", "bf16", "boolean", ...
const char *elementName(ElementKind element);

/// Bytes of a dense tensor of `shape` whose elements have `elementBits` bits.
/// An error (without a place) where a dimension is negative, the rank exceeds
/// `maxRank`, the bits do not fill whole bytes, or the product overflows. The
/// product of the dimensions other than 0 must fit too, so that strides of an
/// empty tensor cannot overflow.
Result<uint64_t> denseBytes(const std::vector<int64_t> &shape,
                            uint64_t elementBits);

/// A dense tensor in row-major order. An aggregate: a caller that writes a
/// tensor fills it by hand.
struct FileTensor {
  std::string name;
  ElementKind element = ElementKind::f32;
  /// Empty for a scalar.
  std::vector<int64_t> shape;
  /// `bytes` bytes, aligned for the element; may be null where `bytes` is 0.
  const void *data = nullptr;
  size_t bytes = 0;
  /// Keeps the mapped file or the buffer behind `data` alive.
  std::shared_ptr<const void> keepAlive;
};

/// `name` in double quotes for a message: control characters escaped, long
/// names cut.
std::string quotedName(std::string_view name);

/// "[2, 3]"; "[]" for a scalar.
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_TENSOR_H
