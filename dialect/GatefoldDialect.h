// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldDialect.h - The gf dialect -----------------------*- C++ -*-===//
//
// The dialect class, its enumerations, and the names of the discardable
// attributes of a program's entry. GatefoldOps.h gives the operations too.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_GATEFOLDDIALECT_H
#define DIALECT_GATEFOLDDIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/GatefoldEnums.h.inc"

#include "dialect/GatefoldDialect.h.inc"

namespace gatefold {

/// Discardable attributes of an entry and of its arguments and results. What
/// each one means stands in the description of the dialect.
namespace attribute_names {
inline constexpr llvm::StringLiteral entry = "gf.entry";
inline constexpr llvm::StringLiteral dimensions = "gf.dimensions";
inline constexpr llvm::StringLiteral equal = "gf.equal";
inline constexpr llvm::StringLiteral equalMessages = "gf.equal_messages";
inline constexpr llvm::StringLiteral name = "gf.name";
inline constexpr llvm::StringLiteral shape = "gf.shape";
inline constexpr llvm::StringLiteral below = "gf.below";
inline constexpr llvm::StringLiteral atMost = "gf.at_most";
inline constexpr llvm::StringLiteral state = "gf.state";
inline constexpr llvm::StringLiteral initial = "gf.initial";
inline constexpr llvm::StringLiteral parameter = "gf.parameter";
} // namespace attribute_names

} // namespace gatefold

#endif // DIALECT_GATEFOLDDIALECT_H
