// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SharedSizes.h - Sizes that several operands share --------*- C++ -*-===//
//
// What the verifiers use to compare sizes: static ones must agree, an open one
// agrees with any. Internal to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_SHAREDSIZES_H
#define DIALECT_SHAREDSIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace gatefold {

/// Static sizes are equal, or one of them is open.
inline bool agree(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) ||
         mlir::ShapedType::isDynamic(b);
}

/// Ranks are equal and sizes agree.
bool agree(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// A size that several values have in common, such as the number of steps.
class SharedSize {
public:
  explicit SharedSize(std::string name) : name(std::move(name)) {}

  /// Joins the size that `owner` has; an error at `op` where two owners
  /// disagree.
  llvm::LogicalResult join(mlir::Operation *op, int64_t size,
                           const llvm::Twine &owner);

  /// The static size, or ShapedType::kDynamic where none was joined.
  int64_t get() const { return size; }

private:
  std::string name;
  int64_t size = mlir::ShapedType::kDynamic;
  std::string firstOwner;
};

} // namespace gatefold

#endif // DIALECT_SHAREDSIZES_H
