// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SinkIntoAttention.cpp - What follows an attention, in its rows -----===//
//
// A norm, a gate or a scale of an attention's result becomes part of the row
// program, so that the result is computed on while it is in the cache, or in
// registers, and stored once.
//
// Exactness: the same operations on the same elements. A sum along the row is
// taken in the order that reductions of rows have; the quotient by the sum of a
// softmax's powers may be formed again for each operation that reads the
// result, from the same numbers.
//
// A row of a query that sees no key is 0 before what follows, as it was in the
// stored result. Rows of padding are computed as they were.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Remarks.h"
#include "passes/fuse/AttentionTail.h"
#include "passes/fuse/Passes.h"
#include "passes/tile/TileAttentionOnline.h"
#include "passes/tile/TileAttentionRegisters.h"

namespace gatefold {
#define GEN_PASS_DEF_SINKINTOATTENTION
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

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
    AttentionTail tail(op, rewriter);
    unsigned most = tail.getOperations().size();
    if (llvm::none_of(tail.getOperations(), llvm::IsaPred<linalg::GenericOp>))
      return;
    AttentionForms before(op);
    const char *reason = nullptr;
    for (unsigned count = most; count > 0; --count) {
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
                                     llvm::IsaPred<linalg::GenericOp>);
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
