// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Outline.h - Operations as functions ----------------------*- C++ -*-===//
//
// Moves an operation into a function, an equal one into the same.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_OUTLINE_H
#define PASSES_CPU_OUTLINE_H

#include "passes/PassCommon.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {

/// A function, not yet in a module, that does what an operation does.
struct OutlinedOperation {
  mlir::Operation *op;
  mlir::func::FuncOp function;
  /// What it takes from around it that is not a constant.
  llvm::SetVector<mlir::Value> arguments;
  size_t hash;

  OutlinedOperation(mlir::Operation *op, llvm::StringRef name);
  /// Whether the function of the other does for this one, too.
  bool isEqual(const OutlinedOperation &other) const;
  /// A call in place of the operation.
  void replaceByCall(mlir::func::FuncOp callee);
};

} // namespace gatefold

#endif // PASSES_CPU_OUTLINE_H
