// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InterleaveGates.cpp - Panels with the same units of all gates ------===//
//
// A product of a recurrence's step whose columns are gates of one size, each
// read on its own, becomes one whose panels hold the same columns of all gates.
// Whoever multiplies a panel then has all that the elementwise rest of the step
// needs for these columns, so that ranks need no barrier between the two.
//
// Exactness: columns move, and no sum changes.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/schedule/CostModel.h"
#include "passes/schedule/StepPanels.h"
#include "passes/tile/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_INTERLEAVEGATES
#include "passes/tile/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
/// What is read of a product's columns.
struct Gates {
  int64_t count = 0, size = 0;
};

/// Rewrites one product.
class Interleaving {
public:
  Interleaving(IRRewriter &rewriter, LinearOp product, PackOp pack, Gates gates,
               int64_t columns)
      : rewriter(rewriter), product(product), pack(pack), gates(gates),
        columns(columns) {}
  /// Makes the product, and joins its gates to rows.
  void run();

private:
  Value split(Value tensor, int64_t dim);
  Value makePanels();

  IRRewriter &rewriter;
  LinearOp product;
  PackOp pack;
  Gates gates;
  /// Of each gate in a panel.
  int64_t columns;
};
} // namespace

/// A slice of whole rows, some columns of each.
static bool isColumns(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType(), to = slice.getResultType();
  if (from.getRank() != to.getRank() || !slice.hasUnitStride())
    return false;
  int64_t last = from.getRank() - 1;
  ArrayRef<int64_t> offsets = slice.getStaticOffsets();
  return llvm::all_of(offsets.drop_back(),
                      [](int64_t offset) { return offset == 0; }) &&
         !ShapedType::isDynamic(offsets[last]) && !to.isDynamicDim(last);
}

/// Whether an operation does the same with each element of `value`, which all
/// of its results are as large as.
static bool isElementwise(Operation *op, Value value) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumParallelLoops() == generic.getNumLoops() &&
         !generic.hasIndexSemantics() &&
         llvm::all_of(generic->getOpOperands(), [&](OpOperand &operand) {
           bool isFollowed =
               operand.get() == value || generic.isDpsInit(&operand);
           return !isFollowed ||
                  generic.getMatchingIndexingMap(&operand).isIdentity();
         });
}

/// Whether rows get no more than dimensions of one index, as those of a batch
/// of one do.
static bool isOfOnes(tensor::ExpandShapeOp expansion) {
  SmallVector<ReassociationIndices> groups =
      expansion.getReassociationIndices();
  auto isOne = [&](int64_t dim) {
    return expansion.getResultType().getDimSize(dim) == 1;
  };
  return llvm::all_of(ArrayRef(groups).drop_back(),
                      [](const ReassociationIndices &group) {
                        return group.size() == 1;
                      }) &&
         llvm::all_of(ArrayRef(groups.back()).drop_back(), isOne);
}

/// Fills `gates`; or says why the columns are no gates. Nothing is said where
/// all columns are read together: they are one gate.
static std::string findGates(LinearOp product, Gates &gates) {
  int64_t total =
      cast<RankedTensorType>(product.getResult().getType()).getShape().back();
  std::string different = "its columns are not read in parts of one size";
  bool isReadWhole = false;
  // Whole rows, and what is made of each of their elements.
  SmallVector<Value> rows = {product.getResult()};
  SmallVector<Operation *> users;
  for (unsigned i = 0; i < rows.size(); ++i)
    for (Operation *user : rows[i].getUsers()) {
      auto expansion = dyn_cast<tensor::ExpandShapeOp>(user);
      if (!isElementwise(user, rows[i]) && !(expansion && isOfOnes(expansion)))
        users.push_back(user);
      else
        for (Value result : user->getResults())
          if (!llvm::is_contained(rows, result))
            rows.push_back(result);
    }
  for (Operation *user : users) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isColumns(slice)) {
      isReadWhole = true;
      continue;
    }
    int64_t size = slice.getResultType().getShape().back();
    if (gates.size != 0 && gates.size != size)
      return different;
    gates.size = size;
    if (size == 0 || slice.getStaticOffsets().back() % size != 0)
      return different;
  }
  if (gates.size == 0)
    return "";
  if (isReadWhole)
    return "its columns are read together, too, and not only gate by gate";
  if (ShapedType::isDynamic(total) || total % gates.size != 0)
    return different;
  gates.count = total / gates.size;
  return "";
}

/// [.., gates * n, ..] as [.., gates, n, ..].
Value Interleaving::split(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Location loc = product.getLoc();
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, tensor);
  shape[dim] = gates.size;
  shape.insert(shape.begin() + dim, gates.count);
  sizes[dim] = rewriter.getIndexAttr(gates.size);
  sizes.insert(sizes.begin() + dim, rewriter.getIndexAttr(gates.count));
  SmallVector<ReassociationIndices> groups;
  for (int64_t place = 0, end = shape.size(); place < end; ++place) {
    groups.push_back({place});
    if (place == dim)
      groups.back().push_back(++place);
  }
  return tensor::ExpandShapeOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      tensor, groups, sizes);
}

Value Interleaving::makePanels() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(pack);
  Value source = split(pack.getSource(), pack.getColumnDim());
  auto old = cast<RankedTensorType>(pack.getOutput().getType());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, pack.getLoc(), pack.getOutput());
  sizes[0] = rewriter.getIndexAttr(llvm::divideCeil(gates.size, columns));
  sizes[2] = rewriter.getIndexAttr(columns * gates.count);
  Value empty = tensor::EmptyOp::create(rewriter, pack.getLoc(), sizes,
                                        old.getElementType());
  return PackOp::create(rewriter, pack.getLoc(), empty.getType(), source,
                        pack.getAlongAttr(), empty)
      .getResult();
}

/// Whether a value is a product with gates, or made of it element by element.
static bool isOfGates(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto expansion = dyn_cast_if_present<tensor::ExpandShapeOp>(op))
    return isOfGates(expansion.getSrc());
  if (auto product = dyn_cast_if_present<LinearOp>(op))
    return product.hasGates();
  auto generic = dyn_cast_if_present<linalg::GenericOp>(op);
  return generic && llvm::any_of(generic.getDpsInputs(), isOfGates);
}

namespace {
/// Dimensions of one index before the join of gates, in place of behind it.
struct MoveExpansion : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto join = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!join || !isOfGates(join.getSrc()) || !isOfOnes(op))
      return failure();
    RankedTensorType type = op.getResultType();
    int64_t last = type.getRank() - 1;
    RankedTensorType gates = join.getSrcType();
    SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
    groups.push_back({last + 1});
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    shape.pop_back();
    sizes.pop_back();
    for (int64_t size : gates.getShape().take_back(2)) {
      shape.push_back(size);
      sizes.push_back(rewriter.getIndexAttr(size));
    }
    Value expanded = tensor::ExpandShapeOp::create(
        rewriter, op.getLoc(),
        RankedTensorType::get(shape, type.getElementType()), join.getSrc(),
        groups, sizes);
    SmallVector<ReassociationIndices> joined;
    for (int64_t dim = 0; dim <= last; ++dim)
      joined.push_back({dim});
    joined.back().push_back(last + 1);
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(op, type, expanded,
                                                         joined);
    return success();
  }
};
} // namespace

/// What is done element by element with whole rows, done with gates: the join
/// of a product's gates moves behind it.
static void moveJoins(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [](OpOperand *operand) {
        auto join = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
        return join && isa<linalg::GenericOp>(operand->getOwner()) &&
               isOfGates(join.getSrc());
      });
  patterns.add<MoveExpansion>(function.getContext());
  // What it writes is a buffer with gates, too.
  tensor::populateFoldTensorEmptyPatterns(patterns);
  (void)applyPatternsGreedily(function, std::move(patterns));
}

/// Reads of columns of joined gates become reads of gates. What has no form
/// with gates goes on reading whole rows, which are the same memory.
static void readGates(IRRewriter &rewriter, func::FuncOp function) {
  function.walk([&](tensor::ExtractSliceOp reader) {
    auto join = reader.getSource().getDefiningOp<tensor::CollapseShapeOp>();
    if (!join || !isOfGates(join.getSrc()) || !isColumns(reader))
      return;
    int64_t size = join.getSrcType().getShape().back();
    int64_t offset = reader.getStaticOffsets().back();
    if (reader.getResultType().getShape().back() != size || offset % size != 0)
      return;
    rewriter.setInsertionPoint(reader);
    OpFoldResult one = rewriter.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets = reader.getMixedOffsets();
    SmallVector<OpFoldResult> sizes = reader.getMixedSizes();
    offsets.back() = rewriter.getIndexAttr(offset / size);
    offsets.push_back(rewriter.getIndexAttr(0));
    sizes.insert(sizes.end() - 1, one);
    SmallVector<OpFoldResult> strides(sizes.size(), one);
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        reader, reader.getResultType(), join.getSrc(), offsets, sizes, strides);
  });
}

void Interleaving::run() {
  Value panels = makePanels();
  rewriter.setInsertionPoint(product);
  Location loc = product.getLoc();
  auto type = cast<RankedTensorType>(product.getResult().getType());
  int64_t last = type.getRank() - 1;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, product.getOutput());
  sizes[last] = rewriter.getIndexAttr(gates.count);
  sizes.push_back(rewriter.getIndexAttr(gates.size));
  Value output =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  Value initial = product.getInitial();
  if (initial)
    initial =
        split(initial, cast<RankedTensorType>(initial.getType()).getRank() - 1);
  auto interleaved = LinearOp::create(rewriter, loc, output.getType(),
                                      product.getX(), panels, initial, output);
  interleaved->setDiscardableAttrs(product->getDiscardableAttrDictionary());
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim <= last; ++dim)
    groups.push_back({dim});
  groups.back().push_back(last + 1);
  rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
      product, type, interleaved.getResult(), groups);
}

/// Whether both operands have the same 16 bits: warps do not share the terms of
/// such products.
static bool isNarrow(LinearOp product) {
  Type x = getElementTypeOrSelf(product.getX().getType());
  return !x.isF32() && !x.isF64() &&
         x == getElementTypeOrSelf(product.getPanels().getType());
}

namespace {
struct InterleaveGates : gatefold::impl::InterleaveGatesBase<InterleaveGates> {
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    SmallVector<LinearOp> products;
    getOperation().walk([&](LinearOp op) {
      if (op.getResult() && op->hasAttr(stepProductName) && !op.hasGates())
        products.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    SmallVector<Interleaving> interleavings;
    for (LinearOp product : products)
      if (auto interleaving = match(rewriter, product, target))
        interleavings.push_back(std::move(*interleaving));
    if (interleavings.empty())
      return;
    for (Interleaving &interleaving : interleavings)
      interleaving.run();
    moveJoins(getOperation());
    readGates(rewriter, getOperation());
    productsInterleaved += interleavings.size();
  }

  std::optional<Interleaving> match(IRRewriter &rewriter, LinearOp product,
                                    const TargetDescription &target) {
    auto options = remark::RemarkOpts::name("InterleaveGates")
                       .category("gf-interleave-gates");
    Gates gates;
    std::string reason = findGates(product, gates);
    if (reason.empty() && gates.count < 2)
      return std::nullopt;
    auto pack = product.getPanels().getDefiningOp<PackOp>();
    int64_t columns = 0;
    if (reason.empty()) {
      columns = chooseGateColumns(target, gates.size, gates.count);
      if (!pack)
        reason = "its weights are parts of others that are packed together";
      else if (isNarrow(product))
        reason = "its operands have 16 bits";
      else if (product->hasAttr(tileName))
        reason = "its gf.tile says how wide panels are";
      else if (columns == 0)
        reason =
            "a tile has no room for " + std::to_string(gates.count) + " gates";
    }
    if (!reason.empty()) {
      remark::missed(product.getLoc(), options)
          << ("gates of a step are no parts of one panel, since " + reason);
      return std::nullopt;
    }
    remark::passed(product.getLoc(), options)
        << (std::to_string(gates.count) +
            " gates of a step in one product: each panel has " +
            std::to_string(columns) + " columns of each");
    return Interleaving(rewriter, product, pack, gates, columns);
  }
};
} // namespace
