// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Gates.cpp - Parts of the fusion of gates ---------------------------===//
//
// What values depend on; weights moved and put together; parts of a tensor.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/Gates.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace gatefold;

Origins::Origins(Operation *function) {
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return;
    add(op);
    if (auto recurrence = dyn_cast<RecurrenceOp>(op))
      for (BlockArgument argument :
           recurrence.getBody().getArguments().drop_front(
               recurrence.getSequences().size()))
        ofState.insert(argument);
  });
}

void Origins::add(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  SetVector<Value> sources;
  sources.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), sources);
  bool isOfParameters = isMemoryEffectFree(op), isOfState = false;
  for (Value source : sources) {
    isOfParameters &= ofParameters.contains(source);
    isOfState |= ofState.contains(source);
  }
  if (isOfParameters)
    ofParameters.insert_range(op->getResults());
  if (isOfState)
    ofState.insert_range(op->getResults());
}

void Origins::notifyOperationErased(Operation *op) {
  for (Value result : op->getResults()) {
    ofParameters.erase(result);
    ofState.erase(result);
  }
}

bool Origins::isWeight(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && ofParameters.contains(value);
}

Operation *gatefold::getOutermost(Operation *op) {
  while (!isa<FunctionOpInterface>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

void gatefold::moveWeight(RewriterBase &rewriter, Value value,
                          Operation *anchor) {
  Operation *op = value.getDefiningOp();
  Operation *outermost = getOutermost(op);
  if (outermost != anchor && outermost->isBeforeInBlock(anchor))
    return;
  SetVector<Value> sources;
  sources.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), sources);
  for (Value source : sources)
    if (!op->isAncestor(source.getParentBlock()->getParentOp()))
      moveWeight(rewriter, source, anchor);
  rewriter.moveOpBefore(op, anchor);
}

Value gatefold::concatWeights(RewriterBase &rewriter, Operation *user,
                              int64_t dim, ArrayRef<Value> weights) {
  Operation *anchor = getOutermost(user);
  SmallVector<Location> locations;
  for (Value weight : weights) {
    moveWeight(rewriter, weight, anchor);
    locations.push_back(weight.getLoc());
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(anchor);
  return tensor::ConcatOp::create(rewriter, rewriter.getFusedLoc(locations),
                                  dim, weights);
}

void gatefold::makeParts(RewriterBase &rewriter, Location loc,
                         Partition &partition) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfterValue(partition.whole);
  // The sizes that the destination was made with, so that parts of several
  // tensors are seen to be alike.
  auto destination =
      partition.whole.getDefiningOp<DestinationStyleOpInterface>();
  Value init = destination.getDpsInits()[0];
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getOutputs()[0];
  SmallVector<OpFoldResult> sizes =
      init.getDefiningOp<tensor::EmptyOp>().getMixedSizes();
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  int64_t offset = 0;
  for (int64_t size : partition.sizes) {
    offsets[partition.dim] = rewriter.getIndexAttr(offset);
    sizes[partition.dim] = rewriter.getIndexAttr(size);
    partition.parts.push_back(tensor::ExtractSliceOp::create(
        rewriter, loc, partition.whole, offsets, sizes, strides));
    offset += size;
  }
}

Value gatefold::makeEmptyLike(RewriterBase &rewriter, Location loc, Value init,
                              int64_t dim, int64_t size) {
  auto empty = init.getDefiningOp<tensor::EmptyOp>();
  SmallVector<OpFoldResult> sizes = empty.getMixedSizes();
  sizes[dim] = rewriter.getIndexAttr(size);
  return tensor::EmptyOp::create(rewriter, loc, sizes,
                                 empty.getType().getElementType());
}
