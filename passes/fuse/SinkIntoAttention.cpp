// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkIntoAttention.cpp - What follows an attention, in its rows -----===//
//
// A norm, a gate or a scale of an attention's result becomes part of the row
// program, so that the result is computed on while it is in the cache, or in
// registers, and stored once. Where heads stand side by side before, what is
// read beside them is looked at by heads.
//
// Exactness: the same operations on the same elements, wherever these stand: an
// element by element operation has the same bits. A sum along the row is
// taken in the order that reductions of rows have; the quotient by the sum of a
// softmax's powers may be formed again for each operation that reads the
// result, from the same numbers.
//
// A row of a query that sees no key is 0 before what follows, as it was in the
// stored result. Rows of padding are computed as they were.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/AttentionTail.h"
#include "passes/fuse/Passes.h"
#include "passes/support/ParameterValues.h"
#include "passes/tile/TileAttentionOnline.h"
#include "passes/tile/TileAttentionRegisters.h"

namespace gatefold {
#define GEN_PASS_DEF_SINKINTOATTENTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

/// Whether an element by element operation, which nothing else reads, computes
/// what is read beside rows: it may as well be done with them. What parameters
/// alone decide is prepared.
static bool canJoin(OpOperand *operand) {
  auto reader = cast<GenericOp>(operand->getOwner());
  auto producer = operand->get().getDefiningOp<GenericOp>();
  return producer && producer->getNumResults() == 1 && producer->hasOneUse() &&
         producer->getBlock() == reader->getBlock() &&
         producer.getNumParallelLoops() == producer.getNumLoops() &&
         reader.getMatchingIndexingMap(operand).isPermutation() &&
         !dependsOnParametersOnly(operand->get()) &&
         linalg::areElementwiseOpsFusable(operand);
}

/// A gate is computed where it is multiplied with.
static bool joinOperand(AttentionTail &tail, IRRewriter &rewriter) {
  for (Operation *inner : tail.getOperations()) {
    auto reader = dyn_cast<GenericOp>(inner);
    if (!reader)
      continue;
    for (OpOperand *operand : reader.getDpsInputOperands()) {
      if (tail.isRow(operand->get()) || !canJoin(operand))
        continue;
      Operation *producer = operand->get().getDefiningOp();
      rewriter.setInsertionPoint(reader);
      FailureOr<linalg::ElementwiseOpFusionResult> joined =
          linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(joined))
        continue;
      SmallVector<Value> results;
      for (Value result : reader.getResults())
        results.push_back(joined->replacements.lookup(result));
      rewriter.replaceOp(reader, results);
      if (isOpTriviallyDead(producer))
        rewriter.eraseOp(producer);
      return true;
    }
  }
  return false;
}

namespace {
/// The forms that an attention has in phase `tile`.
struct AttentionForms {
  explicit AttentionForms(AttentionOp op)
      : isInRegisters(findRegistersProducts(op).obstacle.empty()),
        isOnline(countOnlineProducts(op).has_value()) {}
  bool hasAllOf(const AttentionForms &other) const {
    return (isInRegisters || !other.isInRegisters) &&
           (isOnline || !other.isOnline);
  }
  bool isInRegisters, isOnline;
};

struct SinkIntoAttention
    : gatefold::impl::SinkIntoAttentionBase<SinkIntoAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> all;
    // A step is shared with its states, which are written last.
    getOperation().walk([&](AttentionOp op) {
      if (!op->getParentOfType<RecurrenceOp>())
        all.push_back(op);
    });
    for (AttentionOp op : all)
      sinkInto(op);
  }

  void sinkInto(AttentionOp op) {
    IRRewriter rewriter(&getContext());
    auto options =
        remark::RemarkOpts::name("row").category("gf-sink-into-attention");
    while (true) {
      AttentionTail tail(op, rewriter);
      if (!joinOperand(tail, rewriter))
        break;
    }
    AttentionTail tail(op, rewriter);
    unsigned most = tail.getOperations().size();
    if (llvm::none_of(tail.getOperations(), llvm::IsaPred<GenericOp>))
      return;
    AttentionForms before(op);
    const char *reason = nullptr;
    for (unsigned count = most; count > 0; --count) {
      // Another order alone is no work that a row has.
      if (!isa<GenericOp>(tail.getOperations()[count - 1]))
        continue;
      if (const char *why = tail.whyNot(count)) {
        reason = why;
        continue;
      }
      AttentionOp built = tail.build(count);
      if (!AttentionForms(built).hasAllOf(before)) {
        reason = "it has no form in registers or in blocks of keys, and the "
                 "attention has";
        rewriter.eraseOp(built);
        continue;
      }
      unsigned sunk = llvm::count_if(tail.getOperations().take_front(count),
                                     llvm::IsaPred<GenericOp>);
      remark::passed(op.getLoc(), options)
          << ("attention: " + std::to_string(sunk) +
              (sunk == 1 ? " operation that follows it is"
                         : " operations that follow it are") +
              " done in its rows");
      operationsSunk += sunk;
      tail.replace(built, count);
      return;
    }
    remark::missed(op.getLoc(), options)
        << (std::string("what follows the attention stays apart: ") + reason);
  }
};
} // namespace
