// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ToBuffers.cpp - One-shot bufferization with our copies -------------===//
//
// Upstream's one-shot bufferization, set up for an entry on buffers, after
// results are placed where they are computed.
//
//===----------------------------------------------------------------------===//

#include "dialect/BufferizableInterface.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "passes/bufferize/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_TOBUFFERS
#include "passes/bufferize/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

/// An empty tensor, or a part of one.
static bool isEmpty(Value value) {
  if (auto part = value.getDefiningOp<tensor::ExtractSliceOp>())
    value = part.getSource();
  return value.getDefiningOp<tensor::EmptyOp>() != nullptr;
}

/// Lets slices of nothing begin at 0: as views they may not begin at the end,
/// where keys that no query sees leave them.
static void moveEmptySlices(Operation *root) {
  root->walk([](tensor::ExtractSliceOp slice) {
    SmallVector<int64_t> offsets(slice.getStaticOffsets());
    for (auto [offset, size] : llvm::zip(offsets, slice.getStaticSizes()))
      if (size == 0 && !ShapedType::isDynamic(offset))
        offset = 0;
    slice.setStaticOffsets(offsets);
  });
}

/// A constant that several operations start from is made anew for each: cheaper
/// than the copies that they would need, and each may be made in its own
/// result.
static void separateFills(RewriterBase &rewriter, Operation *root) {
  SmallVector<linalg::FillOp> fills;
  root->walk([&](linalg::FillOp fill) {
    if (fill->getNumResults() == 1 && !fill->getResult(0).hasOneUse() &&
        isEmpty(fill.getOutputs()[0]))
      fills.push_back(fill);
  });
  for (linalg::FillOp fill : fills) {
    SmallVector<OpOperand *> starts;
    for (OpOperand &use : fill->getResult(0).getUses())
      if (auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner()))
        if (user.isDpsInit(&use))
          starts.push_back(&use);
    for (OpOperand *use : starts) {
      if (fill->getResult(0).hasOneUse())
        break;
      rewriter.setInsertionPoint(use->getOwner());
      Operation *empty = rewriter.clone(*fill.getOutputs()[0].getDefiningOp());
      IRMapping mapping;
      mapping.map(fill.getOutputs()[0], empty->getResult(0));
      Operation *copy = rewriter.clone(*fill, mapping);
      rewriter.modifyOpInPlace(use->getOwner(),
                               [&] { use->set(copy->getResult(0)); });
    }
  }
}

/// An empty tensor, or a part of one, is made anew for each use. One that many
/// operations begin from would need a copy for each but the last, and tie their
/// results together in the analysis, whose time then grows with the cube of
/// their number.
static void separateEmpties(RewriterBase &rewriter, Operation *root) {
  SmallVector<Operation *> parts, empties;
  root->walk([&](Operation *op) {
    if (isa<tensor::EmptyOp>(op))
      empties.push_back(op);
    else if (isa<tensor::ExtractSliceOp>(op) && isEmpty(op->getResult(0)))
      parts.push_back(op);
  });
  for (Operation *begin : llvm::concat<Operation *>(parts, empties)) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : begin->getUses())
      uses.push_back(&use);
    if (uses.size() < 2)
      continue;
    for (OpOperand *use : ArrayRef(uses).drop_front()) {
      rewriter.setInsertionPoint(use->getOwner());
      Operation *copy = rewriter.clone(*begin);
      rewriter.modifyOpInPlace(use->getOwner(),
                               [&] { use->set(copy->getResult(0)); });
    }
  }
}

/// The result that may be computed in the memory of `operand`.
static Value tiedResult(OpOperand &operand) {
  Operation *owner = operand.getOwner();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(owner))
    return destination.isDpsInit(&operand) && owner->getNumResults() != 0
               ? destination.getTiedOpResult(&operand)
               : Value();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(owner))
    return loop.getTiedLoopResult(&operand);
  if (isa<tensor::CastOp>(owner))
    return owner->getResult(0);
  return {};
}

/// Whether nothing but `result` comes from what `user` makes in place of
/// `empty`. Upstream's analysis does not see that the result is written into
/// its destination at the end, where a second value that shares its memory may
/// still be needed.
static bool belongsTo(Value result, tensor::EmptyOp empty, Operation *user) {
  OpOperand *next = nullptr;
  for (OpOperand &use : empty->getUses()) {
    if (use.getOwner() != user)
      continue;
    if (next)
      return false;
    next = &use;
  }
  while (next) {
    Value made = tiedResult(*next);
    if (!made || made == result)
      return made != nullptr;
    if (!made.hasOneUse())
      return false;
    next = &*made.use_begin();
  }
  return false;
}

/// Whether an operation of the same block uses `value` after `op`, which then
/// reads what `op` has written.
static bool isUsedAfter(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && op->isBeforeInBlock(inBlock);
  });
}

/// The operands of `user` that begin as `empty`.
static SmallVector<OpOperand *> usesIn(Operation *user, tensor::EmptyOp empty) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &operand : user->getOpOperands())
    if (operand.get() == empty.getResult())
      uses.push_back(&operand);
  return uses;
}

/// Computes results in their destination where they begin as tensor.empty.
/// Adds to `undefined` the operands that begin as the destination now: what it
/// holds means nothing to them.
static LogicalResult
placeResults(Operation *root,
             const bufferization::OneShotBufferizationOptions &options,
             SmallVectorImpl<OpOperand *> &undefined) {
  IRRewriter rewriter(root->getContext());
  separateFills(rewriter, root);
  separateEmpties(rewriter, root);
  bufferization::OneShotAnalysisState state(root, options);
  if (failed(bufferization::analyzeOp(root, state)))
    return failure();
  return bufferization::eliminateEmptyTensors(
      rewriter, root, state,
      [&](RewriterBase &builder, SubsetInsertionOpInterface insertion,
          tensor::EmptyOp empty, Operation *user) -> Value {
        Value source = insertion.getSourceOperand().get();
        if (isa<bufferization::MaterializeInDestinationOp>(insertion) &&
            (!belongsTo(source, empty, user) || isUsedAfter(source, insertion)))
          return {};
        Value destination = bufferization::buildSubsetExtraction(
            builder, insertion, empty, user);
        if (destination)
          llvm::append_range(undefined, usesIn(user, empty));
        return destination;
      });
}

/// Where the analysis keeps an operand apart from its destination after all,
/// as one that is read while the destination is written again, it begins as new
/// memory. Upstream would copy what the destination holds, which nobody may
/// have written.
static void dropUndefinedCopies(ArrayRef<OpOperand *> undefined) {
  for (OpOperand *operand : undefined) {
    Value begin = operand->get();
    if (auto cast = begin.getDefiningOp<tensor::CastOp>())
      begin = cast.getSource();
    auto made = begin.getDefiningOp<bufferization::AllocTensorOp>();
    if (!made || !made.getCopy())
      continue;
    IRRewriter rewriter(made);
    SmallVector<Value> sizes;
    for (auto [dim, size] : llvm::enumerate(made.getType().getShape()))
      if (ShapedType::isDynamic(size))
        sizes.push_back(tensor::DimOp::create(rewriter, made.getLoc(),
                                              made.getCopy(), dim));
    rewriter.replaceOpWithNewOp<bufferization::AllocTensorOp>(
        made, made.getType(), sizes);
  }
}

/// Which dimension of the source each dimension of a view is.
static SmallVector<unsigned>
keptDimensions(const llvm::SmallDenseSet<unsigned> &dropped, unsigned rank) {
  SmallVector<unsigned> kept;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!dropped.contains(dim))
      kept.push_back(dim);
  return kept;
}

/// Upstream tells which dimensions of size 1 a view is without by its strides,
/// and takes the wrong ones where those are only known when running: of
/// [1, 2, 1, 3] as [1, 2, 3] the first in place of the third. Then they are
/// left out in an operation of their own, which names them.
static void separateDroppedDimensions(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](memref::SubViewOp view) {
    MemRefType type = view.getType();
    unsigned rank = view.getStaticSizes().size();
    if (type.getRank() == rank)
      return;
    auto dropped =
        computeRankReductionMask(view.getStaticSizes(), type.getShape());
    if (!dropped)
      return;
    llvm::SmallDenseSet<unsigned> assumed;
    llvm::SmallBitVector assumedBits = view.getDroppedDims();
    for (unsigned dim : assumedBits.set_bits())
      assumed.insert(dim);
    SmallVector<unsigned> kept = keptDimensions(*dropped, rank);
    bool isRight = llvm::all_of(
        llvm::zip(kept, keptDimensions(assumed, rank), type.getShape()),
        [](auto each) {
          auto [own, other, size] = each;
          return own == other || size == 1;
        });
    if (isRight)
      return;
    rewriter.setInsertionPoint(view);
    Value whole = memref::SubViewOp::create(
        rewriter, view.getLoc(), view.getSource(), view.getMixedOffsets(),
        view.getMixedSizes(), view.getMixedStrides());
    SmallVector<ReassociationIndices> groups(kept.size());
    for (unsigned dim = 0, group = 0; dim < rank; ++dim) {
      groups[group].push_back(dim);
      if (group + 1 < kept.size() && kept[group + 1] == dim + 1)
        ++group;
    }
    Value made =
        memref::CollapseShapeOp::create(rewriter, view.getLoc(), whole, groups);
    if (made.getType() != type)
      made = memref::CastOp::create(rewriter, view.getLoc(), type, made);
    rewriter.replaceOp(view, made);
  });
}

namespace {
struct ToBuffers : gatefold::impl::ToBuffersBase<ToBuffers> {
  void getDependentDialects(DialectRegistry &registry) const override {
    ToBuffersBase::getDependentDialects(registry);
    gatefold::registerBufferizableInterface(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    cf::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerBufferizableOpInterfaceExternalModels(registry);
    scf::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
    vector::registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                          Value to) {
      linalg::CopyOp::create(builder, loc, from, to);
      return success();
    };
    bufferization::OneShotBufferizationOptions placing;
    placing.allowReturnAllocsFromLoops = true;
    SmallVector<OpOperand *> undefined;
    if (failed(placeResults(getOperation(), placing, undefined)))
      return signalPassFailure();
    moveEmptySlices(getOperation());
    // The two halves of runOneShotBufferize.
    bufferization::BufferizationState state;
    if (failed(
            bufferization::insertTensorCopies(getOperation(), options, state)))
      return signalPassFailure();
    dropUndefinedCopies(undefined);
    if (failed(bufferization::bufferizeOp(getOperation(), options, state)))
      return signalPassFailure();
    separateDroppedDimensions(getOperation());
  }
};
} // namespace
