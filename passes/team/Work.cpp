// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Work.cpp - How long operations take, roughly -----------------------===//
//
// Products run at some hundred operations per nanosecond, elementwise work at
// the speed of memory, functions of mathematics in between.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Work.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/team/Shares.h"

using namespace mlir;
using namespace gatefold;

/// Of one multiplication and addition; of an element that is loaded and stored;
/// of a function such as exp; of an operation on one element that is none of
/// these, which may be several cycles.
static constexpr int64_t productWork = 2, elementWork = 10, functionWork = 40,
                         scalarWork = 100;
/// Products of numbers beyond it say nothing.
static constexpr int64_t greatestWork = int64_t(1) << 50;

static int64_t saturatingProduct(int64_t left, int64_t right) {
  int64_t product;
  if (llvm::MulOverflow(left, right, product))
    return greatestWork;
  return std::clamp<int64_t>(product, 0, greatestWork);
}

void Work::add(const Work &other) {
  known = std::min(known + other.known, greatestWork);
  for (const Term &term : other.terms) {
    auto same = llvm::find_if(
        terms, [&](const Term &mine) { return mine.sizes == term.sizes; });
    if (same == terms.end())
      terms.push_back(term);
    else
      same->factor = std::min(same->factor + term.factor, greatestWork);
  }
}

void Work::multiply(AffineExpr count) {
  if (auto constant = dyn_cast<AffineConstantExpr>(count)) {
    known = saturatingProduct(known, constant.getValue());
    for (Term &term : terms)
      term.factor = saturatingProduct(term.factor, constant.getValue());
    return;
  }
  if (known)
    terms.push_back({known, {}});
  known = 0;
  for (Term &term : terms)
    term.sizes.push_back(count);
}

int64_t Work::estimate(int64_t open) const {
  int64_t total = known;
  for (const Term &term : terms) {
    int64_t product = term.factor;
    for (size_t i = 0; i < term.sizes.size(); ++i)
      product = saturatingProduct(product, open);
    total = std::min(total + product, greatestWork);
  }
  return total;
}

Value Work::emit(OpBuilder &builder, Location loc,
                 llvm::function_ref<Value(AffineExpr)> emitSize) const {
  // In floating point nothing overflows.
  Type f64 = builder.getF64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(double(value)));
  };
  Value total = constant(known);
  for (const Term &term : terms) {
    Value product = constant(term.factor);
    for (AffineExpr size : term.sizes) {
      Value count = emitSize(size);
      if (!count)
        continue;
      count =
          arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
      count = arith::SIToFPOp::create(builder, loc, f64, count);
      product = arith::MulFOp::create(builder, loc, product, count);
    }
    total = arith::AddFOp::create(builder, loc, total, product);
  }
  return total;
}

/// Of one element of a linalg operation.
static int64_t workOfElement(linalg::LinalgOp op) {
  if (linalg::isaContractionOpInterface(op))
    return productWork * 4;
  int64_t total = elementWork;
  for (Operation &inner : op->getRegion(0).front())
    if (isa<math::ExpOp, math::TanhOp, math::ErfOp, math::LogOp, math::SinOp,
            math::CosOp, math::PowFOp, arith::DivFOp>(inner))
      total += functionWork;
  return total;
}

Work Work::of(Block &block, Extents &extents) {
  Work total;
  for (Operation &op : block)
    total.add(of(&op, extents));
  return total;
}

Work Work::of(Operation *op, Extents &extents) {
  Work work;
  if (auto linear = dyn_cast<LinearOp>(op)) {
    work.known = productWork;
    auto type = cast<ShapedType>(linear.getOutput().getType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      work.multiply(extents.atMost(extents.size(linear.getOutput(), dim)));
    int64_t last = cast<ShapedType>(linear.getX().getType()).getRank() - 1;
    work.multiply(extents.atMost(extents.size(linear.getX(), last)));
    return work;
  }
  if (auto pack = dyn_cast<PackOp>(op)) {
    work.known = elementWork;
    for (int64_t dim = 0; dim < 2; ++dim)
      work.multiply(extents.atMost(extents.size(pack.getSource(), dim)));
    return work;
  }
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    work.known = workOfElement(structured);
    AffineMap sizes = structured.getShapesToLoopsMap();
    SmallVector<AffineExpr> operandSizes;
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<MemRefType>(operand.getType()))
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          operandSizes.push_back(extents.size(operand, dim));
    for (AffineExpr loop : sizes.getResults())
      if (auto place = dyn_cast<AffineDimExpr>(loop))
        work.multiply(extents.atMost(operandSizes[place.getPosition()]));
    return work;
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      work.add(of(block, extents));
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    AffineExpr step = extents.atMost(extents.index(loop.getStep()));
    AffineExpr span = extents.atMost(extents.index(loop.getUpperBound()) -
                                     extents.index(loop.getLowerBound()));
    work.multiply(isa<AffineConstantExpr>(step) ? span.ceilDiv(step) : span);
  } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
    for (auto [bound, step] :
         llvm::zip(loop.getMixedUpperBound(), loop.getMixedStep())) {
      AffineExpr count = extents.atMost(extents.index(bound));
      std::optional<int64_t> known = getConstantIntValue(step);
      work.multiply(known && *known > 0 ? count.ceilDiv(*known) : count);
    }
  } else if (op->getNumRegions() == 0 && !isMemoryEffectFree(op)) {
    work.known = scalarWork;
  }
  return work;
}
