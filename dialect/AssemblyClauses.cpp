// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblyClauses.cpp - Named operand groups in assembly -------------===//
//
// Parsing and printing of the clauses of a region operation.
//
//===----------------------------------------------------------------------===//

#include "dialect/AssemblyClauses.h"

using namespace mlir;
using namespace gatefold;

ParseResult ClauseParser::parseValues(StringRef name,
                                      SmallVectorImpl<Type> *types) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> operandTypes;
  if (succeeded(parser.parseOptionalKeyword(name))) {
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseOperandList(operands) ||
        parser.parseColonTypeList(operandTypes) || parser.parseRParen() ||
        parser.resolveOperands(operands, operandTypes, location,
                               state.operands))
      return failure();
  }
  segmentSizes.push_back(operands.size());
  if (types)
    types->append(operandTypes);
  return success();
}

ParseResult ClauseParser::parseValue(StringRef name, Type type) {
  if (failed(parser.parseOptionalKeyword(name))) {
    segmentSizes.push_back(0);
    return success();
  }
  OpAsmParser::UnresolvedOperand operand;
  if (parser.parseLParen() || parser.parseOperand(operand) ||
      (!type && parser.parseColonType(type)) || parser.parseRParen())
    return failure();
  segmentSizes.push_back(1);
  return parser.resolveOperand(operand, type, state.operands);
}

ParseResult ClauseParser::parseAttributes(ArrayRef<StringRef> spelledInHeader) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  for (StringRef name : spelledInHeader)
    if (state.attributes.get(name))
      return parser.emitError(location)
             << "'" << name << "' belongs in the header of the operation, not "
             << "in its attributes";
  return success();
}

void gatefold::printClause(OpAsmPrinter &printer, StringRef name,
                           ValueRange values) {
  if (!values.empty())
    printer << ' ' << name << '(' << values << " : " << values.getTypes()
            << ')';
}

void gatefold::printClause(OpAsmPrinter &printer, StringRef name, Value value) {
  if (value)
    printClause(printer, name, ValueRange(value));
}
