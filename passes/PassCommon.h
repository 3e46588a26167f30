// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PassCommon.h - What passes include -----------------------*- C++ -*-===//
//
// The dialects that passes build, and the pass infrastructure.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_PASSCOMMON_H
#define PASSES_PASSCOMMON_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

#endif // PASSES_PASSCOMMON_H
