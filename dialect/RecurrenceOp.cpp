// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceOp.cpp - A step applied over time ------------------------===//
//
// Builder, accessors and assembly of gf.recurrence.
//
//===----------------------------------------------------------------------===//

#include "dialect/AssemblyClauses.h"
#include "dialect/GatefoldOps.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// Builder and accessors
//===----------------------------------------------------------------------===//

/// The type of one step of a sequence: without its time axis.
static RankedTensorType stepType(Type sequence, int64_t timeAxis) {
  auto type = cast<RankedTensorType>(sequence);
  SmallVector<int64_t> shape(type.getShape());
  assert(timeAxis >= 0 && timeAxis < type.getRank() && "no such time axis");
  shape.erase(shape.begin() + timeAxis);
  return RankedTensorType::get(shape, type.getElementType());
}

void RecurrenceOp::build(
    OpBuilder &builder, OperationState &state, TypeRange outputTypes,
    ValueRange sequences, ValueRange initials, Value lengths, Value resets,
    ValueRange resetStates, Value steps, int64_t timeAxis, bool reverse,
    function_ref<void(OpBuilder &, Location, ValueRange, ValueRange)> body) {
  state.addOperands(sequences);
  state.addOperands(initials);
  for (Value optional : {lengths, resets})
    if (optional)
      state.addOperands(optional);
  state.addOperands(resetStates);
  if (steps)
    state.addOperands(steps);
  state.addTypes(outputTypes);
  state.addTypes(TypeRange(initials));

  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(sequences.size()),
                                    static_cast<int32_t>(initials.size()),
                                    lengths ? 1 : 0,
                                    resets ? 1 : 0,
                                    static_cast<int32_t>(resetStates.size()),
                                    steps ? 1 : 0};
  properties.time_axis = builder.getI64IntegerAttr(timeAxis);
  if (reverse)
    properties.reverse = builder.getUnitAttr();

  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Value sequence : sequences)
    block->addArgument(stepType(sequence.getType(), timeAxis), state.location);
  for (Value initial : initials)
    block->addArgument(initial.getType(), state.location);
  if (body)
    body(builder, state.location,
         block->getArguments().take_front(sequences.size()),
         block->getArguments().drop_front(sequences.size()));
}

YieldOp RecurrenceOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

void RecurrenceOp::getAsmBlockArgumentNames(Region &region,
                                            OpAsmSetValueNameFn setName) {
  for (auto [index, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, index < getSequences().size() ? "step" : "state");
}

void RecurrenceOp::getAsmBlockNames(OpAsmSetBlockNameFn setName) {
  if (!getBody().empty())
    setName(&getBody().front(), "step");
}

// The step runs many times: code that depends on nothing of it can move out.
SmallVector<Region *> RecurrenceOp::getLoopRegions() { return {&getBody()}; }

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult RecurrenceOp::parse(OpAsmParser &parser, OperationState &result) {
  ClauseParser clauses(parser, result);
  Properties &properties = result.getOrAddProperties<Properties>();
  Builder &builder = parser.getBuilder();
  SmallVector<Type> initialTypes;
  if (clauses.parseValues("sequences") ||
      clauses.parseValues("states", &initialTypes) ||
      clauses.parseValue("lengths") || clauses.parseValue("resets") ||
      clauses.parseValues("reset_states") ||
      clauses.parseValue("steps", builder.getIndexType()))
    return failure();
  llvm::copy(clauses.getSegmentSizes(), properties.operandSegmentSizes.begin());

  int64_t timeAxis;
  if (parser.parseKeyword("time_axis") || parser.parseInteger(timeAxis))
    return failure();
  properties.time_axis = builder.getI64IntegerAttr(timeAxis);
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    properties.reverse = builder.getUnitAttr();

  SmallVector<Type> outputTypes;
  Region *body = result.addRegion();
  if (clauses.parseAttributes(getAttributeNames()) ||
      parser.parseOptionalArrowTypeList(outputTypes) ||
      parser.parseRegion(*body))
    return failure();
  ensureTerminator(*body, builder, result.location);
  result.addTypes(outputTypes);
  result.addTypes(initialTypes);
  return success();
}

void RecurrenceOp::print(OpAsmPrinter &printer) {
  printClause(printer, "sequences", getSequences());
  printClause(printer, "states", getInitials());
  printClause(printer, "lengths", getLengths());
  printClause(printer, "resets", getResets());
  printClause(printer, "reset_states", getResetStates());
  if (Value steps = getSteps())
    printer << " steps(" << steps << ")";
  printer << " time_axis " << getTimeAxisAttr().getInt();
  if (getReverse())
    printer << " reverse";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           getAttributeNames());
  if (getNumOutputs() != 0)
    printer << " -> ("
            << TypeRange(getResultTypes()).take_front(getNumOutputs()) << ")";
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/true);
}
