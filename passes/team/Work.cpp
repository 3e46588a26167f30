// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Work.cpp - How long operations take, roughly -----------------------===//
//
// By the rates of the target (support/WorkRates.h).
//
//===----------------------------------------------------------------------===//

#include "passes/team/Work.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/team/Shares.h"

using namespace mlir;
using namespace gatefold;

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
static int64_t workOfElement(linalg::LinalgOp op, const WorkRates &rates) {
  if (linalg::isaContractionOpInterface(op))
    return rates.contraction;
  int64_t total = rates.element;
  for (Operation &inner : op->getRegion(0).front())
    if (isa<math::ExpOp, math::TanhOp, math::ErfOp, math::LogOp, math::SinOp,
            math::CosOp, math::PowFOp, arith::DivFOp>(inner))
      total += rates.function;
  return total;
}

/// Of an operation on vectors, which a block of a GPU executes as a whole.
static int64_t workOfVectors(Operation *op, const WorkRates &rates) {
  auto count = [](Type type) -> int64_t {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? vector.getNumElements() : 0;
  };
  if (auto product = dyn_cast<vector::ContractionOp>(op)) {
    auto left = product.getLhsType();
    return saturatingProduct(count(product.getResultType()),
                             left.getShape().back()) *
           rates.product;
  }
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements = std::max(elements, count(type));
  for (Type type : op->getOperandTypes())
    elements = std::max(elements, count(type));
  bool isMemory =
      isa<vector::TransferReadOp, vector::TransferWriteOp, vector::GatherOp>(
          op);
  bool isFunction = isa<math::MathDialect>(op->getDialect());
  // Anything else is an instruction, as a function is some twenty of.
  int64_t each = isMemory ? rates.element : rates.function;
  int64_t total = saturatingProduct(elements, each);
  return isMemory || isFunction ? total : total / 20;
}

Work Work::of(Block &block, Extents &extents) {
  Work total;
  for (Operation &op : block)
    total.add(of(&op, extents));
  return total;
}

Work Work::of(Operation *op, Extents &extents) {
  const WorkRates &rates = extents.getRates();
  Work work;
  if (auto linear = dyn_cast<LinearOp>(op)) {
    int64_t last = cast<ShapedType>(linear.getX().getType()).getRank() - 1;
    int64_t rank = cast<ShapedType>(linear.getOutput().getType()).getRank();
    Work weights;
    work.known = rates.product;
    weights.known = rates.weight;
    for (int64_t dim = 0; dim < rank; ++dim) {
      AffineExpr size = extents.atMost(extents.size(linear.getOutput(), dim));
      work.multiply(size);
      if (dim >= last)
        weights.multiply(size);
    }
    AffineExpr depth = extents.atMost(extents.size(linear.getX(), last));
    work.multiply(depth);
    weights.multiply(depth);
    work.add(weights);
    return work;
  }
  if (auto pack = dyn_cast<PackOp>(op)) {
    work.known = rates.element;
    int64_t rank = cast<ShapedType>(pack.getSource().getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      work.multiply(extents.atMost(extents.size(pack.getSource(), dim)));
    return work;
  }
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured && structured.hasPureBufferSemantics()) {
    work.known = workOfElement(structured, rates);
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
  } else if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<VectorType>) ||
             llvm::any_of(op->getOperandTypes(), llvm::IsaPred<VectorType>)) {
    work.known = workOfVectors(op, rates);
  } else if (op->getNumRegions() == 0 && !isMemoryEffectFree(op)) {
    work.known = rates.scalar;
  }
  return work;
}
