// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Assertions.h - What ends a run ---------------------------*- C++ -*-===//
//
// Messages by which a cf.assert says what it is about.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_ASSERTIONS_H
#define DIALECT_ASSERTIONS_H

#include "llvm/ADT/StringRef.h"

namespace gatefold {

/// A computed index is outside its table. All other assertions are about
/// reductions of no elements.
inline constexpr llvm::StringLiteral indexAssertion =
    "an index outside its table";

} // namespace gatefold

#endif // DIALECT_ASSERTIONS_H
