// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionOp.cpp - A program for one query's row --------------------===//
//
// Builder, accessors and assembly of gf.attention.
//
//===----------------------------------------------------------------------===//

#include "dialect/AssemblyClauses.h"
#include "dialect/GatefoldOps.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// Builder and accessors
//===----------------------------------------------------------------------===//

void AttentionOp::build(
    OpBuilder &builder, OperationState &state, TypeRange resultTypes,
    ValueRange queries, ValueRange keys, ValueRange pairs, ValueRange captures,
    TypeRange bodyTypes,
    function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addOperands(queries);
  state.addOperands(keys);
  state.addOperands(pairs);
  state.addOperands(captures);
  assert(bodyTypes.size() == state.operands.size() &&
         "one body type for each query, key, pair and capture");
  state.addTypes(resultTypes);

  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(queries.size()),
                                    static_cast<int32_t>(keys.size()),
                                    static_cast<int32_t>(pairs.size()),
                                    static_cast<int32_t>(captures.size()),
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};

  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Type type : bodyTypes)
    block->addArgument(type, state.location);
  // The query's index, and the key position at which it stands.
  for (int i = 0; i < 2; ++i)
    block->addArgument(builder.getIndexType(), state.location);
  if (body)
    body(builder, state.location, block->getArguments());
}

unsigned AttentionOp::getLeadRank() {
  auto rank = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getRank();
  };
  // A result is the row that is yielded, with the leading dimensions and the
  // queries before it.
  return rank(getResult(0)) - 1 - rank(getYield().getValues().front());
}

std::optional<int64_t> AttentionOp::getLeadAxis(unsigned operand,
                                                int64_t dimension) {
  auto type = cast<RankedTensorType>(getOperand(operand).getType());
  auto seen = cast<RankedTensorType>(getBody().getArgument(operand).getType());
  // Of a query and a pair, the region does not see the dimension of the
  // queries.
  unsigned keys = getQueries().size(), pairs = keys + getKeys().size(),
           captures = pairs + getPairs().size();
  bool hasQueries = operand < keys || (operand >= pairs && operand < captures);
  int64_t operandLead = type.getRank() - seen.getRank() - (hasQueries ? 1 : 0);
  int64_t axis = dimension - (getLeadRank() - operandLead);
  if (axis < 0 || type.getDimSize(axis) == 1)
    return std::nullopt;
  return axis;
}

YieldOp AttentionOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

Block::BlockArgListType AttentionOp::getQueryArguments() {
  return getBody().getArguments().take_front(getQueries().size());
}
Block::BlockArgListType AttentionOp::getKeyArguments() {
  return getBody().getArguments().slice(getQueries().size(), getKeys().size());
}
Block::BlockArgListType AttentionOp::getPairArguments() {
  return getBody().getArguments().slice(getQueries().size() + getKeys().size(),
                                        getPairs().size());
}
Block::BlockArgListType AttentionOp::getCaptureArguments() {
  return getBody().getArguments().slice(getQueries().size() + getKeys().size() +
                                            getPairs().size(),
                                        getCaptures().size());
}
Value AttentionOp::getRowArgument() {
  return getBody().getArguments().take_back(2).front();
}
Value AttentionOp::getPositionArgument() {
  return getBody().getArguments().back();
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  // The region may be of any form here: an invalid operation is printed too.
  SmallVector<StringRef> names;
  names.append(getQueries().size(), "query");
  names.append(getKeys().size(), "key");
  names.append(getPairs().size(), "pair");
  names.append(getCaptures().size(), "capture");
  names.append({"row", "position"});
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

void AttentionOp::getAsmBlockNames(OpAsmSetBlockNameFn setName) {
  if (!getBody().empty())
    setName(&getBody().front(), "row");
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  ClauseParser clauses(parser, result);
  Properties &properties = result.getOrAddProperties<Properties>();
  Builder &builder = parser.getBuilder();
  for (StringRef name : {"queries", "keys", "pairs", "captures"})
    if (clauses.parseValues(name))
      return failure();
  for (StringRef name :
       {"lengths", "mask", "bias", "offset", "query_segments", "key_segments"})
    if (clauses.parseValue(name))
      return failure();
  llvm::copy(clauses.getSegmentSizes(), properties.operandSegmentSizes.begin());

  if (succeeded(parser.parseOptionalKeyword("causal")))
    properties.causal = builder.getUnitAttr();
  if (succeeded(parser.parseOptionalKeyword("window"))) {
    int64_t left, right;
    if (parser.parseLParen() || parser.parseInteger(left) ||
        parser.parseComma() || parser.parseInteger(right) ||
        parser.parseRParen())
      return failure();
    properties.window = builder.getDenseI64ArrayAttr({left, right});
  }

  Region *body = result.addRegion();
  if (clauses.parseAttributes(getAttributeNames()) ||
      parser.parseOptionalArrowTypeList(result.types) ||
      parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, builder, result.location);
  return success();
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printClause(printer, "queries", getQueries());
  printClause(printer, "keys", getKeys());
  printClause(printer, "pairs", getPairs());
  printClause(printer, "captures", getCaptures());
  printClause(printer, "lengths", getLengths());
  printClause(printer, "mask", getMask());
  printClause(printer, "bias", getBias());
  printClause(printer, "offset", getOffset());
  printClause(printer, "query_segments", getQuerySegments());
  printClause(printer, "key_segments", getKeySegments());
  if (getCausal())
    printer << " causal";
  if (std::optional<ArrayRef<int64_t>> window = getWindow()) {
    printer << " window(";
    llvm::interleaveComma(*window, printer);
    printer << ')';
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           getAttributeNames());
  printer.printOptionalArrowTypeList(getResultTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true);
}
