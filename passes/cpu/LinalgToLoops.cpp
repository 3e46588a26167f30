// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToLoops.cpp - Linalg on buffers to loops ---------------------===//
//
// A nest of loops for each structured operation, its accumulators in registers.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LINALGTOLOOPS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using linalg::LinalgOp;

namespace {
/// Lowers one operation.
class LoopNest {
public:
  LoopNest(LinalgOp op, bool inParallel, IRRewriter &rewriter)
      : op(op), inParallel(inParallel), rewriter(rewriter), loc(op.getLoc()) {}
  void run();

private:
  SmallVector<Value> placeOf(OpBuilder &builder, AffineMap map);
  void makeParallel(OpBuilder &builder, unsigned position);
  void makeReductions(OpBuilder &builder);
  SmallVector<Value> makeReduction(OpBuilder &builder, unsigned position,
                                   ValueRange carried);
  SmallVector<Value> makeBody(OpBuilder &builder, ValueRange carried);

  void makeParallelLoop(OpBuilder &builder);

  LinalgOp op;
  /// Whether the parallel dimensions are one scf.parallel.
  bool inParallel;
  IRRewriter &rewriter;
  Location loc;
  SmallVector<AffineMap> maps;
  /// Of each loop: how often it runs. All start at 0 and count by 1.
  SmallVector<Value> bounds;
  Value zero, one;
  SmallVector<unsigned> parallel, reductions;
  /// Of each result: whether it stays at one place through all reductions.
  SmallVector<bool> isCarried;
  SmallVector<Value> indices;
};
} // namespace

/// The indices of an operand's element.
SmallVector<Value> LoopNest::placeOf(OpBuilder &builder, AffineMap map) {
  SmallVector<Value> place;
  for (AffineExpr expression : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
      place.push_back(indices[dim.getPosition()]);
      continue;
    }
    AffineMap single =
        AffineMap::get(map.getNumDims(), map.getNumSymbols(), expression);
    place.push_back(affine::AffineApplyOp::create(builder, loc, single, indices)
                        .getResult());
  }
  return place;
}

/// The body for one point; gives the new values of the carried results and
/// stores the others.
SmallVector<Value> LoopNest::makeBody(OpBuilder &builder, ValueRange carried) {
  Block *block = op.getBlock();
  IRMapping mapping;
  auto load = [&](OpOperand &operand) -> Value {
    if (!isa<MemRefType>(operand.get().getType()))
      return operand.get();
    return memref::LoadOp::create(
        builder, loc, operand.get(),
        placeOf(builder, maps[operand.getOperandNumber()]));
  };
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      mapping.map(argument, load(*input));
  }
  auto nextCarried = carried.begin();
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    BlockArgument argument = op.getMatchingBlockArgument(&init);
    if (isCarried[index])
      mapping.map(argument, *nextCarried++);
    else if (!argument.use_empty())
      mapping.map(argument, load(init));
  }
  for (Operation &inner : block->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    builder.clone(inner, mapping);
  }
  SmallVector<Value> results;
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    Value value =
        mapping.lookupOrDefault(block->getTerminator()->getOperand(index));
    if (isCarried[index])
      results.push_back(value);
    else
      memref::StoreOp::create(builder, loc, value, init.get(),
                              placeOf(builder, maps[init.getOperandNumber()]));
  }
  return results;
}

SmallVector<Value> LoopNest::makeReduction(OpBuilder &builder,
                                           unsigned position,
                                           ValueRange carried) {
  if (position == reductions.size())
    return makeBody(builder, carried);
  unsigned dim = reductions[position];
  auto loop = scf::ForOp::create(
      builder, loc, zero, bounds[dim], one, carried,
      [&](OpBuilder &inner, Location, Value index, ValueRange arguments) {
        indices[dim] = index;
        scf::YieldOp::create(inner, loc,
                             makeReduction(inner, position + 1, arguments));
      });
  return SmallVector<Value>(loop.getResults());
}

/// Loads the results, reduces, and stores them.
void LoopNest::makeReductions(OpBuilder &builder) {
  SmallVector<Value> carried;
  SmallVector<OpOperand *> carriedOperands;
  for (auto [index, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    if (!isCarried[index])
      continue;
    carriedOperands.push_back(&init);
    carried.push_back(memref::LoadOp::create(
        builder, loc, init.get(),
        placeOf(builder, maps[init.getOperandNumber()])));
  }
  carried = makeReduction(builder, 0, carried);
  for (auto [operand, value] : llvm::zip(carriedOperands, carried))
    memref::StoreOp::create(
        builder, loc, value, operand->get(),
        placeOf(builder, maps[operand->getOperandNumber()]));
}

void LoopNest::makeParallel(OpBuilder &builder, unsigned position) {
  if (position == parallel.size())
    return makeReductions(builder);
  unsigned dim = parallel[position];
  scf::ForOp::create(builder, loc, zero, bounds[dim], one, ValueRange(),
                     [&](OpBuilder &inner, Location, Value index, ValueRange) {
                       indices[dim] = index;
                       makeParallel(inner, position + 1);
                       scf::YieldOp::create(inner, loc);
                     });
}

/// All parallel dimensions at once; one iteration where there are none.
void LoopNest::makeParallelLoop(OpBuilder &builder) {
  SmallVector<Value> upper;
  for (unsigned dim : parallel)
    upper.push_back(bounds[dim]);
  if (upper.empty())
    upper.push_back(one);
  auto loop = scf::ParallelOp::create(
      builder, loc, SmallVector<Value>(upper.size(), zero), upper,
      SmallVector<Value>(upper.size(), one));
  for (auto [dim, variable] : llvm::zip(parallel, loop.getInductionVars()))
    indices[dim] = variable;
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  makeReductions(inner);
}

void LoopNest::run() {
  rewriter.setInsertionPoint(op);
  maps = op.getIndexingMapsArray();
  zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  for (Range range : op.createLoopRanges(rewriter, loc)) {
    assert(isZeroInteger(range.offset) && isOneInteger(range.stride) &&
           "a structured operation runs over whole dimensions");
    bounds.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  }
  indices.resize(bounds.size());
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? parallel : reductions)
        .push_back(dim);
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = maps[init.getOperandNumber()];
    isCarried.push_back(!reductions.empty() &&
                        llvm::none_of(reductions, [&](unsigned dim) {
                          return map.isFunctionOfDim(dim);
                        }));
  }
  if (inParallel)
    makeParallelLoop(rewriter);
  else
    makeParallel(rewriter, 0);
  rewriter.eraseOp(op);
}

namespace {
struct LinalgToLoops : gatefold::impl::LinalgToLoopsBase<LinalgToLoops> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<LinalgOp> operations;
    WalkResult result = getOperation().walk([&](Operation *op) {
      auto structured = dyn_cast<LinalgOp>(op);
      if (structured && structured.hasPureBufferSemantics()) {
        operations.push_back(structured);
      } else if (structured || (isa<linalg::LinalgDialect>(op->getDialect()) &&
                                !isa<linalg::YieldOp, linalg::IndexOp>(op))) {
        op->emitError("not compiled yet: '")
            << op->getName() << "' "
            << (structured ? "on tensors" : "without a structured form");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (LinalgOp op : operations) {
      LoopNest(op, parallel, rewriter).run();
      ++operationsLowered;
    }
  }
};
} // namespace
