// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceEdits.cpp - More sequences, more outputs -----------------===//
//
// Makes a recurrence again with what a fusion adds to it.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/RecurrenceEdits.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

/// Makes `op` again, with its region, before the rewriter's insertion point;
/// its results stay for the caller to replace.
static RecurrenceOp makeAgain(RewriterBase &rewriter, RecurrenceOp op,
                              TypeRange outputTypes, ValueRange sequences) {
  Value steps = sequences.empty() ? op.getSteps() : Value();
  auto again = RecurrenceOp::create(
      rewriter, op.getLoc(), outputTypes, sequences, op.getInitials(),
      op.getLengths(), op.getResets(), op.getResetStates(), steps,
      op.getTimeAxisAttr().getInt(), op.getReverse());
  again->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.eraseBlock(&again.getBody().front());
  rewriter.inlineRegionBefore(op.getBody(), again.getBody(),
                              again.getBody().begin());
  return again;
}

RecurrenceOp gatefold::addSequences(RewriterBase &rewriter, RecurrenceOp op,
                                    ValueRange values, ValueRange wholes) {
  rewriter.setInsertionPoint(op);
  SmallVector<Value> sequences(op.getSequences());
  unsigned before = sequences.size();
  llvm::append_range(sequences, wholes);
  SmallVector<Type> outputTypes(op.getResultTypes());
  outputTypes.resize(op.getNumOutputs());
  RecurrenceOp again = makeAgain(rewriter, op, outputTypes, sequences);
  Block &body = again.getBody().front();
  for (auto [index, value] : llvm::enumerate(values)) {
    BlockArgument step =
        body.insertArgument(before + index, value.getType(), value.getLoc());
    rewriter.replaceAllUsesWith(value, step);
  }
  rewriter.replaceOp(op, again.getResults());
  return again;
}

RecurrenceOp gatefold::addOutputs(RewriterBase &rewriter, RecurrenceOp op,
                                  ValueRange values) {
  rewriter.setInsertionPoint(op);
  unsigned outputCount = op.getNumOutputs();
  int64_t timeAxis = op.getTimeAxisAttr().getInt();
  int64_t steps = ShapedType::kDynamic;
  if (!op.getSequences().empty())
    steps = cast<RankedTensorType>(op.getSequences().front().getType())
                .getDimSize(timeAxis);
  SmallVector<Type> outputTypes(op.getResultTypes());
  outputTypes.resize(outputCount);
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + timeAxis, steps);
    outputTypes.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  YieldOp yield = op.getYield();
  SmallVector<Value> yielded(yield.getValues());
  yielded.insert(yielded.begin() + outputCount, values.begin(), values.end());
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(yielded); });

  RecurrenceOp again = makeAgain(rewriter, op, outputTypes,
                                 SmallVector<Value>(op.getSequences()));
  SmallVector<Value> results(again.getResults());
  results.erase(results.begin() + outputCount,
                results.begin() + outputCount + values.size());
  rewriter.replaceOp(op, results);
  return again;
}

RecurrenceOp gatefold::dropUnusedOutputs(RewriterBase &rewriter,
                                         RecurrenceOp op) {
  rewriter.setInsertionPoint(op);
  SmallVector<Type> outputTypes;
  SmallVector<Value> yielded, kept;
  YieldOp yield = op.getYield();
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    bool isOutput = index < op.getNumOutputs();
    if (isOutput && op.getResult(index).use_empty())
      continue;
    yielded.push_back(value);
    kept.push_back(op.getResult(index));
    if (isOutput)
      outputTypes.push_back(op.getResult(index).getType());
  }
  if (yielded.size() == op.getNumResults())
    return op;
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(yielded); });
  RecurrenceOp again = makeAgain(rewriter, op, outputTypes,
                                 SmallVector<Value>(op.getSequences()));
  for (auto [before, after] : llvm::zip(kept, again.getResults()))
    rewriter.replaceAllUsesWith(before, after);
  rewriter.eraseOp(op);
  return again;
}
