// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenSoftmax.h - A softmax written out on tensors ------*- C++ -*-===//

#ifndef PASSES_FUSE_WRITTENSOFTMAX_H
#define PASSES_FUSE_WRITTENSOFTMAX_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace gatefold {

/// A softmax written out in four operations, along one axis.
struct WrittenSoftmax {
  mlir::linalg::GenericOp largest, powers, sum, weights;
  int64_t axis = 0;

  mlir::Value getScores() { return powers.getInputs()[0]; }
};

/// The softmax whose weights the value is, if any.
std::optional<WrittenSoftmax> matchSoftmax(mlir::Value weights);

/// Whether the value is a fill with the number.
bool isFilled(mlir::Value value, double number);

} // namespace gatefold

#endif // PASSES_FUSE_WRITTENSOFTMAX_H
