// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParameterValues.h - What depends on parameters alone -----*- C++ -*-===//

#ifndef PASSES_SUPPORT_PARAMETERVALUES_H
#define PASSES_SUPPORT_PARAMETERVALUES_H

#include "mlir/IR/Value.h"

namespace gatefold {

/// Whether a value is computed from parameters and constants alone, so that it
/// is the same in every run and may be computed in `prepare`.
bool dependsOnParametersOnly(mlir::Value value);

} // namespace gatefold

#endif // PASSES_SUPPORT_PARAMETERVALUES_H
