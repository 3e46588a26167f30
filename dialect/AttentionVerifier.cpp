// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionVerifier.cpp - What an attention must satisfy -------------===//
//
// Verifier of gf.attention. The number of leading dimensions follows from what
// the region yields, so that operands are compared after the region.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "dialect/SharedSizes.h"

using namespace mlir;
using namespace gatefold;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult AttentionOp::verify() {
  if (getQueries().empty() || getKeys().empty())
    return emitOpError("needs at least one query and one key");
  if (getNumResults() == 0)
    return emitOpError("needs at least one result");
  if (std::optional<ArrayRef<int64_t>> window = getWindow()) {
    if (window->size() != 2)
      return emitOpError("'window' needs two bounds, left and right, found ")
             << window->size();
    for (int64_t bound : *window)
      if (bound < -1)
        return emitOpError("a bound of 'window' is at least 0, or -1 for none, "
                           "found ")
               << bound;
  }
  if (!getQuerySegments() != !getKeySegments())
    return emitOpError("needs both 'query_segments' and 'key_segments', or "
                       "neither");

  unsigned operands = getQueries().size() + getKeys().size() +
                      getPairs().size() + getCaptures().size();
  if (getBody().getNumArguments() != operands + 2)
    return emitOpError("the region needs one argument for each query, key, "
                       "pair and capture, then row and position, ")
           << operands + 2 << ", found " << getBody().getNumArguments();
  for (auto [index, argument] : llvm::enumerate(getBody().getArguments())) {
    bool isIndex = index >= operands;
    if (isIndex && !argument.getType().isIndex())
      return emitOpError("the region's last arguments, row and position, need "
                         "type index, found ")
             << argument.getType();
    if (!isIndex && !isa<RankedTensorType>(argument.getType()))
      return emitOpError("argument #")
             << index << " of the region needs a ranked tensor, found "
             << argument.getType();
  }
  for (auto [index, argument] : llvm::enumerate(getKeyArguments()))
    if (tensorType(argument).getRank() == 0)
      return emitOpError("the argument of key #")
             << index << " needs the keys as its first dimension, found "
             << argument.getType();
  for (auto [index, argument] : llvm::enumerate(getPairArguments()))
    if (tensorType(argument).getRank() != 1)
      return emitOpError("the argument of pair #")
             << index << " needs one element for each key, rank 1, found "
             << argument.getType();
  return success();
}

namespace {
/// Compares operands with the shape of the results.
class OperandVerifier {
public:
  OperandVerifier(AttentionOp op, int64_t leadRank)
      : op(op), leadRank(leadRank), queryCount("the number of queries"),
        keyCount("the number of keys") {
    for (int64_t i = 0; i < leadRank; ++i)
      lead.emplace_back("leading dimension " + std::to_string(i));
  }

  /// `[lead.., T, rest..]`, of which the region yields `[rest..]`.
  LogicalResult verifyResult(unsigned index) {
    std::string owner = "result #" + std::to_string(index);
    RankedTensorType type = tensorType(op.getResult(index));
    auto row =
        dyn_cast<RankedTensorType>(op.getYield().getValues()[index].getType());
    if (!row)
      return op.emitOpError()
             << "the row of " << owner << " needs a ranked tensor, found "
             << op.getYield().getValues()[index].getType();
    if (type.getRank() != leadRank + 1 + row.getRank())
      return op.emitOpError() << owner << " needs " << leadRank
                              << " leading dimensions, the queries and the row "
                              << row << ", found " << type;
    for (int64_t i = 0; i < leadRank; ++i)
      if (failed(lead[i].join(op, type.getDimSize(i), owner)))
        return failure();
    if (failed(queryCount.join(op, type.getDimSize(leadRank), owner)))
      return failure();
    return verifyRest(type, row, leadRank + 1, owner);
  }

  /// `[lead.., middle.., rest..]`, of which the region sees `argument`;
  /// `argumentStart` of the argument's dimensions are compared elsewhere.
  FailureOr<int64_t> verifyOperand(Value value, Value argument,
                                   int64_t middleRank, int64_t argumentStart,
                                   const std::string &owner) {
    RankedTensorType type = tensorType(value), seen = tensorType(argument);
    int64_t operandLead =
        type.getRank() - middleRank - (seen.getRank() - argumentStart);
    if (operandLead < 0 || operandLead > leadRank)
      return op.emitOpError()
             << owner << " of type " << type << " has " << operandLead
             << " leading dimensions by its argument " << seen
             << ", the results have " << leadRank;
    if (failed(verifyLead(type.getShape().take_front(operandLead), owner)) ||
        failed(verifyRest(type, seen, operandLead + middleRank, owner,
                          argumentStart)))
      return failure();
    return operandLead;
  }

  LogicalResult verifyQuery(unsigned index) {
    std::string owner = "query #" + std::to_string(index);
    Value value = op.getQueries()[index];
    FailureOr<int64_t> operandLead =
        verifyOperand(value, op.getQueryArguments()[index], 1, 0, owner);
    if (failed(operandLead))
      return failure();
    return queryCount.join(op, tensorType(value).getDimSize(*operandLead),
                           owner);
  }

  LogicalResult verifyKey(unsigned index) {
    std::string owner = "key #" + std::to_string(index);
    Value value = op.getKeys()[index], argument = op.getKeyArguments()[index];
    FailureOr<int64_t> operandLead =
        verifyOperand(value, argument, 1, 1, owner);
    if (failed(operandLead) ||
        failed(keyCount.join(op, tensorType(value).getDimSize(*operandLead),
                             owner)))
      return failure();
    return keyCount.join(op, tensorType(argument).getDimSize(0),
                         "the argument of " + owner);
  }

  LogicalResult verifyPair(unsigned index) {
    std::string owner = "pair #" + std::to_string(index);
    Value value = op.getPairs()[index], argument = op.getPairArguments()[index];
    FailureOr<int64_t> operandLead =
        verifyOperand(value, argument, 2, 1, owner);
    if (failed(operandLead))
      return failure();
    RankedTensorType type = tensorType(value);
    int64_t queries = type.getDimSize(*operandLead);
    if ((queries != 1 && failed(queryCount.join(op, queries, owner))) ||
        failed(keyCount.join(op, type.getDimSize(*operandLead + 1), owner)))
      return failure();
    return keyCount.join(op, tensorType(argument).getDimSize(0),
                         "the argument of " + owner);
  }

  LogicalResult verifyCapture(unsigned index) {
    return verifyOperand(op.getCaptures()[index],
                         op.getCaptureArguments()[index], 0, 0,
                         "capture #" + std::to_string(index));
  }

  /// A mask or bias: `[lead.., T, S]`, right-aligned, a static 1 stretches.
  LogicalResult verifyMask(Value value, StringRef name) {
    if (!value)
      return success();
    RankedTensorType type = tensorType(value);
    if (type.getRank() > leadRank + 2)
      return op.emitOpError()
             << "'" << name << "' has rank " << type.getRank()
             << ", leading dimensions, queries and keys are " << leadRank + 2;
    std::string owner = ("'" + name + "'").str();
    ArrayRef<int64_t> shape = type.getShape();
    auto joinLast = [&](SharedSize &size) {
      if (shape.empty())
        return success();
      int64_t last = shape.back();
      shape = shape.drop_back();
      return last == 1 ? success() : size.join(op, last, owner);
    };
    if (failed(joinLast(keyCount)) || failed(joinLast(queryCount)))
      return failure();
    return verifyLead(shape, owner);
  }

  /// `[first of lead..]`, at least one of them, or none where that may be; a
  /// static 1 stretches. Then `last`, if there is one.
  LogicalResult verifyOfFirst(Value value, StringRef name, bool mayBeOne,
                              SharedSize *last = nullptr) {
    if (!value)
      return success();
    RankedTensorType type = tensorType(value);
    int64_t own = last ? 1 : 0;
    int64_t least = own + (mayBeOne || leadRank == 0 ? 0 : 1);
    int64_t most = own + leadRank;
    if (type.getRank() < least || type.getRank() > most) {
      InFlightDiagnostic error = op.emitOpError()
                                 << "'" << name << "' needs rank " << least;
      if (least != most)
        error << " to " << most;
      error << ", the first of the leading dimensions";
      if (last)
        error << " and one element for each position";
      return error << ", found " << type;
    }
    std::string owner = ("'" + name + "'").str();
    ArrayRef<int64_t> shape = type.getShape();
    for (auto [size, shared] : llvm::zip(shape.drop_back(own), lead))
      if (size != 1 && failed(shared.join(op, size, owner)))
        return failure();
    return last ? last->join(op, shape.back(), owner) : success();
  }

  LogicalResult verifyRestrictions() {
    return failure(failed(verifyMask(op.getMask(), "mask")) ||
                   failed(verifyMask(op.getBias(), "bias")) ||
                   failed(verifyOfFirst(op.getLengths(), "lengths", false)) ||
                   failed(verifyOfFirst(op.getOffset(), "offset", true)) ||
                   failed(verifyOfFirst(op.getQuerySegments(), "query_segments",
                                        false, &queryCount)) ||
                   failed(verifyOfFirst(op.getKeySegments(), "key_segments",
                                        false, &keyCount)));
  }

private:
  /// Aligned at the right with the leading dimensions of the results; a static
  /// 1 stretches.
  LogicalResult verifyLead(ArrayRef<int64_t> shape, const Twine &owner) {
    for (auto [size, shared] :
         llvm::zip(llvm::reverse(shape), llvm::reverse(lead)))
      if (size != 1 && failed(shared.join(op, size, owner)))
        return failure();
    return success();
  }

  /// The last dimensions of `whole`, after `start`, are those of `row`.
  LogicalResult verifyRest(RankedTensorType whole, RankedTensorType row,
                           int64_t start, const Twine &owner,
                           int64_t rowStart = 0) {
    if (whole.getElementType() == row.getElementType() &&
        agree(whole.getShape().drop_front(start),
              row.getShape().drop_front(rowStart)))
      return success();
    return op.emitOpError() << owner << " of type " << whole << " does not fit "
                            << row << " in the region";
  }

  AttentionOp op;
  int64_t leadRank;
  SmallVector<SharedSize> lead;
  SharedSize queryCount, keyCount;
};
} // namespace

LogicalResult AttentionOp::verifyRegions() {
  OperandRange values = getYield().getValues();
  if (values.size() != getNumResults())
    return emitOpError("yields ")
           << values.size() << " rows for " << getNumResults() << " results";
  auto row = dyn_cast<RankedTensorType>(values.front().getType());
  if (!row)
    return emitOpError("the row of result #0 needs a ranked tensor, found ")
           << values.front().getType();
  int64_t leadRank = tensorType(getResult(0)).getRank() - 1 - row.getRank();
  if (leadRank < 0)
    return emitOpError("result #0 needs a dimension for the queries and the "
                       "row ")
           << row << ", found " << getResult(0).getType();

  OperandVerifier verifier(*this, leadRank);
  for (unsigned i = 0; i < getNumResults(); ++i)
    if (failed(verifier.verifyResult(i)))
      return failure();
  for (unsigned i = 0; i < getQueries().size(); ++i)
    if (failed(verifier.verifyQuery(i)))
      return failure();
  for (unsigned i = 0; i < getKeys().size(); ++i)
    if (failed(verifier.verifyKey(i)))
      return failure();
  for (unsigned i = 0; i < getPairs().size(); ++i)
    if (failed(verifier.verifyPair(i)))
      return failure();
  for (unsigned i = 0; i < getCaptures().size(); ++i)
    if (failed(verifier.verifyCapture(i)))
      return failure();
  return verifier.verifyRestrictions();
}
