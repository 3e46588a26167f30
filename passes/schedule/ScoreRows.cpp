// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ScoreRows.cpp - The memory of an attention's rows ------------------===//
//
// Goes through the region from its beginning to its end and counts what is
// alive.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ScoreRows.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/tile/TileAttentionBody.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// What of a region is as long as the keys.
class Rows {
public:
  explicit Rows(AttentionOp op) : body(op), block(op.getBody().front()) {}

  int64_t countMost();

private:
  /// Bytes for each key; 0 of what is no row of a query, or is only looked at.
  int64_t bytesOf(Value value) const {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *made = value.getDefiningOp();
    if (!type || !type.getElementType().isIntOrFloat() || !made ||
        isa<tensor::EmptyOp, linalg::FillOp, RowVisibleOp>(made) ||
        !body.isPerQuery(value) || !body.getKeyDim(value))
      return 0;
    return std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
  }
  bool isLastUse(Value value, Operation *op) const {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      Operation *here = block.findAncestorOpInBlock(*user);
      return here && (here == op || here->isBeforeInBlock(op));
    });
  }

  AttentionBody body;
  Block &block;
};
} // namespace

int64_t Rows::countMost() {
  int64_t alive = 0, most = 4;
  for (Operation &op : block.without_terminator()) {
    int64_t made = 0, ended = 0, free = 0;
    for (Value result : op.getResults())
      made += bytesOf(result);
    llvm::SmallSetVector<Value, 4> operands(op.operand_begin(),
                                            op.operand_end());
    for (Value operand : operands) {
      if (isLastUse(operand, &op))
        ended += bytesOf(operand);
      if (operand.hasOneUse() && isa<linalg::GenericOp, RowSoftmaxOp>(op))
        free += bytesOf(operand);
    }
    int64_t here = alive + made - std::min(made, free);
    // The order of the scores, and what sorts them.
    if (isa<RowTopKOp>(op))
      here += 2 * sizeof(float);
    most = std::max(most, here);
    alive += made - ended;
  }
  return most;
}

int64_t gatefold::countRowBytes(AttentionOp op) { return Rows(op).countMost(); }
