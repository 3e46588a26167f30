// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Alternate.cpp - Steps that write one of two buffers ----------------===//
//
// Which buffers a step replaces, and the loop over pairs of steps.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Alternate.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/team/Group.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// What the steps of a loop do with one buffer.
struct StepUse {
  /// It is written once in each step, all of it, and not in parts of the step.
  Operation *writer = nullptr;
  bool isReplaced = false;
  /// Before it is written a rank reads what other ranks write.
  bool isReadAsWhole = false;
  /// Something else stands in the way.
  bool isExcluded = false;
};

class Alternation {
public:
  explicit Alternation(scf::ForOp loop) : loop(loop) {}

  bool findBuffers();
  AlternatedLoop emit();

private:
  bool look(Operation *op);
  void lookAtStructured(Operation *op);
  void cloneStep(OpBuilder &builder, Value index, ValueRange current,
                 ValueRange next);

  scf::ForOp loop;
  llvm::MapVector<Value, StepUse> uses;
  SmallVector<memref::AllocOp> buffers;
};
} // namespace

static Value skipCasts(Value view) {
  while (auto cast = view.getDefiningOp<memref::CastOp>())
    view = cast.getSource();
  return view;
}

/// Whether an operation writes each element of an output without having read
/// it there.
static bool replaces(Operation *op, OpOperand &output) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return isa<LinearOp>(op);
  return !structured.payloadUsesValueFromOperand(&output) &&
         structured.getMatchingIndexingMap(&output).isPermutation();
}

/// Whether each element of an operand is needed for one of the results alone.
static bool isElementwise(Operation *op, OpOperand &operand) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured &&
         structured.getNumParallelLoops() == structured.getNumLoops() &&
         structured.getMatchingIndexingMap(&operand).isPermutation();
}

void Alternation::lookAtStructured(Operation *op) {
  auto destination = cast<DestinationStyleOpInterface>(op);
  bool isInStep = op->getBlock() == loop.getBody();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    StepUse &use = uses[getRoot(operand.get())];
    if (destination.isDpsInit(&operand)) {
      use.isExcluded |= use.writer || !isInStep;
      use.writer = op;
      use.isReplaced = replaces(op, operand) &&
                       skipCasts(operand.get()) == getRoot(operand.get());
    } else if (!isElementwise(op, operand) && !use.writer) {
      use.isReadAsWhole = true;
    }
  }
  op->walk([&](memref::LoadOp load) {
    uses[getRoot(load.getMemRef())].isExcluded = true;
  });
}

/// False where memory is used in a way that is not known.
bool Alternation::look(Operation *op) {
  if (isStructured(op)) {
    lookAtStructured(op);
    return true;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    uses[getRoot(load.getMemRef())].isExcluded = true;
    return true;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    uses[getRoot(store.getMemRef())].isExcluded = true;
    return true;
  }
  if (!isa<scf::ForOp, scf::IfOp>(op))
    return isNeutral(op);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!look(&inner))
        return false;
  return true;
}

bool Alternation::findBuffers() {
  for (Operation &op : loop.getBody()->without_terminator())
    if (!look(&op))
      return false;
  if (uses.contains(Value()))
    return false;
  for (auto &[root, use] : uses) {
    auto alloc = root.getDefiningOp<memref::AllocOp>();
    if (!alloc || loop->isAncestor(alloc) || !use.writer || !use.isReplaced ||
        !use.isReadAsWhole || use.isExcluded)
      continue;
    // Views of it are made in the step, so that they can be those of the other.
    bool isViewedOutside = llvm::any_of(root.getUsers(), [&](Operation *user) {
      return isa<ViewLikeOpInterface>(user) && !loop->isAncestor(user) &&
             llvm::any_of(user->getUsers(), [&](Operation *next) {
               return loop->isAncestor(next);
             });
    });
    if (!isViewedOutside)
      buffers.push_back(alloc);
  }
  return !buffers.empty();
}

/// A step that reads the buffers `current` and writes `next`.
void Alternation::cloneStep(OpBuilder &builder, Value index, ValueRange current,
                            ValueRange next) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), index);
  for (auto [buffer, now] : llvm::zip(buffers, current))
    mapping.map(buffer.getResult(), now);
  SmallVector<Operation *> views;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<ViewLikeOpInterface>(op))
      views.push_back(&op);
    bool isWriter = false;
    Operation *copy = builder.clone(op, mapping);
    for (auto [buffer, then] : llvm::zip(buffers, next)) {
      if (uses[buffer.getResult()].writer != &op)
        continue;
      isWriter = true;
      mapping.map(buffer.getResult(), then);
      auto from = cast<DestinationStyleOpInterface>(op).getDpsInitsMutable();
      for (OpOperand &output : from)
        if (getRoot(output.get()) == buffer.getResult()) {
          Value place = then;
          if (place.getType() != output.get().getType())
            place = memref::CastOp::create(builder, op.getLoc(),
                                           output.get().getType(), place);
          copy->setOperand(output.getOperandNumber(), place);
          if (auto *cast = place.getDefiningOp(); place != then)
            cast->moveBefore(copy);
        }
    }
    // What follows sees what has been written.
    if (isWriter)
      for (Operation *view : views)
        builder.clone(*view, mapping);
  }
}

AlternatedLoop Alternation::emit() {
  Location loc = loop.getLoc();
  SmallVector<Value> first, second;
  SmallVector<Operation *> made;
  for (memref::AllocOp alloc : buffers) {
    OpBuilder builder(alloc->getContext());
    builder.setInsertionPointAfter(alloc);
    first.push_back(alloc.getResult());
    made.push_back(builder.clone(*alloc));
    second.push_back(made.back()->getResult(0));
  }
  OpBuilder builder(loop);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value step = loop.getStep(), end = loop.getUpperBound();
  Value two = constant(2);
  Value pair = builder.createOrFold<arith::MulIOp>(loc, step, two);
  Value span = arith::SubIOp::create(builder, loc, end, loop.getLowerBound());
  span = arith::MaxSIOp::create(builder, loc, span, constant(0));
  Value count = arith::CeilDivSIOp::create(builder, loc, span, step);
  Value rest = arith::RemUIOp::create(builder, loc, count, two);
  Value isOdd = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      rest, constant(0));

  auto pairs =
      scf::ForOp::create(builder, loc, loop.getLowerBound(), end, pair);
  OpBuilder inside(pairs.getBody()->getTerminator());
  cloneStep(inside, pairs.getInductionVar(), first, second);
  Value index =
      arith::AddIOp::create(inside, loc, pairs.getInductionVar(), step);
  Value isThere =
      arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, index, end);
  auto other = scf::IfOp::create(inside, loc, isThere);
  OpBuilder inOther = other.getThenBodyBuilder();
  cloneStep(inOther, index, second, first);

  auto last = scf::IfOp::create(builder, loc, isOdd);
  OpBuilder inLast = last.getThenBodyBuilder();
  for (auto [to, from] : llvm::zip(first, second))
    linalg::CopyOp::create(inLast, loc, from, to);
  return {pairs, last, std::move(made)};
}

std::optional<AlternatedLoop> gatefold::alternateBuffers(scf::ForOp loop) {
  Alternation alternation(loop);
  if (loop.getNumResults() != 0 || !alternation.findBuffers())
    return std::nullopt;
  return alternation.emit();
}
