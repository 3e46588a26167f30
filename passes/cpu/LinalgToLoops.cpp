// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToLoops.cpp - Linalg on buffers to loops ---------------------===//
//
// A nest of loops for each structured operation, its accumulators in registers.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/LinalgToVectors.h"
#include "passes/cpu/Passes.h"
#include "passes/cpu/PointBody.h"

namespace gatefold {
#define GEN_PASS_DEF_LINALGTOLOOPS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

namespace {
/// Lowers one operation.
class LoopNest {
public:
  LoopNest(LinalgOp op, bool inParallel, IRRewriter &rewriter)
      : op(op), body(op), inParallel(inParallel), rewriter(rewriter),
        loc(op.getLoc()) {}
  void run();

private:
  void makeParallel(OpBuilder &builder, unsigned position);
  void makeReductions(OpBuilder &builder);
  SmallVector<Value> makeReduction(OpBuilder &builder, unsigned position,
                                   ValueRange carried);
  bool isScan();
  SmallVector<Value> makeSteps(OpBuilder &builder, ValueRange carried);
  void makeParallelLoop(OpBuilder &builder);

  LinalgOp op;
  PointBody body;
  /// Whether the parallel dimensions are one scf.parallel.
  bool inParallel;
  IRRewriter &rewriter;
  Location loc;
  /// Of each loop: how often it runs. All start at 0 and count by 1.
  SmallVector<Value> bounds;
  Value zero, one;
  SmallVector<unsigned> parallel, reductions;
  SmallVector<Value> indices;
};
} // namespace

SmallVector<Value> LoopNest::makeReduction(OpBuilder &builder,
                                           unsigned position,
                                           ValueRange carried) {
  if (position == reductions.size())
    return body.make(builder, indices, carried);
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

/// Whether the steps of one reduction are a scan, which stores something in
/// each: nobody would find out that what they load is none of it.
bool LoopNest::isScan() {
  SmallVector<bool> isCarried;
  for (unsigned result = 0; result < op.getNumDpsInits(); ++result)
    isCarried.push_back(body.isCarried(result));
  return reductions.size() == 1 && op.getNumDpsInputs() > 0 &&
         isInOrder(op, isCarried, /*choice=*/std::nullopt);
}

/// The steps of one reduction, of which a thread loads the inputs of several
/// before it takes them one after another: else each step would wait for
/// memory.
SmallVector<Value> LoopNest::makeSteps(OpBuilder &builder, ValueRange carried) {
  constexpr int64_t stepsAhead = 8;
  unsigned dim = reductions.front();
  Value ahead = arith::ConstantIndexOp::create(builder, loc, stepsAhead);
  Value rest = arith::RemUIOp::create(builder, loc, bounds[dim], ahead);
  Value end = arith::SubIOp::create(builder, loc, bounds[dim], rest);
  SmallVector<Value> same = body.loadInputs(builder, indices, /*areSame=*/true);
  auto makeLoop = [&](Value from, Value to, Value step, int64_t count,
                      ValueRange values) {
    auto loop = scf::ForOp::create(
        builder, loc, from, to, step, values,
        [&](OpBuilder &inner, Location, Value index, ValueRange arguments) {
          SmallVector<Value> places;
          SmallVector<SmallVector<Value>> inputs;
          for (int64_t i = 0; i < count; ++i) {
            Value offset = arith::ConstantIndexOp::create(inner, loc, i);
            places.push_back(arith::AddIOp::create(inner, loc, index, offset));
            indices[dim] = places.back();
            inputs.push_back(
                body.loadInputs(inner, indices, /*areSame=*/false));
            for (auto [input, known] : llvm::zip(inputs.back(), same))
              if (known)
                input = known;
          }
          SmallVector<Value> next(arguments);
          for (auto [place, loaded] : llvm::zip(places, inputs)) {
            indices[dim] = place;
            next = body.make(inner, indices, next, loaded);
          }
          scf::YieldOp::create(inner, loc, next);
        });
    return SmallVector<Value>(loop.getResults());
  };
  SmallVector<Value> most = makeLoop(zero, end, ahead, stepsAhead, carried);
  return makeLoop(end, bounds[dim], one, 1, most);
}

/// Loads the results, reduces, and stores them.
void LoopNest::makeReductions(OpBuilder &builder) {
  SmallVector<Value> carried;
  for (OpOperand *output : body.getCarried())
    carried.push_back(memref::LoadOp::create(
        builder, loc, output->get(), body.placeOf(builder, *output, indices)));
  carried = inParallel && isScan() ? makeSteps(builder, carried)
                                   : makeReduction(builder, 0, carried);
  for (auto [output, value] : llvm::zip(body.getCarried(), carried))
    memref::StoreOp::create(builder, loc, value, output->get(),
                            body.placeOf(builder, *output, indices));
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
  zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  for (Range range : op.createLoopRanges(rewriter, loc)) {
    assert(isZeroInteger(range.offset) && isOneInteger(range.stride) &&
           "a structured operation runs over whole dimensions");
    bounds.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  }
  indices.assign(bounds.size(), zero);
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? parallel : reductions)
        .push_back(dim);
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
