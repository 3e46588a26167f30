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
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace gatefold;

#include "dialect/GatefoldDialect.cpp.inc"
#include "dialect/GatefoldEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/GatefoldOps.cpp.inc"

namespace {
/// Every operation may move into another function, and into every region.
struct GfInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void GfDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/GatefoldOps.cpp.inc"
      >();
  addInterfaces<GfInlinerInterface>();
  addBytecodeInterface(this);
}
