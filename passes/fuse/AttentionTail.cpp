// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionTail.cpp - What follows an attention row by row -----------===//
//
// Finds the operations, and how many of them leave one result.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/AttentionTail.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

// More are not a norm or a gate; the number of ways to end is looked through.
static constexpr unsigned mostOperations = 64;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

AttentionTail::AttentionTail(AttentionOp op, IRRewriter &rewriter)
    : op(op), rewriter(rewriter), leadRank(op.getLeadRank()) {
  for (Value result : op.getResults()) {
    RowTensor found;
    for (auto [dim, size] : llvm::enumerate(tensorType(result).getShape())) {
      found.axes.emplace_back();
      if (size == 1)
        continue;
      bool isOfRow = dim > leadRank;
      found.axes.back().push_back(isOfRow ? alongRow() + found.row.size()
                                          : dim);
      if (isOfRow)
        found.row.push_back(size);
    }
    rows[result] = found;
  }
  for (Operation *next = op->getNextNode();
       next && operations.size() < mostOperations; next = next->getNextNode())
    if (llvm::any_of(next->getOperands(),
                     [&](Value value) { return isRow(value); }) &&
        addRows(next))
      operations.push_back(next);
}

/// The axis whose size an operation asks of a tensor: that of an operand of the
/// attention, too.
std::optional<int64_t> AttentionTail::getOuterAxis(Value value,
                                                   Operation *user) const {
  auto dim = dyn_cast<tensor::DimOp>(user);
  std::optional<int64_t> number = dim ? dim.getConstantIndex() : std::nullopt;
  ArrayRef<DimensionAxes> axes = rows.find(value)->second.axes;
  if (!number || *number < 0 || *number >= int64_t(axes.size()) ||
      axes[*number].size() != 1 || axes[*number][0] > int64_t(leadRank))
    return std::nullopt;
  int64_t axis = axes[*number][0];
  AttentionOp attention = op;
  bool isKnown =
      ShapedType::isStatic(getOuterSize(op, axis)) || axis == leadRank ||
      llvm::any_of(
          llvm::seq<unsigned>(0, attention.getBody().getNumArguments() - 2),
          [&](unsigned operand) {
            return attention.getLeadAxis(operand, axis).has_value();
          });
  return isKnown ? std::optional(axis) : std::nullopt;
}

bool AttentionTail::isUsedOutside(Value value, unsigned count) const {
  ArrayRef<Operation *> inside = ArrayRef(operations).take_front(count);
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !getOuterAxis(value, user) && !llvm::is_contained(inside, user);
  });
}

SmallVector<Value> AttentionTail::findLeaving(unsigned count) const {
  SmallVector<Value> leaving;
  for (Operation *inner : ArrayRef(operations).take_front(count))
    for (Value result : inner->getResults())
      if (isUsedOutside(result, count))
        leaving.push_back(result);
  return leaving;
}

const char *AttentionTail::whyNot(unsigned count) const {
  SmallVector<Value> leaving = findLeaving(count);
  Operation *last = operations[count - 1];
  // The last operation's result, or nobody needs it.
  if (leaving.size() != 1 || leaving[0].getDefiningOp() != last)
    return "more than one result leaves the row";
  const RowTensor &result = rows.find(leaving[0])->second;
  bool isReplaced = false;
  for (Value given : AttentionOp(op).getResults()) {
    bool isRead = llvm::any_of(
        ArrayRef(operations).take_front(count), [&](Operation *inner) {
          return llvm::is_contained(inner->getOperands(), given);
        });
    // The region gives them, and rows do not have them.
    if (isRead && llvm::is_contained(
                      tensorType(given).getShape().drop_front(leadRank + 1), 1))
      return "the result has dimensions of 1";
    if (!isUsedOutside(given, count)) {
      // The same sizes, or no more of them.
      bool fits =
          rows.find(given)->second.row == result.row || result.row.empty();
      isReplaced |=
          isRead && fits &&
          getElementTypeOrSelf(given) == getElementTypeOrSelf(leaving[0]);
      continue;
    }
    // The attention moves to where the last operation stands.
    for (Operation *user : given.getUsers()) {
      Operation *beside = op->getBlock()->findAncestorOpInBlock(*user);
      if (!beside || beside->isBeforeInBlock(last))
        return "its results are read before what follows is known";
    }
  }
  return isReplaced ? nullptr
                    : "the attention's result is read elsewhere too, or has "
                      "other sizes";
}
