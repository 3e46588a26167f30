// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblyClauses.h - Named operand groups in assembly -----*- C++ -*-===//
//
// The header of a region operation is a line of clauses, `name(%a, %b :
// types)`, each left out where it is empty. Internal to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECT_ASSEMBLYCLAUSES_H
#define DIALECT_ASSEMBLYCLAUSES_H

#include "mlir/IR/OpImplementation.h"

namespace gatefold {

/// Parses clauses in order, resolves their operands into an operation state,
/// and counts the operands of each clause.
class ClauseParser {
public:
  ClauseParser(mlir::OpAsmParser &parser, mlir::OperationState &state)
      : parser(parser), state(state) {}

  /// `name(%a, %b : type, type)`, or nothing. The types are added to `types`.
  mlir::ParseResult
  parseValues(llvm::StringRef name,
              llvm::SmallVectorImpl<mlir::Type> *types = nullptr);

  /// `name(%a : type)`, or `name(%a)` where the type is given, or nothing.
  mlir::ParseResult parseValue(llvm::StringRef name, mlir::Type type = {});

  /// `attributes {...}`, which may not hold what the header spells.
  mlir::ParseResult
  parseAttributes(llvm::ArrayRef<llvm::StringRef> spelledInHeader);

  /// Number of operands of each clause so far.
  llvm::ArrayRef<int32_t> getSegmentSizes() const { return segmentSizes; }

private:
  mlir::OpAsmParser &parser;
  mlir::OperationState &state;
  llvm::SmallVector<int32_t> segmentSizes;
};

/// Prints ` name(%a, %b : type, type)`, or nothing where there are no values.
void printClause(mlir::OpAsmPrinter &printer, llvm::StringRef name,
                 mlir::ValueRange values);

/// Prints ` name(%a : type)`, or nothing for a null value.
void printClause(mlir::OpAsmPrinter &printer, llvm::StringRef name,
                 mlir::Value value);

} // namespace gatefold

#endif // DIALECT_ASSEMBLYCLAUSES_H
