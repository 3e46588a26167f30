// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttention.cpp - Attention, a block of queries at a time --------===//
//
// The pass: which attentions become loops over blocks of queries, and what is
// said about them.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/TileAttention.h"
#include "mlir/IR/Remarks.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "passes/tile/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace gatefold {
#define GEN_PASS_DEF_TILEATTENTION
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
struct TileAttention : gatefold::impl::TileAttentionBase<TileAttention> {
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (hasAlgorithm(op, residentAlgorithm))
        attentions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(tile(op, rewriter, target)))
        return signalPassFailure();
  }

  LogicalResult tile(AttentionOp op, IRRewriter &rewriter,
                     const TargetDescription &target) {
    auto options =
        remark::RemarkOpts::name("attention").category("gf-tile-attention");
    prepareAttentionBody(op, rewriter);
    auto given = op->getAttrOfType<IntegerAttr>(queryBlockName);
    int64_t rows = given ? std::clamp<int64_t>(given.getInt(), 1, 1 << 16) : 24;
    AttentionTiling tiling(op, rewriter, target, rows);
    if (Operation *unsupported = tiling.findUnsupported()) {
      if (op->hasAttr(algorithmGivenName))
        return op.emitError("attention cannot be scheduled as resident: its '")
               << unsupported->getName().getStringRef()
               << "' cannot be computed for a block of queries";
      remark::missed(op.getLoc(), options)
          << ("attention: not in blocks of queries, for its '" +
              unsupported->getName().getStringRef() + "'")
                 .str();
      op->setAttr(algorithmName,
                  StringAttr::get(&getContext(), naiveAlgorithm));
      return success();
    }
    int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
    Type element = getElementTypeOrSelf(op.getKeys().front());
    int64_t width = element.isIntOrFloat() ? target.getPanelWidth(element) : 0;
    Operation *whole = tiling.getBody().getNeedsAllKeys();
    std::string text =
        llvm::formatv("attention: resident, {0} query rows, {1} {2}, keys in "
                      "panels of {3}",
                      rows, maps, maps == 1 ? "map" : "maps", width);
    if (whole)
      text += ", no key left out for '" +
              whole->getName().getStringRef().str() + "'";
    remark::passed(op.getLoc(), options) << text;
    ++attentionsTiled;
    return tiling.run();
  }
};
} // namespace
