// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Parts.h - Functions that are parts of a run --------------*- C++ -*-===//
//
// What a pass changes in an entry it changes in the functions of parts of it,
// too, as far as they need it.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_PARTS_H
#define PASSES_SUPPORT_PARTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gatefold {

/// Names of functions.
using Parts = llvm::DenseSet<mlir::StringAttr>;

/// `known`, and the functions of `scope`, a module, that have an operation of
/// which `isOne` holds. It is asked until it finds no more, so that it can say
/// so of a call of a function that was found.
Parts findParts(
    mlir::Operation *scope,
    llvm::function_ref<bool(mlir::Operation *, const Parts &)> isOne,
    Parts known = {});

} // namespace gatefold

#endif // PASSES_SUPPORT_PARTS_H
