// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CostModel.cpp - What an algorithm's sizes are chosen from ----------===//
//
// The numbers behind the choice of algorithms.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CostModel.h"
#include "passes/support/Algorithms.h"

using namespace mlir;
using namespace gatefold;

StringRef gatefold::chooseAlgorithm(Operation *op) {
  return isa<RecurrenceOp>(op) ? StringRef(stepsAlgorithm)
                               : StringRef(residentAlgorithm);
}

/// Bytes of one row of a sequence: what one step holds of one batch element.
/// Open sizes count as 1.
static int64_t rowBytes(Value sequence, int64_t timeAxis) {
  auto type = cast<RankedTensorType>(sequence.getType());
  int64_t bytes = llvm::divideCeil(
      type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape().drop_front(timeAxis + 1))
    if (!ShapedType::isDynamic(size) &&
        llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return std::numeric_limits<int64_t>::max();
  return bytes;
}

int64_t gatefold::chooseStepRows(RecurrenceOp op,
                                 const TargetDescription &target) {
  // The other three quarters are for the weights, of which a step reads the
  // recurrent ones again and again.
  int64_t budget = target.secondCacheBytes / 4;
  // Fewer rows would read the weights of the product too often, more would not
  // be noticed.
  constexpr int64_t least = 32, most = 256;
  int64_t bytes = 0;
  for (Value sequence : op.getSequences())
    if (llvm::AddOverflow(
            bytes, rowBytes(sequence, op.getTimeAxisAttr().getInt()), bytes))
      return least;
  int64_t rows = std::clamp(budget / std::max<int64_t>(bytes, 1), least, most);
  return rows - rows % target.getTileRows();
}

int64_t gatefold::chooseQueryBlock(AttentionOp op,
                                   const TargetDescription &target) {
  // Half of the cache: panels of keys and values go through the other.
  int64_t budget = target.secondCacheBytes / 2;
  // With fewer rows keys and values are read too often; more are not noticed.
  constexpr int64_t least = 24, most = 48;
  // Where the number of keys is open.
  constexpr int64_t usualKeys = 4096;
  int64_t maps = llvm::range_size(op.getBody().getOps<RowSoftmaxOp>());
  auto key = cast<RankedTensorType>(op.getKeyArguments().front().getType());
  int64_t keys = key.isDynamicDim(0) ? usualKeys : key.getDimSize(0);
  keys = std::clamp<int64_t>(keys, 1, int64_t(1) << 40);
  maps = std::clamp<int64_t>(maps, 1, 1 << 10);
  int64_t rows = std::clamp(budget / (maps * keys * 4), least, most);
  return rows - rows % target.getTileRows();
}
