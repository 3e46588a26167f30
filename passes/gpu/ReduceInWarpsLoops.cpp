// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReduceInWarpsLoops.cpp - The loops of rows that warps reduce -------===//
//
// The bits of a row depend on its length alone: element k is added to partial
// result k modulo 256, in order; of the 256 those that one lane has are joined
// first, as a tree, and then the lanes, as another. Which warp computes which
// of them does not matter.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/cpu/PointBody.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/ReduceInWarps.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

static constexpr int64_t lanes = TargetDescription::warpThreads;
/// Elements whose loads a lane waits for at once.
static constexpr int64_t elementsAtOnce = 4;

namespace {
class RowLoops {
public:
  RowLoops(LinalgOp op, const RowPlan &plan, IRRewriter &rewriter)
      : op(op), plan(plan), body(op), joining(op, plan.joining),
        rewriter(rewriter), loc(op.getLoc()) {}
  /// Gives the bytes of shared memory.
  int64_t run();

private:
  Value constant(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  void makeRows(OpBuilder &builder, StringRef executor,
                llvm::function_ref<void(OpBuilder &)> makeRow);
  void makeRowOfWarp(OpBuilder &builder);
  void makeRowOfBlock(OpBuilder &builder);
  SmallVector<Value> getNeutral(OpBuilder &builder);
  SmallVector<Value> makeElement(OpBuilder &builder, Value place,
                                 ValueRange accumulators);
  SmallVector<Value> makePart(OpBuilder &builder, Value first, int64_t step,
                              SmallVector<Value> accumulators);
  SmallVector<Value> joinStrips(OpBuilder &builder,
                                SmallVector<Value> accumulators);
  void finish(OpBuilder &builder, SmallVector<Value> sums);
  Value shuffle(OpBuilder &builder, Value value, int32_t distance);
  SmallVector<Value> getScratch(OpBuilder &builder);

  LinalgOp op;
  const RowPlan &plan;
  PointBody body;
  LaneCombination joining;
  IRRewriter &rewriter;
  Location loc;
  /// How often each loop runs; how many elements a row has.
  SmallVector<Value> bounds;
  Value length;
  Value warp, warps, lane;
  SmallVector<Value> indices;
  int64_t scratchBytes = 0;
};
} // namespace

/// All rows, each by one warp or by all of them.
void RowLoops::makeRows(OpBuilder &builder, StringRef executor,
                        llvm::function_ref<void(OpBuilder &)> makeRow) {
  Value zero = constant(builder, 0), one = constant(builder, 1);
  SmallVector<Value> upper;
  for (unsigned dim : plan.rows)
    upper.push_back(bounds[dim]);
  if (upper.empty())
    upper.push_back(one);
  auto loop = scf::ParallelOp::create(
      builder, loc, SmallVector<Value>(upper.size(), zero), upper,
      SmallVector<Value>(upper.size(), one));
  loop->setAttr(executorName, builder.getStringAttr(executor));
  for (auto [dim, variable] : llvm::zip(plan.rows, loop.getInductionVars()))
    indices[dim] = variable;
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  makeRow(inner);
}

/// What partial results begin with. A choice begins with what it is before:
/// those that find nothing better are that.
SmallVector<Value> RowLoops::getNeutral(OpBuilder &builder) {
  SmallVector<Value> neutral;
  for (OpOperand *output : body.getCarried()) {
    unsigned result = output->getOperandNumber() - op.getNumDpsInputs();
    if (const auto &combiner = plan.joining.combiners[result])
      neutral.push_back(
          arith::ConstantOp::create(builder, loc, combiner->neutral));
    else
      neutral.push_back(
          memref::LoadOp::create(builder, loc, output->get(),
                                 body.placeOf(builder, *output, indices)));
  }
  return neutral;
}

/// One element of a row. It goes to the first of the accumulators, which then
/// change places: with several of them the result is turned by a number of
/// places that depends on the row's length, and joinStrips() gives the same for
/// every turn.
SmallVector<Value> RowLoops::makeElement(OpBuilder &builder, Value place,
                                         ValueRange accumulators) {
  for (unsigned dim : llvm::reverse(plan.columns)) {
    bool isLast = dim == plan.columns.front();
    indices[dim] =
        isLast ? place
               : arith::RemUIOp::create(builder, loc, place, bounds[dim])
                     .getResult();
    if (!isLast)
      place = arith::DivUIOp::create(builder, loc, place, bounds[dim]);
  }
  size_t results = body.getCarried().size();
  SmallVector<Value> next(accumulators.drop_front(results));
  llvm::append_range(
      next, body.make(builder, indices, accumulators.take_front(results)));
  return next;
}

/// The elements `first`, `first` + `step`, ... of a row, in order; several in
/// one turn of a loop, so that their loads are under way together.
SmallVector<Value> RowLoops::makePart(OpBuilder &builder, Value first,
                                      int64_t step,
                                      SmallVector<Value> accumulators) {
  Value place = first;
  if (plan.strips >= elementsAtOnce) {
    Value end = arith::SubIOp::create(
        builder, loc, length, constant(builder, (elementsAtOnce - 1) * step));
    SmallVector<Value> carried = {first};
    llvm::append_range(carried, accumulators);
    auto loop = scf::ForOp::create(
        builder, loc, first, end, constant(builder, elementsAtOnce * step),
        carried, [&](OpBuilder &inner, Location, Value, ValueRange arguments) {
          SmallVector<Value> next(arguments.drop_front());
          Value at = arguments.front();
          for (int64_t i = 0; i < elementsAtOnce; ++i) {
            next = makeElement(inner, at, next);
            at = arith::AddIOp::create(inner, loc, at, constant(inner, step));
          }
          next.insert(next.begin(), at);
          scf::YieldOp::create(inner, loc, next);
        });
    place = loop.getResult(0);
    accumulators = SmallVector<Value>(loop.getResults().drop_front());
  }
  auto rest = scf::ForOp::create(
      builder, loc, place, length, constant(builder, step), accumulators,
      [&](OpBuilder &inner, Location, Value at, ValueRange arguments) {
        scf::YieldOp::create(inner, loc, makeElement(inner, at, arguments));
      });
  return SmallVector<Value>(rest.getResults());
}

/// Joins a and a + n / 2 of n accumulators until one is left: sums commute, so
/// the result is the same whichever of them is the first.
SmallVector<Value> RowLoops::joinStrips(OpBuilder &builder,
                                        SmallVector<Value> accumulators) {
  size_t results = body.getCarried().size();
  while (accumulators.size() > results) {
    ArrayRef<Value> all(accumulators);
    size_t half = all.size() / 2;
    SmallVector<Value> joined;
    for (size_t i = 0; i < half; i += results)
      llvm::append_range(joined, joining.combine(builder, all.slice(i, results),
                                                 all.slice(half + i, results)));
    accumulators = std::move(joined);
  }
  return accumulators;
}

/// The value of the lane whose number differs in one bit. Words of 32 bits are
/// what lanes hand over.
Value RowLoops::shuffle(OpBuilder &builder, Value value, int32_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isIndex()) {
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    value = shuffle(builder, value, distance);
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  if (bits != type) {
    value = arith::BitcastOp::create(builder, loc, bits, value);
    value = shuffle(builder, value, distance);
    return arith::BitcastOp::create(builder, loc, type, value);
  }
  if (width < 32) {
    value = arith::ExtUIOp::create(builder, loc, i32, value);
    value = shuffle(builder, value, distance);
    return arith::TruncIOp::create(builder, loc, type, value);
  }
  if (width == 64) {
    Value half = arith::ConstantIntOp::create(builder, loc, type, 32);
    Value high = arith::ShRUIOp::create(builder, loc, value, half);
    high = arith::TruncIOp::create(builder, loc, i32, high);
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    low = shuffle(builder, low, distance);
    high = shuffle(builder, high, distance);
    low = arith::ExtUIOp::create(builder, loc, type, low);
    high = arith::ExtUIOp::create(builder, loc, type, high);
    high = arith::ShLIOp::create(builder, loc, high, half);
    return arith::OrIOp::create(builder, loc, low, high);
  }
  assert(width == 32 && "a type of 32 bits, or of which words are made");
  return gpu::ShuffleOp::create(builder, loc, value, distance, lanes,
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}

/// Joins the lanes of a warp, and adds that to the results.
void RowLoops::finish(OpBuilder &builder, SmallVector<Value> sums) {
  for (int32_t distance = lanes / 2; distance > 0; distance /= 2) {
    SmallVector<Value> others;
    for (Value sum : sums)
      others.push_back(shuffle(builder, sum, distance));
    sums = joining.combine(builder, sums, others);
  }
  // A shuffle says nothing of memory, and all lanes have read what a choice
  // begins with.
  if (plan.joining.choice)
    NVVM::SyncWarpOp::create(
        builder, loc,
        arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), -1));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, constant(builder, 0));
  auto choice = scf::IfOp::create(builder, loc, isFirst);
  OpBuilder inner = choice.getThenBodyBuilder();
  SmallVector<Value> before;
  SmallVector<SmallVector<Value>> places;
  for (OpOperand *output : body.getCarried()) {
    places.push_back(body.placeOf(inner, *output, indices));
    before.push_back(
        memref::LoadOp::create(inner, loc, output->get(), places.back()));
  }
  sums = joining.combine(inner, before, sums);
  for (auto [output, sum, place] : llvm::zip(body.getCarried(), sums, places))
    memref::StoreOp::create(inner, loc, sum, output->get(), place);
}

void RowLoops::makeRowOfWarp(OpBuilder &builder) {
  SmallVector<Value> neutral = getNeutral(builder), accumulators;
  for (int64_t strip = 0; strip < plan.strips; ++strip)
    llvm::append_range(accumulators, neutral);
  finish(builder, joinStrips(builder, makePart(builder, lane, lanes,
                                               std::move(accumulators))));
}

/// Places in shared memory for all partial results of one row.
SmallVector<Value> RowLoops::getScratch(OpBuilder &builder) {
  auto space =
      gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  auto bytesType = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type(),
                                   AffineMap(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(builder, loc, bytesType);
  SmallVector<Value> scratch;
  scratchBytes = 0;
  for (OpOperand *output : body.getCarried()) {
    Type element = getElementTypeOrSelf(output->get().getType());
    scratch.push_back(memref::ViewOp::create(
        builder, loc,
        MemRefType::get({rowPartials}, element, AffineMap(), space), memory,
        constant(builder, scratchBytes), ValueRange()));
    int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    scratchBytes += rowPartials * llvm::divideCeil(bits, 8);
  }
  return scratch;
}

/// The warps take strips in turns; the first of them joins what all have left
/// in shared memory.
void RowLoops::makeRowOfBlock(OpBuilder &builder) {
  SmallVector<Value> scratch = getScratch(builder);
  // What was there before has been read.
  gpu::BarrierOp::create(builder, loc);
  SmallVector<Value> neutral = getNeutral(builder);
  scf::ForOp::create(
      builder, loc, warp, constant(builder, mostStrips), warps, ValueRange(),
      [&](OpBuilder &inner, Location, Value strip, ValueRange) {
        Value first =
            arith::MulIOp::create(inner, loc, strip, constant(inner, lanes));
        first = arith::AddIOp::create(inner, loc, first, lane);
        SmallVector<Value> part = makePart(inner, first, rowPartials, neutral);
        for (auto [memory, value] : llvm::zip(scratch, part))
          memref::StoreOp::create(inner, loc, value, memory, first);
        scf::YieldOp::create(inner, loc);
      });
  gpu::BarrierOp::create(builder, loc);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        warp, constant(builder, 0));
  auto choice = scf::IfOp::create(builder, loc, isFirst);
  OpBuilder inner = choice.getThenBodyBuilder();
  SmallVector<Value> accumulators;
  for (int64_t strip = 0; strip < mostStrips; ++strip) {
    Value place =
        arith::AddIOp::create(inner, loc, lane, constant(inner, strip * lanes));
    for (Value memory : scratch)
      accumulators.push_back(memref::LoadOp::create(inner, loc, memory, place));
  }
  finish(inner, joinStrips(inner, std::move(accumulators)));
}

int64_t RowLoops::run() {
  rewriter.setInsertionPoint(op);
  for (Range range : op.createLoopRanges(rewriter, loc))
    bounds.push_back(
        getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  // Of columns it is none yet.
  indices.assign(bounds.size(), constant(rewriter, 0));
  auto multiply = [&](ArrayRef<unsigned> dims) -> Value {
    Value product = constant(rewriter, 1);
    for (unsigned dim : dims)
      product = rewriter.createOrFold<arith::MulIOp>(loc, product, bounds[dim]);
    return product;
  };
  length = multiply(plan.columns);
  Value rows = multiply(plan.rows);
  Value thread =
      gpu::ThreadIdOp::create(rewriter, loc, gpu::Dimension::x).getResult();
  Value threads =
      gpu::BlockDimOp::create(rewriter, loc, gpu::Dimension::x).getResult();
  Value laneCount = constant(rewriter, lanes);
  lane = arith::RemUIOp::create(rewriter, loc, thread, laneCount);
  warp = arith::DivUIOp::create(rewriter, loc, thread, laneCount);
  warps = arith::DivUIOp::create(rewriter, loc, threads, laneCount);
  auto makeByWarps = [&](OpBuilder &builder) {
    makeRows(builder, warpExecutor,
             [&](OpBuilder &inner) { makeRowOfWarp(inner); });
  };
  auto makeByBlock = [&](OpBuilder &builder) {
    makeRows(builder, blockExecutor,
             [&](OpBuilder &inner) { makeRowOfBlock(inner); });
  };
  std::optional<int64_t> rowCount = getConstantIntValue(rows);
  if (!plan.mayTakeBlock || (rowCount && *rowCount >= mostStrips)) {
    makeByWarps(rewriter);
  } else {
    Value isFew = arith::CmpIOp::create(rewriter, loc,
                                        arith::CmpIPredicate::ult, rows, warps);
    Value isLong =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, length,
                              constant(rewriter, leastBlockColumns));
    auto choice = scf::IfOp::create(
        rewriter, loc, arith::AndIOp::create(rewriter, loc, isFew, isLong),
        /*withElseRegion=*/true);
    OpBuilder few = choice.getThenBodyBuilder();
    makeByBlock(few);
    OpBuilder many = choice.getElseBodyBuilder();
    makeByWarps(many);
  }
  rewriter.eraseOp(op);
  return scratchBytes;
}

int64_t gatefold::makeRowLoops(LinalgOp op, const RowPlan &plan,
                               IRRewriter &rewriter) {
  return RowLoops(op, plan, rewriter).run();
}
