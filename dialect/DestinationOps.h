// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DestinationOps.h - What pack and linear share ------------*- C++ -*-===//
//
// Rules of operations that write into a destination, on tensors or buffers.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_DESTINATIONOPS_H
#define DIALECT_DESTINATIONOPS_H

#include "dialect/GatefoldOps.h"

namespace gatefold {

/// Either every operand is a ranked tensor and there is one result, of the
/// output's type, or every operand is a ranked buffer and there is none.
llvm::LogicalResult verifyDestination(mlir::DestinationStyleOpInterface op);

/// Whether two sizes can be equal.
inline bool maybeEqual(int64_t left, int64_t right) {
  return left == right || mlir::ShapedType::isDynamic(left) ||
         mlir::ShapedType::isDynamic(right);
}

/// Buffers among the operands are read, the output is written.
void addDestinationEffects(
    mlir::DestinationStyleOpInterface op,
    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

} // namespace gatefold

#endif // DIALECT_DESTINATIONOPS_H
