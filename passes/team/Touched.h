// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Touched.h - What operations read and write ---------------*- C++ -*-===//
//
// Says whether two operations on buffers may change places.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_TOUCHED_H
#define PASSES_TEAM_TOUCHED_H

#include "mlir/IR/Operation.h"

namespace gatefold {

/// Indices from `begin` up to `end`, not included.
struct IndexSpan {
  int64_t begin = 0, end = 0;
};

/// The part of a root that a view shows at most: per dimension a range, or none
/// where it is not known.
struct BufferPart {
  mlir::Value root;
  llvm::SmallVector<std::optional<IndexSpan>> ranges;

  bool meets(const BufferPart &other) const;
};

/// What operations read and write.
struct Touched {
  llvm::SmallVector<BufferPart> read, written;

  bool dependsOn(const Touched &other) const;
  void add(const Touched &other) {
    llvm::append_range(read, other.read);
    llvm::append_range(written, other.written);
  }
};

/// Adds what an operation with all that it holds touches; false where that is
/// not known.
bool findTouched(mlir::Operation *op, Touched &touched);

} // namespace gatefold

#endif // PASSES_TEAM_TOUCHED_H
