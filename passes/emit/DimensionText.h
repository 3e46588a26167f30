// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DimensionText.h - A size as a program writes it ----------*- C++ -*-===//
//
// Text of a size in terms of the open dimensions' names.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_DIMENSIONTEXT_H
#define PASSES_EMIT_DIMENSIONTEXT_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace gatefold {

/// "B", "2*T + 1", "40", "T // 2".
std::string dimensionText(mlir::AffineExpr size,
                          llvm::ArrayRef<std::string> dimensions);

} // namespace gatefold

#endif // PASSES_EMIT_DIMENSIONTEXT_H
