// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TeamEntries.cpp - What a team of ranks executes --------------------===//

#include "passes/team/TeamEntries.h"
#include "passes/support/Entry.h"
#include "passes/support/Target.h"

using namespace mlir;
using namespace gatefold;

FailureOr<SmallVector<func::FuncOp, 2>>
gatefold::findTeamEntries(ModuleOp module) {
  FailureOr<func::FuncOp> run = findRun(module);
  if (failed(run))
    return failure();
  SmallVector<func::FuncOp, 2> entries;
  auto prepare = module.lookupSymbol<func::FuncOp>(prepareFunction);
  if (prepare && TargetDescription::fromModule(module).isGpu())
    entries.push_back(prepare);
  entries.push_back(*run);
  return entries;
}
