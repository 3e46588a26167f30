// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParameterOp.cpp - A named weight -----------------------------------===//
//
// Verifier of gf.parameter.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"

using namespace mlir;
using namespace gatefold;

LogicalResult ParameterOp::verify() {
  if (getName().empty())
    return emitOpError("needs a name");
  if (!getType().hasStaticShape())
    return emitOpError("needs a static shape, found ") << getType();
  return success();
}
