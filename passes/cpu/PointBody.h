// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PointBody.h - The body of an operation at one point ------*- C++ -*-===//
//
// Scalar code for one point of a structured operation's loops.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_POINTBODY_H
#define PASSES_CPU_POINTBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace gatefold {

/// Writes the body of an operation on buffers for given indices of its loops.
class PointBody {
public:
  explicit PointBody(mlir::linalg::LinalgOp op);

  /// Whether a result stays at one place through all reductions, so that loops
  /// carry its value.
  bool isCarried(unsigned result) const { return carried[result]; }
  /// The outputs whose values loops carry, in order.
  llvm::ArrayRef<mlir::OpOperand *> getCarried() const { return outputs; }

  /// The indices of an operand's element.
  llvm::SmallVector<mlir::Value> placeOf(mlir::OpBuilder &builder,
                                         mlir::OpOperand &operand,
                                         mlir::ValueRange indices);
  /// Loads, computes, and stores the results that are not carried; takes and
  /// gives the values of those that are. Inputs may be loaded already.
  llvm::SmallVector<mlir::Value> make(mlir::OpBuilder &builder,
                                      mlir::ValueRange indices,
                                      mlir::ValueRange values,
                                      mlir::ValueRange inputs = {});

  /// Loads the inputs, as far as they are used, that are the same at each step
  /// of the reductions, or those that are not. Null for the others.
  llvm::SmallVector<mlir::Value>
  loadInputs(mlir::OpBuilder &builder, mlir::ValueRange indices, bool areSame);

private:
  mlir::Value load(mlir::OpBuilder &builder, mlir::OpOperand &operand,
                   mlir::ValueRange indices);

  mlir::linalg::LinalgOp op;
  mlir::Location loc;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<bool> carried;
  llvm::SmallVector<mlir::OpOperand *> outputs;
};

} // namespace gatefold

#endif // PASSES_CPU_POINTBODY_H
