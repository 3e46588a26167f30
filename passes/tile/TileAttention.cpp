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
#include "passes/tile/TileAttentionOnline.h"
#include "passes/tile/TileAttentionRegisters.h"
#include "passes/tile/TileLinear.h"
#include "llvm/ADT/SetVector.h"
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
      if (hasAlgorithm(op, residentAlgorithm) ||
          hasAlgorithm(op, onlineAlgorithm) ||
          hasAlgorithm(op, registersAlgorithm))
        attentions.push_back(op);
    });
    llvm::SetVector<linalg::TransposeOp> transposed;
    for (AttentionOp op : attentions)
      for (Value operand : op->getOperands())
        if (auto transpose = operand.getDefiningOp<linalg::TransposeOp>())
          transposed.insert(transpose);
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(
              markingProducts(op, [&] { return tile(op, rewriter, target); })))
        return signalPassFailure();
    for (linalg::TransposeOp transpose : transposed)
      readBehindTransposition(transpose, rewriter);
  }

  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("attention").category("gf-tile-attention");
  }

  static int64_t sizeOf(AttentionOp op, StringRef name, int64_t otherwise) {
    auto given = op->getAttrOfType<IntegerAttr>(name);
    return given ? std::clamp<int64_t>(given.getInt(), 1, 1 << 20) : otherwise;
  }

  /// What a user chose is refused; else it is the naive lowering's.
  LogicalResult leave(AttentionOp op, Operation *inner, const Twine &why) {
    StringRef algorithm =
        op->getAttrOfType<StringAttr>(algorithmName).getValue();
    StringRef name = nameInText(inner);
    if (op->hasAttr(algorithmGivenName)) {
      InFlightDiagnostic error =
          op.emitError("attention cannot be scheduled as ")
          << algorithm << ": its " << name << " " << why;
      if (inner != op)
        error.attachNote(inner->getLoc()) << "this " << name;
      return error;
    }
    remark::missed(op.getLoc(), options())
        << ("attention: not in blocks of " +
            Twine(algorithm == residentAlgorithm ? "queries" : "keys") +
            ", for its " + name)
               .str();
    op->setAttr(algorithmName, StringAttr::get(&getContext(), naiveAlgorithm));
    return success();
  }

  LogicalResult tileInRegisters(AttentionOp op, IRRewriter &rewriter,
                                const TargetDescription &target) {
    prepareAttentionBody(op, rewriter, /*movesScales=*/false);
    {
      AttentionBody body(op);
      RegistersForm form(op, body);
      if (Operation *obstacle = form.getObstacle())
        return leave(op, obstacle, form.getReason());
    }
    separateWeights(op, rewriter);
    int64_t rows = llvm::alignTo(sizeOf(op, queryBlockName, 128), registerTile);
    int64_t keys = llvm::alignTo(sizeOf(op, keyBlockName, 32), registerTile);
    AttentionRegisters tiling(op, rewriter, target, rows, keys);
    int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
    remark::passed(op.getLoc(), options())
        << llvm::formatv("attention: {0}, {1} query rows, {2} keys at a time, "
                         "{3} {4}",
                         registersAlgorithm, rows, tiling.getKeyBlock(), maps,
                         maps == 1 ? "map" : "maps")
               .str();
    ++attentionsTiled;
    return tiling.run();
  }

  LogicalResult tile(AttentionOp op, IRRewriter &rewriter,
                     const TargetDescription &target) {
    if (hasAlgorithm(op, registersAlgorithm))
      return tileInRegisters(op, rewriter, target);
    prepareAttentionBody(op, rewriter);
    bool isOnline = hasAlgorithm(op, onlineAlgorithm);
    if (isOnline) {
      AttentionBody body(op);
      OnlineForm form(op, body);
      if (Operation *obstacle = form.getObstacle())
        return leave(op, obstacle, "needs " + form.getNeed());
      separateWeights(op, rewriter);
    }
    int64_t rows = sizeOf(op, queryBlockName, 24);
    int64_t keys = isOnline ? sizeOf(op, keyBlockName, 512) : 0;
    AttentionTiling tiling(op, rewriter, target, rows, keys);
    if (Operation *unsupported = tiling.findUnsupported())
      return leave(op, unsupported,
                   "cannot be computed for a block of queries");
    int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
    Type element = getElementTypeOrSelf(op.getKeys().front());
    int64_t width = element.isIntOrFloat() ? target.getPanelWidth(element) : 0;
    Operation *whole = tiling.getBody().getNeedsAllKeys();
    std::string text =
        llvm::formatv("attention: {0}, {1} query rows, ",
                      isOnline ? onlineAlgorithm : residentAlgorithm, rows);
    if (isOnline)
      text += llvm::formatv("{0} keys at a time, ", tiling.getKeyBlock());
    text += llvm::formatv("{0} {1}, keys in panels of {2}", maps,
                          maps == 1 ? "map" : "maps", width);
    if (whole)
      text += (", no key left out for its " + nameInText(whole)).str();
    remark::passed(op.getLoc(), options()) << text;
    ++attentionsTiled;
    return tiling.run();
  }
};
} // namespace
