// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LinalgToVectors.cpp - Linalg on buffers to vectors -----------------===//
//
// Loops over explicit vectors for every structured operation that has elements
// side by side.
//
// Exactness: what is not reduced across lanes is computed with the body's own
// operations in the body's order, for full vectors and for the tail alike, so
// the bits of an element do not depend on its place. A row that is reduced
// across lanes is added in another order than one element after the other,
// which has a smaller error bound; the order depends on an element's place in
// its row alone, and neutral elements behind the end of a row change nothing. A
// term of a sum of products is rounded once instead of twice.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/LinalgToVectors.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/cpu/Passes.h"
#include "llvm/ADT/StringExtras.h"

namespace gatefold {
#define GEN_PASS_DEF_LINALGTOVECTORS
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Loops that are one
//===----------------------------------------------------------------------===//

/// Whether loops `dim` and `dim + 1` step through an operand as one loop would.
static bool isOneLoop(Value operand, AffineMap map, unsigned dim) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  if (!map.isFunctionOfDim(dim) && !map.isFunctionOfDim(dim + 1))
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (unsigned outer = 0; outer + 1 < map.getNumResults(); ++outer) {
    auto first = dyn_cast<AffineDimExpr>(map.getResult(outer));
    auto second = dyn_cast<AffineDimExpr>(map.getResult(outer + 1));
    if (!first || !second || first.getPosition() != dim ||
        second.getPosition() != dim + 1)
      continue;
    for (auto [index, expression] : llvm::enumerate(map.getResults()))
      if (index != outer && index != outer + 1 &&
          (expression.isFunctionOfDim(dim) ||
           expression.isFunctionOfDim(dim + 1)))
        return false;
    if (type.getLayout().isIdentity())
      return true;
    int64_t size = type.getDimSize(outer + 1);
    return !ShapedType::isDynamic(size) &&
           !ShapedType::isDynamic(strides[outer]) &&
           !ShapedType::isDynamic(strides[outer + 1]) &&
           strides[outer] == size * strides[outer + 1];
  }
  return false;
}

/// Joins neighbouring loops where all operands allow it, so that lanes are not
/// lost at the end of short rows. `multiples` gives for each loop a number that
/// divides its size.
static LinalgOp joinLoops(LinalgOp op, IRRewriter &rewriter,
                          SmallVector<int64_t> &multiples) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  llvm::SmallDenseSet<unsigned> named;
  op->walk([&](linalg::IndexOp index) { named.insert(index.getDim()); });
  SmallVector<ReassociationIndices> groups;
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    bool joins =
        dim > 0 && kinds[dim] == kinds[dim - 1] && !named.contains(dim) &&
        !named.contains(dim - 1) &&
        llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
          return isOneLoop(operand.get(), op.getMatchingIndexingMap(&operand),
                           dim - 1);
        });
    if (!joins) {
      groups.emplace_back();
      multiples.push_back(1);
    }
    groups.back().push_back(dim);
    if (!ShapedType::isDynamic(sizes[dim]) && sizes[dim] > 0 &&
        sizes[dim] < (1 << 20) && multiples.back() < (1 << 20))
      multiples.back() *= sizes[dim];
  }
  // Upstream joins loops of operands whose places are loops' indices only.
  bool isPlain = llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return map.isProjectedPermutation();
  });
  if (groups.size() == sizes.size() || !isPlain) {
    multiples.assign(sizes.size(), 1);
    return op;
  }
  rewriter.setInsertionPoint(op);
  if (!isa<linalg::GenericOp>(op)) {
    FailureOr<linalg::GenericOp> general =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(general)) {
      multiples.assign(sizes.size(), 1);
      return op;
    }
    op = *general;
  }
  FailureOr<linalg::CollapseResult> joined =
      linalg::collapseOpIterationDims(op, groups, rewriter);
  if (failed(joined)) {
    multiples.assign(sizes.size(), 1);
    return op;
  }
  rewriter.eraseOp(op);
  return joined->collapsedOp;
}

/// Index arithmetic of a body in operations that have a vector form.
static void expandAffine(LinalgOp op, IRRewriter &rewriter) {
  SmallVector<affine::AffineApplyOp> applications;
  op->walk([&](affine::AffineApplyOp apply) { applications.push_back(apply); });
  for (affine::AffineApplyOp apply : applications) {
    rewriter.setInsertionPoint(apply);
    if (auto values =
            affine::expandAffineMap(rewriter, apply.getLoc(),
                                    apply.getAffineMap(), apply.getOperands()))
      rewriter.replaceOp(apply, *values);
  }
}

/// Sums of products with one rounding for each term, as gf.linear has them,
/// where the processor has an instruction for it.
static LinalgOp fuseProducts(LinalgOp op, const TargetDescription &target,
                             IRRewriter &rewriter) {
  if ((target.vectorBytes <= 16 && target.vectorRegisters <= 16) ||
      op.getNumReductionLoops() == 0)
    return op;
  // The bodies of named operations are fixed.
  if (!isa<linalg::GenericOp>(op)) {
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::GenericOp> general =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(general))
      return op;
    op = *general;
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    BlockArgument total = op.getMatchingBlockArgument(&init);
    auto sum =
        op.getMatchingYieldValue(&init)->get().getDefiningOp<arith::AddFOp>();
    if (!sum || !total.hasOneUse() || *total.user_begin() != sum ||
        !(total.getType().isF32() || total.getType().isF64()))
      continue;
    Value term = sum.getLhs() == total ? sum.getRhs() : sum.getLhs();
    auto product = term.getDefiningOp<arith::MulFOp>();
    if (!product || !product->hasOneUse())
      continue;
    rewriter.setInsertionPoint(sum);
    rewriter.replaceOpWithNewOp<math::FmaOp>(sum, product.getLhs(),
                                             product.getRhs(), total);
    rewriter.eraseOp(product);
  }
  return op;
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

/// "copy over [?, 4]", "exp, addf and 2 more over [8]": many operations come
/// from one place in a program.
static std::string describe(LinalgOp op) {
  SmallVector<StringRef> names;
  if (!isa<linalg::GenericOp>(op))
    names.push_back(op->getName().stripDialect());
  else
    for (Operation &inner : op.getBlock()->without_terminator())
      if (!llvm::is_contained(names, inner.getName().stripDialect()))
        names.push_back(inner.getName().stripDialect());
  if (names.empty())
    names.push_back("copy");
  constexpr size_t mostNames = 2;
  std::string text = llvm::join(ArrayRef(names).take_front(mostNames), ", ");
  if (names.size() > mostNames)
    text += " and " + std::to_string(names.size() - mostNames) + " more";
  text += " over [";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(op.getStaticLoopRanges(), stream, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      stream << "?";
    else
      stream << size;
  });
  return text + "]";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LinalgToVectors : gatefold::impl::LinalgToVectorsBase<LinalgToVectors> {
  void runOnOperation() override {
    auto target = TargetDescription::fromModule(
        getOperation()->getParentOfType<ModuleOp>());
    SmallVector<LinalgOp> operations;
    getOperation().walk([&](LinalgOp op) {
      if (op.hasPureBufferSemantics() && op.getNumLoops() > 0)
        operations.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (LinalgOp op : operations) {
      Location loc = op.getLoc();
      SmallVector<int64_t> multiples;
      expandAffine(op, rewriter);
      op = fuseProducts(op, target, rewriter);
      op = joinLoops(op, rewriter, multiples);
      std::string reason;
      std::optional<VectorPlan> plan = planVectors(op, target, reason);
      if (!plan) {
        remark::missed(loc, remark::RemarkOpts::name("vectors").category(
                                "gf-linalg-to-vectors"))
            << (describe(op) + ", one element at a time: " + reason);
        ++operationsLeft;
        continue;
      }
      makeVectorLoops(op, *plan, multiples[plan->dim], rewriter);
      ++operationsVectorized;
    }
  }
};
} // namespace
