// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileLinear.cpp - Sums of products as packed products ---------------===//
//
// Each sum of products that pays for packing becomes gf.pack and gf.linear.
// The terms are those of the program; they are added in the order in which the
// rows hold them, beginning with what is added to the sum: within the rounding
// of a sum of floats.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/TileLinear.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/schedule/CostModel.h"
#include "passes/schedule/StepPanels.h"
#include "passes/tile/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_TILELINEAR
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

/// Windows that overlap more often take memory, not time.
static constexpr int64_t mostOverlaps = 32;

static std::string nameCount(int64_t count) {
  return ShapedType::isDynamic(count) ? "?" : std::to_string(count);
}

static remark::RemarkOpts remarkOptions() {
  return remark::RemarkOpts::name("product").category("gf-tile-linear");
}

/// Whether an operation is done in each step of a recurrence: in a loop from
/// one step to the next that has no other one in it, and is none over blocks.
static bool isInStep(LinalgOp op) {
  auto loop = op->getParentOfType<scf::ForOp>();
  return loop && getConstantIntValue(loop.getStep()) == 1 &&
         !loop.getBody()
              ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// Adds what the sum began with, which gf.linear was not given.
static Value addInitial(IRRewriter &rewriter, LinalgOp op, Value product) {
  Value initial = op.getDpsInits()[0];
  if (isZeroTensor(initial))
    return product;
  auto type = cast<RankedTensorType>(product.getType());
  AffineMap map = rewriter.getMultiDimIdentityMap(type.getRank());
  Value empty = tensor::EmptyOp::create(
      rewriter, op.getLoc(),
      tensor::getMixedSizes(rewriter, op.getLoc(), initial),
      type.getElementType());
  return linalg::GenericOp::create(
             rewriter, op.getLoc(), type, ValueRange{product, initial}, empty,
             ArrayRef<AffineMap>{map, map, map},
             SmallVector<utils::IteratorType>(type.getRank(),
                                              utils::IteratorType::parallel),
             [](OpBuilder &inner, Location loc, ValueRange arguments) {
               Value sum = arith::AddFOp::create(inner, loc, arguments[0],
                                                 arguments[1]);
               linalg::YieldOp::create(inner, loc, sum);
             })
      .getResult(0);
}

namespace {
struct TileLinear : gatefold::impl::TileLinearBase<TileLinear> {
  using Base::Base;
  void runOnOperation() override;

private:
  void lower(IRRewriter &rewriter, LinalgOp op,
             const TargetDescription &target);
  void moveReshapes();
};
} // namespace

void TileLinear::lower(IRRewriter &rewriter, LinalgOp op,
                       const TargetDescription &target) {
  std::string reason;
  FailureOr<Contraction> contraction = matchContraction(op, reason);
  if (failed(contraction)) {
    remark::missed(op.getLoc(), remarkOptions())
        << ("product not packed: " + reason);
    return;
  }
  int64_t columns = contraction->count(contraction->columns);
  std::string sizes = nameCount(columns) + "x" +
                      nameCount(contraction->count(contraction->summed));
  ProductForm form = chooseProductForm(
      target, getElementTypeOrSelf(op->getResult(0).getType()),
      contraction->count(contraction->rows), columns, contraction->isPrepared);
  if (contraction->isPrepared && isInStep(op)) {
    form.panelWidth = chooseStepPanelWidth(target, columns, form.panelWidth);
    contraction->isOfStep = target.isGpu();
  }
  if (int64_t overlaps = contraction->countOverlaps();
      ShapedType::isDynamic(overlaps) || overlaps > mostOverlaps)
    form = {0, "its windows would hold each element " + nameCount(overlaps) +
                   " times"};
  if (auto given = op->getAttrOfType<IntegerAttr>(tileName))
    form = {given.getInt(), "as its gf.tile says"};
  if (panelWidth >= 0 && !op->hasAttr(attentionProductName))
    form = {panelWidth, "as the schedule says"};
  if (form.panelWidth < 0 || form.panelWidth > mostPanelWidth) {
    op->emitError("expected a width of panels from 0 to ")
        << mostPanelWidth << " as gf.tile, found " << form.panelWidth;
    return signalPassFailure();
  }
  if (form.panelWidth == 0 || contraction->columns.empty()) {
    remark::missed(op.getLoc(), remarkOptions())
        << ("product " + sizes + " not packed: " + form.reason);
    return;
  }
  remark::passed(op.getLoc(), remarkOptions())
      << ("product " + sizes + " packed in panels of " +
          std::to_string(form.panelWidth) +
          (contraction->isPrepared ? ", weights prepared once"
                                   : ", packed in each run"));
  rewriter.setInsertionPoint(op);
  Value product = buildLinear(rewriter, *contraction, form.panelWidth);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(op, addInitial(rewriter, op, product));
  ++productsPacked;
  if (getTransposition(product))
    sinkTransposition(rewriter, product);
}

/// Element by element operations before the expansion of a result, so that
/// they stand next to the product.
void TileLinear::moveReshapes() {
  RewritePatternSet patterns(&getContext());
  linalg::populateFoldReshapeOpsByCollapsingPatterns(
      patterns, [](OpOperand *operand) {
        auto user = dyn_cast<linalg::GenericOp>(operand->getOwner());
        return user && user.getNumReductionLoops() == 0 &&
               operand->get().getDefiningOp<tensor::ExpandShapeOp>();
      });
  // No size is asked of an expansion, so that a product has one use.
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, &getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  (void)applyPatternsGreedily(getOperation(), std::move(patterns));
}

void TileLinear::runOnOperation() {
  func::FuncOp function = getOperation();
  auto target =
      TargetDescription::fromModule(function->getParentOfType<ModuleOp>());
  IRRewriter rewriter(&getContext());
  SmallVector<LinalgOp> operations;
  function.walk([&](LinalgOp op) {
    if (isProductSum(op))
      operations.push_back(op);
  });
  // In order, so that each product sees how the one before it left its result.
  for (LinalgOp op : operations)
    lower(rewriter, op, target);
  moveReshapes();
  initialsFolded += foldInitials(rewriter, function);
}
