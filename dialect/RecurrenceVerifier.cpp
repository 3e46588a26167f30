// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceVerifier.cpp - What a recurrence must satisfy ------------===//
//
// Verifier of gf.recurrence: its operands, then what its region yields.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "dialect/SharedSizes.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// The leading dimensions and the number of steps, which all operands and
/// outputs share.
class SharedShape {
public:
  SharedShape(Operation *op, int64_t leadRank)
      : op(op), leadRank(leadRank), steps("the number of steps") {
    for (int64_t i = 0; i < leadRank; ++i)
      lead.emplace_back("leading dimension " + std::to_string(i));
  }

  /// The type begins with the leading dimensions.
  LogicalResult joinLead(RankedTensorType type, const Twine &owner) {
    if (type.getRank() < leadRank)
      return op->emitOpError() << owner << " needs " << leadRank
                               << " leading dimensions, found " << type;
    for (int64_t i = 0; i < leadRank; ++i)
      if (failed(lead[i].join(op, type.getDimSize(i), owner)))
        return failure();
    return success();
  }

  /// The type begins with the leading dimensions and time.
  LogicalResult joinLeadAndTime(RankedTensorType type, const Twine &owner) {
    if (type.getRank() <= leadRank)
      return op->emitOpError()
             << owner << " has no time axis " << leadRank << ": " << type;
    if (failed(joinLead(type, owner)))
      return failure();
    return steps.join(op, type.getDimSize(leadRank), owner);
  }

  /// The first leading dimension alone.
  LogicalResult joinFirst(int64_t size, const Twine &owner) {
    return lead.front().join(op, size, owner);
  }

private:
  Operation *op;
  int64_t leadRank;
  SmallVector<SharedSize> lead;
  SharedSize steps;
};
} // namespace

/// The value of one step agrees with a sequence, output or state.
static LogicalResult verifyStep(RecurrenceOp op, Type found,
                                RankedTensorType whole, bool hasTime,
                                const Twine &owner) {
  SmallVector<int64_t> shape(whole.getShape());
  if (hasTime)
    shape.erase(shape.begin() + op.getTimeAxisAttr().getInt());
  auto step = dyn_cast<RankedTensorType>(found);
  if (step && step.getElementType() == whole.getElementType() &&
      agree(step.getShape(), shape))
    return success();
  return op.emitOpError() << owner << " needs type "
                          << RankedTensorType::get(shape,
                                                   whole.getElementType())
                          << ", found " << found;
}

LogicalResult RecurrenceOp::verify() {
  int64_t timeAxis = getTimeAxisAttr().getInt();
  // A rank is at most that of some operand: no axis beyond any sensible rank.
  constexpr int64_t maximalRank = 64;
  if (timeAxis < 0 || timeAxis >= maximalRank)
    return emitOpError("needs a time axis from 0 to ")
           << maximalRank - 1 << ", found " << timeAxis;
  if (getSequences().empty() && !getSteps())
    return emitOpError("needs a sequence or a number of steps");
  if (!getSequences().empty() && getSteps())
    return emitOpError("has a number of steps beside its sequences");
  if (getNumResults() < getInitials().size())
    return emitOpError("has ") << getInitials().size() << " states, but "
                               << getNumResults() << " results";
  if (!getResets() && !getResetStates().empty())
    return emitOpError("has reset states without resets");
  if (getResets() && getResetStates().size() != getInitials().size())
    return emitOpError("has ")
           << getResetStates().size() << " reset states for "
           << getInitials().size() << " states";

  SharedShape shape(*this, timeAxis);
  for (auto [index, value] : llvm::enumerate(getSequences()))
    if (failed(shape.joinLeadAndTime(tensorType(value),
                                     "sequence #" + Twine(index))))
      return failure();
  for (auto [index, value] : llvm::enumerate(getInitials()))
    if (failed(shape.joinLead(tensorType(value), "state #" + Twine(index))))
      return failure();
  for (unsigned i = 0, e = getNumOutputs(); i < e; ++i)
    if (failed(shape.joinLeadAndTime(
            cast<RankedTensorType>(getResult(i).getType()),
            "output #" + Twine(i))))
      return failure();
  if (Value resets = getResets()) {
    if (tensorType(resets).getRank() != timeAxis + 1)
      return emitOpError("'resets' needs the leading dimensions and time, ")
             << timeAxis + 1 << " dimensions, found " << resets.getType();
    if (failed(shape.joinLeadAndTime(tensorType(resets), "'resets'")))
      return failure();
  }
  if (Value lengths = getLengths()) {
    // One length for each index of the first leading dimension.
    int64_t rank = timeAxis == 0 ? 0 : 1;
    RankedTensorType type = tensorType(lengths);
    if (type.getRank() != rank)
      return emitOpError("'lengths' needs rank ")
             << rank << ", one for each index of the first leading dimension, "
             << "found " << type;
    if (rank == 1 && failed(shape.joinFirst(type.getDimSize(0), "'lengths'")))
      return failure();
  }

  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(getFinals(), getInitials()))) {
    auto [final, initial] = pair;
    if (final.getType() != initial.getType())
      return emitOpError("final state #")
             << index << " needs the type of its initial state, "
             << initial.getType() << ", found " << final.getType();
  }
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(getResetStates(), getInitials())))
    if (failed(verifyStep(*this, std::get<0>(pair).getType(),
                          tensorType(std::get<1>(pair)), /*hasTime=*/false,
                          "reset state #" + Twine(index))))
      return failure();

  unsigned needed = getSequences().size() + getInitials().size();
  if (getBody().getNumArguments() != needed)
    return emitOpError("the region needs one argument for each sequence and "
                       "state, ")
           << needed << ", found " << getBody().getNumArguments();
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(getStepArguments(), getSequences())))
    if (failed(verifyStep(*this, std::get<0>(pair).getType(),
                          tensorType(std::get<1>(pair)), /*hasTime=*/true,
                          "the step of sequence #" + Twine(index))))
      return failure();
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip(getStateArguments(), getInitials())))
    if (failed(verifyStep(*this, std::get<0>(pair).getType(),
                          tensorType(std::get<1>(pair)), /*hasTime=*/false,
                          "the argument of state #" + Twine(index))))
      return failure();
  return success();
}

LogicalResult RecurrenceOp::verifyRegions() {
  OperandRange values = getYield().getValues();
  if (values.size() != getNumResults())
    return emitOpError("yields ")
           << values.size() << " values for " << getNumOutputs()
           << " outputs and " << getInitials().size() << " states";
  for (auto [index, value] : llvm::enumerate(values)) {
    bool isOutput = index < getNumOutputs();
    auto whole = cast<RankedTensorType>(getResult(index).getType());
    std::string owner =
        isOutput
            ? "the step of output #" + std::to_string(index)
            : "the next of state #" + std::to_string(index - getNumOutputs());
    if (failed(verifyStep(*this, value.getType(), whole, isOutput, owner)))
      return failure();
  }
  return success();
}
