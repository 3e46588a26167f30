// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionPrepare.cpp - A row program in fewer operations -------===//
//
// Rewrites the region of an attention before it is computed for blocks of
// queries: fewer operations on rows are fewer passes over the scores.
//
// The scale of scores moves to the query: c (q . k) = (c q) . k, of which each
// term is rounded once more, by 2^-24 of itself, so that the score stays within
// the error that a sum of its terms has anyway; with a power of two, as 1/8,
// all bits are the same.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/TileAttentionBody.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

/// What an operation begins from, and what comes from outside, is its own, so
/// that no two operations seem to have anything to do with each other because
/// sizes happen to be equal.
static void separateBeginnings(Block &body, RewriterBase &rewriter) {
  auto isBeginning = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && (isa<tensor::EmptyOp, linalg::FillOp>(op) ||
                  (isa<arith::ConstantOp>(op) &&
                   isa<RankedTensorType>(value.getType())));
  };
  SmallVector<Operation *> users;
  for (Operation &op : body)
    users.push_back(&op);
  for (Operation *user : users)
    for (OpOperand &use : user->getOpOperands()) {
      rewriter.setInsertionPoint(user);
      if (!isBeginning(use.get())) {
        if (isa<RankedTensorType>(use.get().getType()) &&
            use.get().getParentBlock() != &body) {
          Value own = tensor::CastOp::create(rewriter, user->getLoc(),
                                             use.get().getType(), use.get());
          rewriter.modifyOpInPlace(user, [&] { use.set(own); });
        }
        continue;
      }
      Operation *copy = rewriter.clone(*use.get().getDefiningOp());
      if (auto fill = dyn_cast<linalg::FillOp>(copy))
        if (Operation *empty = fill.getOutputs()[0].getDefiningOp();
            isa_and_present<tensor::EmptyOp>(empty)) {
          rewriter.setInsertionPoint(copy);
          fill.getOutputsMutable()[0].set(rewriter.clone(*empty)->getResult(0));
        }
      rewriter.modifyOpInPlace(user, [&] { use.set(copy->getResult(0)); });
    }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

/// Named operations whose products run over keys become generic ones, which
/// can take in what they multiply; other products stay products.
static void generalize(AttentionOp op, RewriterBase &rewriter) {
  AttentionBody body(op);
  SmallVector<linalg::LinalgOp> named;
  for (Operation &inner : op.getBody().front()) {
    auto structured = dyn_cast<linalg::LinalgOp>(inner);
    if (!structured || isa<GenericOp>(inner))
      continue;
    if (isa<linalg::FillOp>(inner) && !body.isPerQuery(inner.getResult(0)))
      continue;
    bool alongKeys = llvm::any_of(inner.getOperands(), [&](Value operand) {
      return body.getKeyDim(operand).has_value();
    });
    if (isa<linalg::ContractOp>(inner) && !alongKeys)
      continue;
    named.push_back(structured);
  }
  for (linalg::LinalgOp structured : named) {
    rewriter.setInsertionPoint(structured);
    (void)linalg::generalizeNamedOp(rewriter, structured);
  }
}

Operation *gatefold::matchScale(GenericOp scaled) {
  if (scaled.getNumDpsInputs() != 1 || scaled.getNumResults() != 1 ||
      scaled.getNumLoops() != 1 || scaled.getNumParallelLoops() != 1 ||
      !llvm::all_of(scaled.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block *block = scaled.getBody();
  if (!llvm::hasSingleElement(block->without_terminator()))
    return nullptr;
  Operation *op = &block->front();
  if (!isa<arith::MulFOp, arith::DivFOp>(op) ||
      block->getTerminator()->getOperand(0) != op->getResult(0))
    return nullptr;
  Value input = block->getArgument(0);
  bool isFirst = op->getOperand(0) == input;
  if (!isFirst && (isa<arith::DivFOp>(op) || op->getOperand(1) != input))
    return nullptr;
  APFloat number(0.0f);
  if (!matchPattern(op->getOperand(isFirst ? 1 : 0),
                    m_ConstantFloat(&number)) ||
      !number.isFiniteNonZero() || number.isDenormal())
    return nullptr;
  return op;
}

/// The sizes of a row: those of the memory that a computed one was made in, as
/// the body has them already.
static SmallVector<OpFoldResult> sizesOf(RewriterBase &rewriter, Location loc,
                                         Value row) {
  if (auto made = row.getDefiningOp<DestinationStyleOpInterface>())
    row = made.getTiedOpOperand(cast<OpResult>(row))->get();
  if (auto empty = row.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  return tensor::getMixedSizes(rewriter, loc, row);
}

static void moveScales(Block &body, RewriterBase &rewriter) {
  SmallVector<RowScoresOp> products(body.getOps<RowScoresOp>());
  for (RowScoresOp scores : products) {
    if (!scores->hasOneUse())
      continue;
    auto scaled = dyn_cast<GenericOp>(*scores->user_begin());
    Operation *scale = scaled ? matchScale(scaled) : nullptr;
    if (!scale)
      continue;
    Location loc = scaled.getLoc();
    rewriter.setInsertionPoint(scores);
    RankedTensorType type = scores.getQuery().getType();
    Value empty = tensor::EmptyOp::create(
        rewriter, loc, sizesOf(rewriter, loc, scores.getQuery()),
        type.getElementType());
    Value query =
        GenericOp::create(
            rewriter, loc, TypeRange(empty.getType()),
            ValueRange(scores.getQuery()), ValueRange(empty),
            SmallVector<AffineMap>(2, rewriter.getMultiDimIdentityMap(1)),
            ArrayRef<utils::IteratorType>{utils::IteratorType::parallel},
            [&](OpBuilder &builder, Location, ValueRange values) {
              IRMapping mapping;
              mapping.map(scaled.getBody()->getArgument(0), values[0]);
              Operation *copy = builder.clone(*scale, mapping);
              linalg::YieldOp::create(builder, loc, copy->getResult(0));
            })
            .getResult(0);
    if (query.getType() != type)
      query = tensor::CastOp::create(rewriter, loc, type, query);
    rewriter.modifyOpInPlace(scores,
                             [&] { scores.getQueryMutable().assign(query); });
    rewriter.replaceOp(scaled, scores.getResult());
  }
}

/// Elementwise operations in a chain become one, also one that then adds up.
/// What is the same for all queries stays apart, to be computed once.
static void fuseChains(AttentionOp op, RewriterBase &rewriter) {
  Block &block = op.getBody().front();
  llvm::DenseSet<Operation *> perQuery;
  {
    AttentionBody body(op);
    for (Operation &inner : block)
      if (inner.getNumResults() != 0 && body.isPerQuery(inner.getResult(0)))
        perQuery.insert(&inner);
  }
  auto canFuse = [&](OpOperand &use, GenericOp consumer) {
    auto producer = use.get().getDefiningOp<GenericOp>();
    if (!producer || producer->getBlock() != &block || !producer->hasOneUse() ||
        producer.getNumResults() != 1)
      return false;
    // A number of the query is not computed again for each key.
    if (producer.getNumLoops() == 0 && consumer.getNumLoops() != 0)
      return false;
    bool readsMemory = llvm::any_of(producer.getInputs(), [](Value input) {
      return isa<RankedTensorType>(input.getType());
    });
    if (perQuery.contains(consumer) && !perQuery.contains(producer) &&
        readsMemory)
      return false;
    return linalg::areElementwiseOpsFusable(&use);
  };
  Operation *next = &block.front();
  while (next) {
    auto consumer = dyn_cast<GenericOp>(next);
    OpOperand *found = nullptr;
    if (consumer)
      for (OpOperand *input : consumer.getDpsInputOperands())
        if (!found && canFuse(*input, consumer))
          found = input;
    if (!found) {
      next = next->getNextNode();
      continue;
    }
    Operation *producer = found->get().getDefiningOp();
    rewriter.setInsertionPoint(consumer);
    FailureOr<linalg::ElementwiseOpFusionResult> fused =
        linalg::fuseElementwiseOps(rewriter, found);
    if (failed(fused)) {
      next = next->getNextNode();
      continue;
    }
    if (perQuery.contains(consumer))
      perQuery.insert(fused->fusedOp);
    // An index of the producer is one of the whole, through a map.
    fused->fusedOp->walk([&](affine::AffineApplyOp index) {
      if (index.getAffineMap().isIdentity() && index.getNumOperands() == 1)
        rewriter.replaceOp(index, index.getOperand(0));
    });
    for (Value result : consumer->getResults())
      rewriter.replaceAllUsesWith(result, fused->replacements.lookup(result));
    for (Operation *dead : {consumer.getOperation(), producer})
      if (dead->use_empty()) {
        perQuery.erase(dead);
        rewriter.eraseOp(dead);
      }
    next = fused->fusedOp;
  }
}

void gatefold::prepareAttentionBody(AttentionOp op, RewriterBase &rewriter,
                                    bool movesScales) {
  Block &body = op.getBody().front();
  separateBeginnings(body, rewriter);
  generalize(op, rewriter);
  if (movesScales)
    moveScales(body, rewriter);
  fuseChains(op, rewriter);
}
