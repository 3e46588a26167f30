// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KeyColumns.h - Columns of keys as an operand -------------*- C++ -*-===//

#ifndef PASSES_FUSE_KEYCOLUMNS_H
#define PASSES_FUSE_KEYCOLUMNS_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// Makes columns that the region takes of each key an operand of their own, so
/// that the region has whole keys, of which a block may pass at a time. False
/// if the slice is of no keys, or is not known to be of all.
bool takeKeyColumns(AttentionOp op, mlir::tensor::ExtractSliceOp slice,
                    mlir::RewriterBase &rewriter);

} // namespace gatefold

#endif // PASSES_FUSE_KEYCOLUMNS_H
