// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Tensors.h - Tensors of a run and of files ----------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_TENSORS_H
#define FRONTEND_TOOLS_GATEFOLD_TENSORS_H

#include "runtime/Runtime.h"
#include "runtime/files/Tensor.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

namespace gatefold::tool {

/// A dense row-major tensor that is handed to, or comes from, a compiled model.
/// Owns its data, or keeps the file alive in which they stand.
class HostTensor {
public:
  HostTensor() = default;
  /// Zeros. Fails where the size overflows or there is no memory.
  static llvm::Expected<HostTensor> create(gatefold_element element,
                                           std::vector<int64_t> shape);
  /// A tensor of a file as `element`: floats convert to floats, integers to
  /// integers where every value fits, booleans stay. `what` begins messages.
  static llvm::Expected<HostTensor> convert(const files::FileTensor &tensor,
                                            gatefold_element element,
                                            const llvm::Twine &what);

  const DLTensor *dl() const;
  DLTensor *dl();
  void *data() { return bytes; }
  const void *data() const { return bytes; }
  llvm::ArrayRef<int64_t> shape() const { return dimensions; }
  gatefold_element element() const { return type; }
  int64_t count() const;
  size_t byteSize() const { return count() * (type.bits / 8); }
  double at(int64_t index) const;
  /// Rounds once to the element type.
  void set(int64_t index, double value);
  /// Of a tensor of integers or booleans.
  int64_t integerAt(int64_t index) const;

  /// As a file holds it.
  files::FileTensor toFile(llvm::StringRef name) const;
  /// name, shape, least, mean and largest value; the values where they are few.
  void print(llvm::raw_ostream &out, llvm::StringRef name) const;
  llvm::json::Object toJson(llvm::StringRef name) const;

private:
  gatefold_element type{};
  std::vector<int64_t> dimensions;
  void *bytes = nullptr;
  std::shared_ptr<const void> owner;
  DLTensor view{};
};

/// True of f16, bf16, f32 and f64.
bool isFloat(gatefold_element element);
/// "f32", "i64", "bool", ...
llvm::StringRef spelling(gatefold_element element);
/// "[2, 3]"
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// A fault of a file as an error of the driver.
llvm::Error toError(const files::FileError &error);

/// Uniform and normal numbers that are the same on every machine.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}
  uint64_t next();
  double uniform(); // [0, 1)
  double normal();
  int64_t below(int64_t bound); // 0 .. bound - 1

private:
  uint64_t state;
};
/// A seed of its own for each name, so that one tensor more or less changes no
/// other.
uint64_t seedFor(uint64_t seed, llvm::StringRef name);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_TENSORS_H
