// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- HidingConditions.h - Comparisons that hide keys ----------*- C++ -*-===//
//
// Which comparisons of indices hide a key from a softmax of an attention.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_HIDINGCONDITIONS_H
#define PASSES_FUSE_HIDINGCONDITIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/tile/TileAttentionBody.h"
#include "llvm/ADT/MapVector.h"

namespace gatefold {

/// A sum of a query's index, a key's, other numbers, each times a factor, and a
/// constant. A number is a scalar before the attention, or an argument of its
/// region: of the query, of each key, or the same for all.
struct IndexSum {
  int64_t query = 0, key = 0, constant = 0;
  llvm::SmallMapVector<mlir::Value, int64_t, 4> numbers;

  void add(const IndexSum &other, int64_t factor);
  void drop(mlir::Value number);
  bool isConstant() const { return numbers.empty() && query == 0 && key == 0; }
};
bool operator==(const IndexSum &left, const IndexSum &right);

/// `sum <= 0`, or `sum == 0`, holds for each key that is not hidden.
struct HidingCondition {
  IndexSum sum;
  bool isEquation;
  /// The comparison, and whether it holds then; null if it says more than its
  /// conditions.
  mlir::arith::CmpIOp comparison;
  bool holds;
};

/// Looks at the softmaxes of an attention.
class HidingConditions {
public:
  HidingConditions(AttentionOp op, const AttentionBody &body)
      : op(op), body(body) {}

  /// Conditions of which each one hides a key where it does not hold: a score
  /// of -inf does, and `where`.
  llvm::SmallVector<HidingCondition> find(RowSoftmaxOp softmax);

private:
  /// Whether one more scalar may be looked at.
  bool canLook(unsigned depth);
  void findInScore(mlir::Value scalar, unsigned depth);
  void findInCondition(mlir::Value scalar, bool holds, unsigned depth);
  void findInComparison(mlir::arith::CmpIOp comparison, bool holds);
  bool addCondition(IndexSum sum, mlir::arith::CmpIOp comparison, bool holds);
  /// The scalar that computes each element of a value of the region.
  mlir::Value elementOf(mlir::Value value);
  /// What an argument of a structured operation's body is an element of.
  mlir::Value followArgument(mlir::Value scalar);
  std::optional<IndexSum> sumOf(mlir::Value scalar, unsigned depth);
  std::optional<IndexSum> sumOfArgument(mlir::BlockArgument argument,
                                        unsigned depth);

  AttentionOp op;
  const AttentionBody &body;
  llvm::SmallVector<HidingCondition> found;
  unsigned looks = 0;
  /// Numbers that are the absolute value of a sum.
  llvm::MapVector<mlir::Value, IndexSum> absolute;
};

} // namespace gatefold

#endif // PASSES_FUSE_HIDINGCONDITIONS_H
