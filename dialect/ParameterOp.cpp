// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParameterOp.cpp - A named weight -----------------------------------===//
//
// Verifier of gf.parameter.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace gatefold;

LogicalResult ParameterOp::verify() {
  if (getName().empty())
    return emitOpError("needs a name");
  if (!getType().hasStaticShape())
    return emitOpError("needs a static shape, found ") << getType();
  // A weight is at most what a signed 64-bit number of bytes can count.
  int64_t bytes = 8;
  for (int64_t size : getType().getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return emitOpError("is too large: ") << getType();
  if (!getInitialAttr())
    return success();
  double initial = getInitialAttr().getValueAsDouble();
  auto integer = dyn_cast<IntegerType>(getType().getElementType());
  if (!integer)
    return success();
  // Half of the range as a power of two, exact in f64; NaN fits nowhere.
  double bound =
      integer.getWidth() == 1 ? 2.0 : std::ldexp(1.0, integer.getWidth() - 1);
  double lowest = integer.getWidth() == 1 ? 0.0 : -bound;
  if (initial >= lowest && initial < bound && std::trunc(initial) == initial)
    return success();
  return emitOpError("the initial value ")
         << initial << " is not a value of " << integer;
}
