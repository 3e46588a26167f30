// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Version.h - Version of the gf dialect --------------------*- C++ -*-===//
//
// The version that bytecode of the dialect carries. Raise `minor` when a reader
// of today could not read what is written from now on, and teach
// BytecodeInterface.cpp to upgrade what is older; raise `major` only where
// older bytecode can no longer be read.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_VERSION_H
#define DIALECT_VERSION_H

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace gatefold {

/// Version of the dialect, major.minor.
struct GfDialectVersion : public mlir::DialectVersion {
  GfDialectVersion(uint64_t major, uint64_t minor)
      : major(major), minor(minor) {}

  /// What this build writes, and the newest that it reads.
  static GfDialectVersion current() { return {0, 1}; }

  bool isNewerThan(const GfDialectVersion &other) const {
    return major != other.major ? major > other.major : minor > other.minor;
  }

  uint64_t major, minor;
};

} // namespace gatefold

#endif // DIALECT_VERSION_H
