// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldDialect.cpp - Registration of the gf dialect ---------------===//
//
// The dialect and what it registers. Each operation has its own file.
//
//===----------------------------------------------------------------------===//

#include "dialect/BytecodeInterface.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

#include "dialect/GatefoldDialect.cpp.inc"
#include "dialect/GatefoldEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/GatefoldOps.cpp.inc"

void GfDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/GatefoldOps.cpp.inc"
      >();
  addBytecodeInterface(this);
}
