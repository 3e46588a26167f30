// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SplitProduct.h - Products of concatenations, in parts ---*- C++ -*-===//
//
// Splits a product at the seams of a concatenation: W [x; h] is W_x x + W_h h.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_SPLITPRODUCT_H
#define PASSES_FUSE_SPLITPRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/fuse/StepConditions.h"

namespace gatefold {

/// Splits the products of a step that sum over a concatenation of which a part
/// is known before the steps, and another is not. What is the same at each step
/// moves before the recurrence at once. Says how many it has split.
unsigned splitProducts(mlir::RewriterBase &rewriter, RecurrenceOp recurrence,
                       IsKnown isKnown);

/// `[512, 300] x [?, 300]`: the operands of a product, for remarks.
std::string describeProduct(mlir::linalg::LinalgOp product);

} // namespace gatefold

#endif // PASSES_FUSE_SPLITPRODUCT_H
