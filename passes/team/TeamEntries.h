// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TeamEntries.h - What a team of ranks executes ------------*- C++ -*-===//

#ifndef PASSES_TEAM_TEAMENTRIES_H
#define PASSES_TEAM_TEAMENTRIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace gatefold {

/// The run; before it `prepare`, if there is one and the target is a GPU, whose
/// single block would take long to pack all weights. A CPU's is called with
/// one thread. A diagnostic where there is no run.
llvm::FailureOr<llvm::SmallVector<mlir::func::FuncOp, 2>>
findTeamEntries(mlir::ModuleOp module);

} // namespace gatefold

#endif // PASSES_TEAM_TEAMENTRIES_H
