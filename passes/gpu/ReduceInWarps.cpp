// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReduceInWarps.cpp - A warp for a row that is reduced ---------------===//
//
// Which reductions are worth a warp for each row: those whose operands have
// their neighbours along the row. Where they have them from row to row, threads
// that take a row each read memory that lies together already.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/ReduceInWarps.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_REDUCEINWARPS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

/// Shorter rows leave lanes of a warp without work.
static constexpr int64_t leastColumns = TargetDescription::warpThreads;

/// The loop along which an operand is contiguous, if there is one.
static std::optional<unsigned> findNeighbours(Value operand, AffineMap map) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return std::nullopt;
  auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!last || llvm::any_of(map.getResults().drop_back(), [&](AffineExpr e) {
        return e.isFunctionOfDim(last.getPosition());
      }))
    return std::nullopt;
  return last.getPosition();
}

/// Whether an input that is contiguous along `dim` has these elements for one
/// row alone. Where several rows share each input, as in a product of matrices,
/// a thread for each row reads less.
static bool hasOwnElements(LinalgOp op, unsigned dim, ArrayRef<unsigned> rows,
                           ArrayRef<int64_t> sizes) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    return findNeighbours(input->get(), map) == dim &&
           llvm::all_of(rows, [&](unsigned row) {
             return sizes[row] == 1 || map.isFunctionOfDim(row);
           });
  });
}

/// Of each loop: how many of the operands that change along a row are
/// contiguous along it.
static SmallVector<unsigned> countNeighbours(LinalgOp op,
                                             ArrayRef<unsigned> columns) {
  SmallVector<unsigned> counts(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (llvm::none_of(columns,
                      [&](unsigned dim) { return map.isFunctionOfDim(dim); }))
      continue;
    if (auto dim = findNeighbours(operand.get(), map))
      ++counts[*dim];
  }
  return counts;
}

/// Whether the operation's results are partial ones that can be joined, or
/// elements that one point alone writes.
static bool findJoining(LinalgOp op, unsigned dim, VectorPlan &joining) {
  joining.dim = dim;
  joining.isReduction = true;
  joining.choice = findLaneChoice(op, dim);
  SmallVector<unsigned> columns;
  op.getReductionDims(columns);
  bool joins = false;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    bool isCarried = llvm::none_of(
        columns, [&](unsigned dim) { return map.isFunctionOfDim(dim); });
    joining.isCarried.push_back(isCarried);
    joining.combiners.emplace_back();
    unsigned number = init.getOperandNumber() - op.getNumDpsInputs();
    bool isChosen = joining.choice && (number == joining.choice->best ||
                                       number == joining.choice->place);
    if (!isCarried) {
      if (isChosen || !map.isPermutation())
        return false;
      continue;
    }
    joins = true;
    if (!isLaneType(getElementTypeOrSelf(init.get().getType())))
      return false;
    if (isChosen)
      continue;
    joining.combiners.back() =
        findLaneCombiner(op.getMatchingBlockArgument(&init),
                         op.getMatchingYieldValue(&init)->get());
    if (!joining.combiners.back())
      return false;
  }
  return joins && !isInOrder(op, joining.isCarried, joining.choice);
}

/// The product of some sizes, if all are known.
static std::optional<int64_t> multiply(ArrayRef<int64_t> sizes,
                                       ArrayRef<unsigned> dims) {
  int64_t product = 1;
  for (unsigned dim : dims)
    if (ShapedType::isDynamic(sizes[dim]) ||
        llvm::MulOverflow(product, sizes[dim], product))
      return std::nullopt;
  return product;
}

std::optional<RowPlan> gatefold::planRows(LinalgOp op) {
  RowPlan plan;
  op.getReductionDims(plan.columns);
  op.getParallelDims(plan.rows);
  if (plan.columns.empty())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> counts = countNeighbours(op, plan.columns);
  auto along = llvm::max_element(plan.columns, [&](unsigned a, unsigned b) {
    return counts[a] < counts[b];
  });
  unsigned dim = *along;
  // Nothing lies side by side along a loop of one step.
  bool areRowsBetter = llvm::any_of(plan.rows, [&](unsigned row) {
    return sizes[row] != 1 && counts[row] >= counts[dim];
  });
  if (areRowsBetter || !hasOwnElements(op, dim, plan.rows, sizes) ||
      !findJoining(op, dim, plan.joining))
    return std::nullopt;
  plan.columns.erase(along);
  plan.columns.push_back(dim);
  if (auto length = multiply(sizes, plan.columns)) {
    if (*length < leastColumns)
      return std::nullopt;
    plan.mayTakeBlock = *length >= leastBlockColumns;
    plan.strips = std::min<int64_t>(
        mostStrips, llvm::PowerOf2Ceil(llvm::divideCeil(
                        *length, TargetDescription::warpThreads)));
  }
  return plan;
}

/// Threads meet in it, so no call of it may be moved into a branch.
static void markConvergent(func::FuncOp function) {
  SmallVector<Attribute> passed;
  if (auto attributes = function->getAttrOfType<ArrayAttr>("passthrough"))
    llvm::append_range(passed, attributes);
  Builder builder(function.getContext());
  passed.push_back(builder.getStringAttr("convergent"));
  function->setAttr("passthrough", builder.getArrayAttr(passed));
}

namespace {
struct ReduceInWarps : gatefold::impl::ReduceInWarpsBase<ReduceInWarps> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    std::vector<std::pair<LinalgOp, RowPlan>> planned;
    function.walk([&](LinalgOp op) {
      if (op.hasPureBufferSemantics())
        if (std::optional<RowPlan> plan = planRows(op))
          planned.emplace_back(op, std::move(*plan));
    });
    IRRewriter rewriter(&getContext());
    int64_t sharedBytes = 0;
    for (auto &[op, plan] : planned)
      sharedBytes = std::max(sharedBytes, makeRowLoops(op, plan, rewriter));
    if (!planned.empty())
      markConvergent(function);
    if (sharedBytes != 0)
      function->setAttr(sharedBytesName,
                        rewriter.getI64IntegerAttr(sharedBytes));
    reductionsLowered += planned.size();
  }
};
} // namespace
