// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsSquares.h - Squares of products ----------*- C++ -*-===//
//
// What a product of a thread block is made of: products of a square of A with
// half a square of B by instructions of tensor cores.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_GPU_VECTORSTOTHREADSSQUARES_H
#define PASSES_GPU_VECTORSTOTHREADSSQUARES_H

#include "passes/gpu/VectorsToThreadsOperands.h"

namespace gatefold {

/// An f32 as one or two numbers of tf32, in i32; or a pair of 16 bits.
struct SplitFloat {
  mlir::Value high;
  /// Null if it is 0 or left out.
  mlir::Value low;
};

/// An operand of a product while it is lowered.
struct ProductOperand {
  std::shared_ptr<OperandLoader> loader;
  /// Type of the elements that are loaded.
  mlir::Type element;
  /// Whether they have no more bits than a tf32.
  bool isExact;
};

using Accumulators = std::array<mlir::Value, 4>;

/// Adds the products of two squares to accumulators.
class SquareProduct {
public:
  SquareProduct(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::Type element, const ProductOperand &left,
                const ProductOperand &right, bool isShort)
      : builder(builder), loc(loc), element(element), left(left), right(right),
        isShort(isShort) {}

  /// Registers of an operand: of each the high and the low part in tf32.
  using Registers = llvm::SmallVector<SplitFloat>;
  Registers getLeft(const OperandSquare &square) {
    return getRegisters(square, left, /*isLeft=*/true);
  }
  Registers getRight(llvm::ArrayRef<OperandPair> half) {
    return getRegisters(half, right, /*isLeft=*/false);
  }
  void add(Accumulators &sums, const Registers &a, const Registers &b);

private:
  Registers getRegisters(llvm::ArrayRef<OperandPair> pairs,
                         const ProductOperand &operand, bool isLeft);
  void multiply(Accumulators &sums, llvm::ArrayRef<mlir::Value> a,
                llvm::ArrayRef<mlir::Value> b);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
  const ProductOperand &left, &right;
  bool isShort;
};

} // namespace gatefold

#endif // PASSES_GPU_VECTORSTOTHREADSSQUARES_H
