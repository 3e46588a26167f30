// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BytecodeInterface.h - Bytecode of the gf dialect ---------*- C++ -*-===//
//
// Internal to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_BYTECODEINTERFACE_H
#define DIALECT_BYTECODEINTERFACE_H

#include "dialect/GatefoldDialect.h"

namespace gatefold {

/// Registers how the dialect writes its version and checks what it reads.
void addBytecodeInterface(GfDialect *dialect);

} // namespace gatefold

#endif // DIALECT_BYTECODEINTERFACE_H
