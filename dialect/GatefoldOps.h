// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldOps.h - Operations of the gf dialect -------------*- C++ -*-===//
//
// Everything of the dialect: include this one.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_GATEFOLDOPS_H
#define DIALECT_GATEFOLDOPS_H

#include "dialect/GatefoldDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialect/GatefoldOps.h.inc"

#endif // DIALECT_GATEFOLDOPS_H
