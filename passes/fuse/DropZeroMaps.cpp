// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DropZeroMaps.cpp - Maps whose weight is 0 left out -----------------===//
//
// In the region of an attention, what is multiplied by a constant 0 counts as
// 0, and sums leave it out, so that a softmax of weight 0 has no reader.
//
// Not exact, which is why only --fast-math asks for it: 0 * x is NaN where x is
// NaN or infinite, and -0 + 0 is 0. Of finite numbers all bits are the same, up
// to the sign of a 0.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "passes/fuse/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_DROPZEROMAPS
#include "passes/fuse/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;

namespace {
class ZeroMaps {
public:
  ZeroMaps(AttentionOp op, IRRewriter &rewriter) : op(op), rewriter(rewriter) {}
  /// Rewrites the region; gives how many softmaxes are gone.
  unsigned run();

private:
  bool isZero(Value value);
  bool isZeroMade(Operation *made);
  void visit(GenericOp generic);

  AttentionOp op;
  IRRewriter &rewriter;
  llvm::DenseMap<Value, bool> known;
};
} // namespace

/// What a body makes of its arguments: for each value that is one of them, or
/// 0, which it is.
namespace {
struct BodyValues {
  llvm::DenseSet<Value> zeros;
  llvm::DenseMap<Value, Value> copies;

  Value find(Value value) const {
    Value copy = copies.lookup(value);
    return copy ? copy : value;
  }
  bool isZero(Value value) const {
    return zeros.contains(find(value)) || matchPattern(value, m_AnyZeroFloat());
  }
  void visit(Operation *inner);
};
} // namespace

void BodyValues::visit(Operation *inner) {
  if (inner->getNumResults() != 1)
    return;
  Value result = inner->getResult(0);
  auto operand = [&](unsigned index) { return inner->getOperand(index); };
  if (isa<arith::MulFOp>(inner)) {
    if (isZero(operand(0)) || isZero(operand(1)))
      zeros.insert(result);
  } else if (isa<arith::DivFOp, arith::NegFOp>(inner)) {
    if (isZero(operand(0)))
      zeros.insert(result);
  } else if (isa<arith::AddFOp, arith::SubFOp>(inner)) {
    if (isZero(operand(0)) && isZero(operand(1)))
      zeros.insert(result);
    else if (isZero(operand(1)))
      copies[result] = find(operand(0));
    else if (isZero(operand(0)) && isa<arith::AddFOp>(inner))
      copies[result] = find(operand(1));
  }
}

static BodyValues findBodyValues(GenericOp generic,
                                 llvm::function_ref<bool(Value)> isZero) {
  BodyValues values;
  for (OpOperand *input : generic.getDpsInputOperands())
    if (isZero(input->get()))
      values.zeros.insert(generic.getMatchingBlockArgument(input));
  for (Operation &inner : generic.getBody()->without_terminator())
    values.visit(&inner);
  return values;
}

/// Whether all elements of a tensor are a constant 0.
bool ZeroMaps::isZero(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isOperand =
        argument.getOwner() == &op.getBody().front() &&
        argument.getArgNumber() + 2 < op.getBody().getNumArguments();
    return isOperand && isZero(op->getOperand(argument.getArgNumber()));
  }
  if (!isa<RankedTensorType>(value.getType()))
    return matchPattern(value, m_AnyZeroFloat());
  auto found = known.find(value);
  if (found == known.end()) {
    bool isMade = isZeroMade(value.getDefiningOp());
    found = known.insert({value, isMade}).first;
  }
  return found->second;
}

bool ZeroMaps::isZeroMade(Operation *made) {
  if (matchPattern(made, m_AnyZeroFloat()))
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(made))
    return matchPattern(fill.value(), m_AnyZeroFloat());
  if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp>(made))
    return isZero(made->getOperand(0));
  if (auto values = dyn_cast<RowValuesOp>(made))
    return isZero(values.getWeights());
  auto generic = dyn_cast<GenericOp>(made);
  if (!generic || generic.getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  BodyValues values =
      findBodyValues(generic, [&](Value input) { return isZero(input); });
  return values.isZero(generic.getBody()->getTerminator()->getOperand(0));
}

/// A sum of one term that is not 0 is that term.
void ZeroMaps::visit(GenericOp generic) {
  if (generic.getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops())
    return;
  auto isZeroInput = [&](Value input) { return isZero(input); };
  if (llvm::none_of(generic.getInputs(), isZeroInput))
    return;
  BodyValues values = findBodyValues(generic, isZeroInput);
  Value yielded =
      values.find(generic.getBody()->getTerminator()->getOperand(0));
  AffineMap result =
      generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  for (OpOperand *input : generic.getDpsInputOperands())
    if (yielded == generic.getMatchingBlockArgument(input) &&
        !isZero(input->get()) &&
        generic.getMatchingIndexingMap(input) == result &&
        input->get().getType() == generic.getResult(0).getType())
      return rewriter.replaceOp(generic, input->get());
}

unsigned ZeroMaps::run() {
  Block &region = op.getBody().front();
  unsigned before = llvm::range_size(region.getOps<RowSoftmaxOp>());
  for (GenericOp generic : llvm::to_vector(region.getOps<GenericOp>()))
    visit(generic);
  // Products with weights of 0.
  for (RowValuesOp product : llvm::to_vector(region.getOps<RowValuesOp>())) {
    if (!isZero(product.getWeights()) || product.getType().isDynamicDim(0))
      continue;
    rewriter.setInsertionPoint(product);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        product, DenseElementsAttr::get(
                     product.getType(),
                     rewriter.getZeroAttr(product.getType().getElementType())));
  }
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(region)))
    if (isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
  return before - llvm::range_size(region.getOps<RowSoftmaxOp>());
}

namespace {
struct DropZeroMaps : gatefold::impl::DropZeroMapsBase<DropZeroMaps> {
  void runOnOperation() override {
    SmallVector<AttentionOp> all;
    getOperation().walk([&](AttentionOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : all) {
      unsigned count = ZeroMaps(op, rewriter).run();
      mapsDropped += count;
      if (count)
        remark::passed(
            op.getLoc(),
            remark::RemarkOpts::name("zero-map").category("gf-drop-zero-maps"))
            << ("attention: " + std::to_string(count) +
                (count == 1 ? " map" : " maps") +
                " of weight 0 left out, as fast-math allows");
    }
  }
};
} // namespace
