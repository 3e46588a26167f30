// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileRecurrence.cpp - Recurrence to loops over blocks of steps ------===//
//
// Lowers a recurrence to a loop over its steps, around which a second one goes
// over blocks of steps where a product of all steps can be computed block by
// block; or, as a scan, to a loop over blocks of steps alone.
//
// Exactness: a block's product has the rows of the whole one, and each row is
// computed as it would be in the whole: the same bits, whatever the block.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "passes/tile/Passes.h"
#include "passes/tile/RecurrenceScan.h"
#include "passes/tile/RecurrenceSteps.h"
#include "passes/tile/SequenceBlocks.h"
#include "passes/tile/Slices.h"

namespace gatefold {
#define GEN_PASS_DEF_TILERECURRENCE
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// Lowers one recurrence.
class RecurrenceTiling {
public:
  /// As a scan where `form` is one, else step by step.
  RecurrenceTiling(RecurrenceOp op, const ScanForm *form, IRRewriter &rewriter)
      : op(op), form(form), rewriter(rewriter), loc(op.getLoc()),
        timeAxis(op.getTimeAxisAttr().getInt()),
        steps(op, rewriter, /*isNaive=*/false), blocks(op, rewriter) {}

  LogicalResult run();
  bool isBlocked() const { return blocks.hasProduct(); }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value stepsOfBlock();
  scf::ForOp makeLoop(Value end, Value step, ValueRange initials);
  FailureOr<SmallVector<Value>> makeBlock(Value begin, Value most,
                                          ValueRange carried);
  FailureOr<SmallVector<Value>> makeScan(Value start, Value size,
                                         ValueRange carried);
  scf::ForOp makeSteps(Value start, Value size, ValueRange carried,
                       function_ref<Value(unsigned, Value)> takeBlockStep);

  RecurrenceOp op;
  const ScanForm *form;
  IRRewriter &rewriter;
  Location loc;
  int64_t timeAxis;
  RecurrenceSteps steps;
  SequenceBlocks blocks;
};
} // namespace

/// How many steps make the rows that `gf.step_rows` asks for.
Value RecurrenceTiling::stepsOfBlock() {
  int64_t rows = 1;
  if (auto attribute = op->getAttrOfType<IntegerAttr>(stepRowsName))
    rows = std::max<int64_t>(attribute.getInt(), 1);
  // Without a sequence a state has the leading dimensions.
  Value shown = op.getSequences().empty() ? op.getInitials().front()
                                          : op.getSequences().front();
  Value batch = constant(1);
  for (int64_t dim = 0; dim < timeAxis; ++dim)
    batch = arith::MulIOp::create(rewriter, loc, batch,
                                  getSize(rewriter, loc, shown, dim));
  batch = arith::MaxSIOp::create(rewriter, loc, batch, constant(1));
  Value count = arith::DivSIOp::create(rewriter, loc, constant(rows), batch);
  return arith::MaxSIOp::create(rewriter, loc, count, constant(1));
}

scf::ForOp RecurrenceTiling::makeLoop(Value end, Value step,
                                      ValueRange initials) {
  auto loop =
      scf::ForOp::create(rewriter, loc, constant(0), end, step, initials);
  if (initials.empty())
    rewriter.eraseOp(loop.getBody()->getTerminator());
  rewriter.setInsertionPointToEnd(loop.getBody());
  return loop;
}

/// The steps from `start` on, in the order in which they are to be taken.
scf::ForOp RecurrenceTiling::makeSteps(
    Value start, Value size, ValueRange carried,
    function_ref<Value(unsigned, Value)> takeBlockStep) {
  scf::ForOp loop = makeLoop(size, constant(1), carried);
  Value inBlock = loop.getInductionVar();
  if (op.getReverse()) {
    Value last = arith::SubIOp::create(rewriter, loc, size, constant(1));
    inBlock = arith::SubIOp::create(rewriter, loc, last, inBlock);
  }
  Value time = inBlock;
  if (start)
    time = arith::AddIOp::create(rewriter, loc, start, inBlock);
  SmallVector<Value> next =
      steps.makeStep(time, loop.getRegionIterArgs(), [&](unsigned i) {
        if (Value step = takeBlockStep(i, inBlock))
          return step;
        return takeSlice(rewriter, loc, op.getSequences()[i],
                         {{timeAxis, time}});
      });
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.setInsertionPointAfter(loop);
  return loop;
}

/// A block whose sequences are there where they are computed in blocks.
FailureOr<SmallVector<Value>>
RecurrenceTiling::makeScan(Value start, Value size, ValueRange carried) {
  RecurrenceScan scan(op, *form, rewriter, start, size, steps.getCount());
  for (auto [number, sequence] : llvm::enumerate(op.getSequences()))
    scan.addSequence(number, blocks.get(sequence));
  return scan.make(carried);
}

/// Computes the sequences of a block, then its steps.
FailureOr<SmallVector<Value>>
RecurrenceTiling::makeBlock(Value begin, Value most, ValueRange carried) {
  Value left = arith::SubIOp::create(rewriter, loc, steps.getEnd(), begin);
  Value size = arith::MinSIOp::create(rewriter, loc, left, most);
  Value start = begin;
  if (op.getReverse())
    start = arith::SubIOp::create(rewriter, loc, left, size);
  blocks.beginBlock({start, size});
  if (form)
    return makeScan(start, size, carried);
  SmallVector<Value> parts;
  for (Value sequence : op.getSequences())
    parts.push_back(blocks.isComputed(sequence) ? blocks.get(sequence)
                                                : Value());
  scf::ForOp loop =
      makeSteps(start, size, carried, [&](unsigned i, Value inBlock) -> Value {
        if (!parts[i])
          return {};
        return takeSlice(rewriter, loc, parts[i], {{timeAxis, inBlock}});
      });
  return SmallVector<Value>(loop.getResults());
}

LogicalResult RecurrenceTiling::run() {
  if (failed(steps.begin()))
    return failure();
  if (!form)
    steps.resetInitials();
  if (!form && !isBlocked()) {
    scf::ForOp loop =
        makeSteps(/*start=*/{}, steps.getEnd(), steps.getInitials(),
                  [](unsigned, Value) { return Value(); });
    rewriter.replaceOp(op, steps.finish(loop.getResults()));
    return success();
  }
  // No larger than all steps: a buffer holds that many.
  Value most =
      arith::MinSIOp::create(rewriter, loc, stepsOfBlock(), steps.getCount());
  Value step = arith::MaxSIOp::create(rewriter, loc, most, constant(1));
  scf::ForOp loop = makeLoop(steps.getEnd(), step, steps.getInitials());
  FailureOr<SmallVector<Value>> next =
      makeBlock(loop.getInductionVar(), most, loop.getRegionIterArgs());
  if (failed(next))
    return failure();
  scf::YieldOp::create(rewriter, loc, *next);
  rewriter.setInsertionPointAfter(loop);
  rewriter.replaceOp(op, steps.finish(loop.getResults()));
  blocks.eraseWhole();
  return success();
}

namespace {
struct TileRecurrence : gatefold::impl::TileRecurrenceBase<TileRecurrence> {
  void runOnOperation() override {
    SmallVector<RecurrenceOp> recurrences;
    // Inner ones come first.
    getOperation().walk([&](RecurrenceOp op) {
      if (hasAlgorithm(op, stepsAlgorithm) || hasAlgorithm(op, scanAlgorithm))
        recurrences.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (RecurrenceOp op : recurrences) {
      std::optional<ScanForm> form;
      if (hasAlgorithm(op, scanAlgorithm)) {
        form.emplace(op);
        if (!form->isScan()) {
          op.emitError("recurrence cannot be scheduled as a scan: ")
                  .append(form->getReason())
                  .attachNote(form->getPlace())
              << "it is here";
          return signalPassFailure();
        }
        ++recurrencesScanned;
      }
      RecurrenceTiling tiling(op, form ? &*form : nullptr, rewriter);
      // A scan is in blocks in any case.
      if (!form || tiling.isBlocked())
        report(op, tiling.isBlocked());
      if (failed(tiling.run()))
        return signalPassFailure();
      ++recurrencesTiled;
    }
  }

  void report(RecurrenceOp op, bool isBlocked) {
    auto options =
        remark::RemarkOpts::name("blocks").category("gf-tile-recurrence");
    if (isBlocked) {
      ++recurrencesBlocked;
      remark::passed(op.getLoc(), options)
          << "products of all steps computed block by block, none kept whole";
    } else {
      remark::missed(op.getLoc(), options)
          << "no blocks of steps: no sequence is a product that nothing else "
             "needs";
    }
  }
};
} // namespace
