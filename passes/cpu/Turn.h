// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Turn.h - Rows to columns in registers --------------------*- C++ -*-===//
//
// A block of as many rows as a vector has lanes, and of 16 bytes of each,
// turned over. That takes as many instructions for an element as turning over
// the whole square of a vector, and leaves shorter rests.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_TURN_H
#define PASSES_CPU_TURN_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace gatefold {

/// Elements of 16 bytes, or all of a vector that is shorter.
int64_t getPieceLanes(int64_t lanes, mlir::Type element);

/// The columns of a block whose rows `loadPiece` gives, vectors of
/// getPieceLanes() each: as many vectors of `lanes`, both powers of 2.
llvm::SmallVector<mlir::Value>
turnRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t lanes,
         int64_t pieceLanes,
         llvm::function_ref<mlir::Value(int64_t row)> loadPiece);

} // namespace gatefold

#endif // PASSES_CPU_TURN_H
