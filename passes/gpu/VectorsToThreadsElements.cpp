// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsElements.cpp - Work on a thread's elements ---------===//
//
// Elementwise operations, broadcasts, and sums along rows.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/gpu/VectorsToThreads.h"

using namespace mlir;
using namespace gatefold;

/// The exponential of a number in f32, with an error of some units of its last
/// place, and 0 where it would be denormal. Of a difference, as softmaxes have
/// it, the logarithm's base is changed in each part: the subtrahend's is the
/// same for a whole row.
static Value buildFastExp(OpBuilder &builder, Location loc, Value x) {
  Type f32 = builder.getF32Type();
  Value log2e = arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(1.44269504088896340736f));
  Value scaled;
  if (auto difference = x.getDefiningOp<arith::SubFOp>()) {
    Value negated = arith::NegFOp::create(builder, loc, difference.getRhs());
    Value rest = arith::MulFOp::create(builder, loc, negated, log2e);
    // A constant factor of the minuend joins that of the base.
    Value from = difference.getLhs(), factor = log2e;
    APFloat number(0.0f);
    if (auto product = from.getDefiningOp<arith::MulFOp>();
        product && matchPattern(product.getRhs(), m_ConstantFloat(&number))) {
      from = product.getLhs();
      factor = arith::ConstantOp::create(
          builder, loc,
          builder.getF32FloatAttr(number.convertToFloat() *
                                  1.44269504088896340736f));
    }
    scaled = math::FmaOp::create(builder, loc, from, factor, rest);
  } else {
    scaled = arith::MulFOp::create(builder, loc, x, log2e);
  }
  auto call = LLVM::CallIntrinsicOp::create(
      builder, loc, f32, builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
      scaled);
  return call->getResult(0);
}

namespace {
/// Any operation that does the same with each element.
class LowerElementwise : public ConversionPattern {
public:
  LowerElementwise(const TypeConverter &converter, MLIRContext *context,
                   const VectorFunction &function)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          context),
        function(function) {}
  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return failure();
    Type type = op->getResult(0).getType();
    Type element = getElementTypeOrSelf(type);
    SmallVector<Value> values;
    for (int64_t i = 0, count = function.place.getLayout(type).size();
         i < count; ++i) {
      SmallVector<Value> each;
      for (auto [range, operand] : llvm::zip(operands, op->getOperands()))
        each.push_back(isa<VectorType>(operand.getType()) ? range[i]
                                                          : range.front());
      if (function.hasFastExp && isa<math::ExpOp>(op) && element.isF32()) {
        values.push_back(buildFastExp(rewriter, op->getLoc(), each.front()));
        continue;
      }
      OperationState state(op->getLoc(), op->getName(), each, {element},
                           op->getAttrs());
      values.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }

private:
  const VectorFunction &function;
};

class LowerConstant : public VectorPattern<arith::ConstantOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto value = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!value)
      return failure();
    Value element = arith::ConstantOp::create(rewriter, op.getLoc(),
                                              value.getSplatValue<TypedAttr>());
    SmallVector<Value> values(function.place.getLayout(op.getType()).size(),
                              element);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

class LowerBroadcast : public VectorPattern<vector::BroadcastOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::BroadcastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    VectorLayout to = function.place.getLayout(op.getType());
    ValueRange source = adaptor.getSource();
    SmallVector<Value> values;
    if (!isa<VectorType>(op.getSourceType())) {
      values.assign(to.size(), source.front());
    } else {
      VectorLayout from = function.place.getLayout(op.getSourceType());
      for (int64_t row = 0; row < to.getRows(); ++row)
        for (int64_t column = 0; column < to.getColumns(); ++column)
          values.push_back(source[from.getIndex(row, column)]);
    }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

/// Values of rows with and without a dimension of one column.
class LowerShapeCast : public VectorPattern<vector::ShapeCastOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::ShapeCastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op,
                                   {SmallVector<Value>(adaptor.getSource())});
    return success();
  }
};

/// Some columns of a tile: values that each thread has.
class LowerSlice : public VectorPattern<vector::ExtractStridedSliceOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::ExtractStridedSliceOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    VectorLayout from = function.place.getLayout(op.getSourceVectorType());
    VectorLayout to = function.place.getLayout(op.getType());
    // Of 8 columns a thread has two.
    int64_t first = cast<IntegerAttr>(op.getOffsets()[1]).getInt() / 8 * 2;
    ValueRange source = adaptor.getSource();
    SmallVector<Value> values;
    for (int64_t row = 0; row < to.getRows(); ++row)
      for (int64_t column = 0; column < to.getColumns(); ++column)
        values.push_back(source[from.getIndex(row, first + column)]);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

/// The numbers of rows or of columns: a step that is cast to a row or a column,
/// or one that is broadcast, which makes it a row.
class LowerStep : public ConversionPattern {
public:
  LowerStep(MLIRContext *context, const VectorFunction &function)
      : ConversionPattern(MatchAnyOpTypeTag(), /*benefit=*/2, context),
        function(function) {}
  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange>,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isUseOfStep(op))
      return failure();
    Location loc = op->getLoc();
    auto type = cast<VectorType>(op->getResult(0).getType());
    VectorLayout layout = function.place.getLayout(type);
    bool isOfRows = type.getDimSize(1) == 1;
    Value first = isOfRows
                      ? function.place.getFirstRow(rewriter, loc, layout)
                      : function.place.getFirstColumn(rewriter, loc, layout);
    first = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(),
                                         first);
    SmallVector<Value> numbers;
    for (int64_t i = 0,
                 count = isOfRows ? layout.getRows() : layout.getColumns();
         i < count; ++i)
      numbers.push_back(arith::AddIOp::create(
          rewriter, loc, first,
          arith::ConstantIndexOp::create(
              rewriter, loc,
              isOfRows ? VectorLayout::getRowStep(i)
                       : VectorLayout::getColumnStep(i))));
    SmallVector<Value> values;
    for (int64_t row = 0; row < layout.getRows(); ++row)
      for (int64_t column = 0; column < layout.getColumns(); ++column)
        values.push_back(numbers[isOfRows ? row : column]);
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }

private:
  const VectorFunction &function;
};
} // namespace

bool gatefold::isUseOfStep(Operation *op) {
  return isa<vector::ShapeCastOp, vector::BroadcastOp>(op) &&
         op->getOperand(0).getDefiningOp<vector::StepOp>();
}

/// What the lane whose number differs in `bits` has for this value.
static Value shuffle(OpBuilder &builder, Location loc, Value value,
                     int64_t bits) {
  Type type = value.getType();
  Type i32 = builder.getI32Type();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i32, value);
  };
  if (type.isF16() || type.isBF16()) {
    Value wide =
        arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
    return arith::TruncFOp::create(builder, loc, type,
                                   shuffle(builder, loc, wide, bits));
  }
  if (type.isInteger() && type.getIntOrFloatBitWidth() < 32) {
    Value wide = arith::ExtUIOp::create(builder, loc, i32, value);
    return arith::TruncIOp::create(builder, loc, type,
                                   shuffle(builder, loc, wide, bits));
  }
  return NVVM::ShflOp::create(builder, loc, type, number(-1), value,
                              number(bits), number(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

namespace {
/// Along a row: first what a lane has, in the order of columns, then the lanes
/// of a quad in pairs. All get the same bits.
class LowerReduction : public VectorPattern<vector::MultiDimReductionOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::MultiDimReductionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorLayout layout = function.place.getLayout(op.getSourceVectorType());
    auto combine = [&](Value a, Value b) {
      return vector::makeArithReduction(rewriter, loc, op.getKind(), a, b);
    };
    SmallVector<Value> values;
    for (int64_t row = 0; row < layout.getRows(); ++row) {
      Value value = adaptor.getSource()[layout.getIndex(row, 0)];
      for (int64_t column = 1; column < layout.getColumns(); ++column)
        value =
            combine(value, adaptor.getSource()[layout.getIndex(row, column)]);
      for (int64_t bits : {1, 2})
        value = combine(value, shuffle(rewriter, loc, value, bits));
      values.push_back(combine(value, adaptor.getAcc()[row]));
    }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};
} // namespace

void gatefold::populateElementPatterns(const TypeConverter &converter,
                                       const VectorFunction &function,
                                       RewritePatternSet &patterns) {
  patterns.add<LowerElementwise, LowerConstant, LowerBroadcast, LowerShapeCast,
               LowerSlice, LowerReduction>(converter, patterns.getContext(),
                                           function);
  patterns.add<LowerStep>(patterns.getContext(), function);
}
