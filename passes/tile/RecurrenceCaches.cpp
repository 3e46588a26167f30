// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceCaches.cpp - States that steps write rows into -----------===//
//
// A state of which a step writes a part over stays in its place: lengths and
// resets, which select between whole states elsewhere, look at no more of it
// than the step writes, or than there is to reset.
//
//===----------------------------------------------------------------------===//

#include "passes/PassCommon.h"
#include "passes/fuse/StepConditions.h"
#include "passes/tile/RecurrenceSteps.h"

using namespace mlir;
using namespace gatefold;

/// Whether nothing reads `value` but the write that it is the destination of,
/// and what that write takes from where it writes.
static bool isReadByWrite(Value value, Operation *write) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user == write ||
           (isa<tensor::ExtractSliceOp>(user) &&
            llvm::all_of(user->getUsers(), [&](Operation *reader) {
              return reader->getBlock() == write->getBlock() &&
                     reader->isBeforeInBlock(write) &&
                     isa<linalg::LinalgOp>(reader);
            }));
  });
}

/// Whether a value is `state` with a part written over, in loops and slices
/// that nothing else reads before the last one. `yielded` is read at the end.
static bool isWrittenOver(Value value, Value state, ValueRange yielded) {
  while (true) {
    Operation *by = value.getDefiningOp();
    if (auto insertion = dyn_cast_or_null<tensor::InsertSliceOp>(by))
      value = insertion.getDest();
    else if (auto loop = dyn_cast_or_null<scf::ForOp>(by))
      value = loop.getInitArgs()[cast<OpResult>(value).getResultNumber()];
    else
      return false;
    if (!isReadByWrite(value, by) || llvm::is_contained(yielded, value))
      return false;
    if (value == state)
      return true;
  }
}

bool gatefold::findWrites(Value value, Value state,
                          SmallVectorImpl<tensor::InsertSliceOp> &writes) {
  while (value != state) {
    Operation *by = value.getDefiningOp();
    if (auto write = dyn_cast_or_null<tensor::InsertSliceOp>(by)) {
      if (write.getSourceType().getRank() != write.getType().getRank())
        return false;
      writes.push_back(write);
      value = write.getDest();
      continue;
    }
    auto loop = dyn_cast_or_null<scf::ForOp>(by);
    if (!loop)
      return false;
    auto result = cast<OpResult>(value);
    BlockArgument argument = loop.getTiedLoopRegionIterArg(result);
    if (!findWrites(loop.getTiedLoopYieldedValue(argument)->get(), argument,
                    writes))
      return false;
    value = loop.getTiedLoopInit(result)->get();
  }
  return true;
}

/// Whether rows are written into a state and nothing else is made of it, so
/// that it stays in its place from step to step.
bool RecurrenceSteps::isCache(unsigned state) {
  Block &body = op.getBody().front();
  Value before = body.getArgument(op.getSequences().size() + state);
  ValueRange yielded = op.getYield().getValues();
  Value next = yielded[op.getNumOutputs() + state];
  SmallVector<tensor::InsertSliceOp> writes;
  return !isNaive && next.getType() == before.getType() &&
         isWrittenOver(next, before, yielded) &&
         findWrites(next, before, writes);
}

/// All elements joined, as one bool.
Value RecurrenceSteps::reduceBools(
    Value bools, bool initial,
    function_ref<Value(OpBuilder &, Location, Value, Value)> join) {
  auto type = cast<RankedTensorType>(bools.getType());
  Value first =
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(initial));
  Value start = tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>(),
                                        type.getElementType());
  start = linalg::FillOp::create(rewriter, loc, first, start).getResult(0);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  Value all = linalg::ReduceOp::create(
                  rewriter, loc, bools, start, dims,
                  [&](OpBuilder &builder, Location loc, ValueRange values) {
                    linalg::YieldOp::create(
                        builder, loc, join(builder, loc, values[0], values[1]));
                  })
                  .getResult(0);
  return tensor::ExtractOp::create(rewriter, loc, all, ValueRange());
}

/// Whether a sequence of some row starts.
Value RecurrenceSteps::findAny(Value resets) {
  return reduceBools(
      resets, /*initial=*/false,
      [](OpBuilder &builder, Location loc, Value left, Value right) -> Value {
        return arith::OrIOp::create(builder, loc, left, right);
      });
}

/// Where step `time` is behind the end of its sequence, what is written over is
/// written again: so the whole state need not be selected.
void RecurrenceSteps::keepRows(Value time, tensor::InsertSliceOp write) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(write);
  SmallVector<OpFoldResult> offsets = write.getMixedOffsets(),
                            sizes = write.getMixedSizes(),
                            strides = write.getMixedStrides();
  Value old =
      tensor::ExtractSliceOp::create(rewriter, loc, write.getSourceType(),
                                     write.getDest(), offsets, sizes, strides);
  Value lengths = op.getLengths();
  int64_t lead = cast<RankedTensorType>(lengths.getType()).getRank();
  if (lead > 0)
    lengths = tensor::ExtractSliceOp::create(
        rewriter, loc, lengths, ArrayRef(offsets).take_front(lead),
        ArrayRef(sizes).take_front(lead), ArrayRef(strides).take_front(lead));
  int64_t rank = write.getSourceType().getRank();
  AffineMap identity = rewriter.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {leadingMap(rank, lengths), identity, identity};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value kept = linalg::GenericOp::create(
                   rewriter, loc, TypeRange(old.getType()),
                   ValueRange{lengths, write.getSource()}, ValueRange(old),
                   maps, iterators,
                   [&](OpBuilder &builder, Location, ValueRange values) {
                     Value valid = isValid(builder, time, values[0]);
                     Value row = arith::SelectOp::create(builder, loc, valid,
                                                         values[1], values[2]);
                     linalg::YieldOp::create(builder, loc, row);
                   })
                   .getResult(0);
  rewriter.modifyOpInPlace(write,
                           [&] { write.getSourceMutable().assign(kept); });
}

/// Bufferization finds no place for a state that a loop inside of the step
/// works on and that is written at the end of the step as well. So the loop
/// gets a copy, unless what it leaves is the next state: then that is where it
/// stays, and nothing is written at the end. Gives the states of which this
/// holds.
llvm::SmallBitVector RecurrenceSteps::separateLoops(Value time,
                                                    ValueRange states,
                                                    ValueRange yielded,
                                                    ValueRange carried) {
  llvm::SmallBitVector stays(states.size());
  unsigned outputCount = op.getNumOutputs();
  for (auto [i, state] : llvm::enumerate(states)) {
    Value next = yielded[outputCount + i];
    bool isInPlace = state == carried[outputCount + i] ||
                     isa_and_present<scf::IfOp>(state.getDefiningOp());
    stays[i] = isInPlace && next.getType() == state.getType() &&
               isWrittenOver(next, state, yielded);
    if (stays[i] && op.getLengths()) {
      SmallVector<tensor::InsertSliceOp> writes;
      stays[i] = !isNaive && findWrites(next, state, writes);
      if (stays[i])
        for (tensor::InsertSliceOp write : writes)
          keepRows(time, write);
    }
    if (stays[i])
      continue;
    for (auto loop : rewriter.getInsertionBlock()->getOps<scf::ForOp>())
      for (OpOperand &initial : loop.getInitArgsMutable()) {
        if (viewedTensor(initial.get()) != viewedTensor(state))
          continue;
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(loop);
        Value copy = bufferization::AllocTensorOp::create(
            rewriter, loc, cast<RankedTensorType>(initial.get().getType()),
            /*dynamicSizes=*/ValueRange(), /*copy=*/initial.get());
        rewriter.modifyOpInPlace(loop, [&] { initial.set(copy); });
      }
  }
  return stays;
}
