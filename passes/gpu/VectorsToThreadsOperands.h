// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsOperands.h - Operands of products --------*- C++ -*-===//
//
// Operands of mma.sync, from shared memory, from any memory, or from values
// that threads have. All have one form, squares of 16 x 16 elements, so that
// the product does not care where they come from.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_VECTORSTOTHREADSOPERANDS_H
#define PASSES_GPU_VECTORSTOTHREADSOPERANDS_H

#include "passes/gpu/VectorsToThreads.h"
#include <array>
#include <memory>

namespace gatefold {

/// Two elements of an operand that are neighbours along k: in one register if
/// they have 16 bits and come from shared memory.
struct OperandPair {
  mlir::Value packed;
  mlir::Value first, second;
};

/// What a thread has of 16 rows of A, or columns of B, and 16 of k: pairs along
/// k at twice the place in the quad, then 8 behind it. A's order is (row g,
/// k), (g + 8, k), (g, k + 8), (g + 8, k + 8); that of B, whose two halves are
/// of one instruction each, (column g, k), (g, k + 8), (g + 8, k), (g + 8,
/// k + 8).
using OperandSquare = llvm::SmallVector<OperandPair, 4>;

/// Which operand, as the product of [M, K] and [N, K] or [K, N] has it.
enum class OperandRole { Left, RightRows, RightColumns };

/// Loads squares of an operand.
class OperandLoader {
public:
  virtual ~OperandLoader();
  /// The square number `outer` along the rows of A or the columns of B, number
  /// `k` along k. Of B the first half alone if `isHalf`.
  virtual OperandSquare load(mlir::OpBuilder &builder, mlir::Location loc,
                             int64_t outer, int64_t k, bool isHalf) = 0;
};

/// From memory: with ldmatrix or words from a tile in shared memory, element by
/// element from all other.
std::shared_ptr<OperandLoader>
makeMemoryLoader(mlir::OpBuilder &builder, mlir::Location loc,
                 const VectorFunction &function, OperandRole role,
                 mlir::vector::TransferReadOp read, mlir::Value memory,
                 mlir::ValueRange indices);

/// Loads all squares now, for products that come later: `outer` rows or
/// columns, `squaresOfK` squares along k.
std::shared_ptr<OperandLoader>
makeKeptLoader(mlir::OpBuilder &builder, mlir::Location loc,
               OperandLoader &loader, int64_t outer, int64_t squaresOfK);

/// Of a left operand that the threads have computed.
std::shared_ptr<OperandLoader> makeValuesLoader(const VectorLayout &layout,
                                                mlir::ValueRange values);

} // namespace gatefold

#endif // PASSES_GPU_VECTORSTOTHREADSOPERANDS_H
