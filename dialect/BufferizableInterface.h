// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BufferizableInterface.h - Bufferization of pack, linear --*- C++ -*-===//

#ifndef DIALECT_BUFFERIZABLEINTERFACE_H
#define DIALECT_BUFFERIZABLEINTERFACE_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace gatefold {

/// gf.pack and gf.linear become the same operations on buffers; an output that
/// is also the initial value accumulates in place.
void registerBufferizableInterface(mlir::DialectRegistry &registry);

} // namespace gatefold

#endif // DIALECT_BUFFERIZABLEINTERFACE_H
