// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ResultSizes.cpp - Sizes of what a region yields --------------------===//
//
// Asks the operation first, then follows the yielded value.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/ResultSizes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "passes/support/SizeResolver.h"
#include "passes/tile/Slices.h"

using namespace mlir;
using namespace gatefold;

FailureOr<SmallVector<SmallVector<OpFoldResult>>> gatefold::getResultSizes(
    OpBuilder &builder, Operation *op, unsigned resultCount, ValueRange yielded,
    function_ref<int64_t(int64_t)> yieldDim, ArgumentSize argumentSize) {
  auto isOutside = [&](Value value) {
    return !op->isAncestor(value.getParentBlock()->getParentOp());
  };
  SizeResolver resolver(
      builder,
      [&](Value shaped, int64_t dim) -> Value {
        auto argument = dyn_cast<BlockArgument>(shaped);
        if (argument && argument.getOwner()->getParentOp() == op)
          return argumentSize(argument, dim);
        if (isOutside(shaped))
          return getSize(builder, op->getLoc(), shaped, dim);
        return {};
      },
      [&](Value index) { return isOutside(index) ? index : Value(); });

  auto shaped = cast<ReifyRankedShapedTypeOpInterface>(op);
  SmallVector<SmallVector<OpFoldResult>> sizes(resultCount);
  for (unsigned i = 0; i < resultCount; ++i) {
    int64_t rank = cast<RankedTensorType>(op->getResult(i).getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      FailureOr<OpFoldResult> size = shaped.reifyDimOfResult(builder, i, dim);
      if (succeeded(size)) {
        sizes[i].push_back(*size);
        continue;
      }
      int64_t inner = yieldDim(dim);
      Value found = inner < 0 ? Value() : resolver.size(yielded[i], inner);
      if (!found)
        return op->emitError("not compiled yet: dimension ")
               << dim << " of result #" << i
               << " has a size that only the region knows";
      sizes[i].push_back(getAsOpFoldResult(found));
    }
  }
  return sizes;
}
