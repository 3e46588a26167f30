// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Extension.h - Conversions between float types ------------*- C++ -*-===//
//
// Of numbers and of whole tensors, and how an extension moves to its readers.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SIMPLIFY_EXTENSION_H
#define PASSES_SIMPLIFY_EXTENSION_H

#include "mlir/IR/Builders.h"

namespace gatefold {

/// The type of `type`'s shape with another element.
mlir::Type withElement(mlir::Type type, mlir::Type element);

/// `value`, a number or a tensor, with another float element.
mlir::Value convertElement(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type element);

/// Moves `extended`, the extension of the tensor `narrow`, towards its readers,
/// into those that can extend themselves what they read. Erases it where nobody
/// reads it any more.
void sinkExtension(mlir::OpBuilder &builder, mlir::Value extended,
                   mlir::Value narrow);

} // namespace gatefold

#endif // PASSES_SIMPLIFY_EXTENSION_H
