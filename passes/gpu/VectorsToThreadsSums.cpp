// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsSums.cpp - Sums whose terms warps share ------------===//
//
// Where warps share the terms of products, each has a sum of its own until the
// loops that carry it end. Then they are joined through shared memory, in
// order:
//
//     barrier       nobody reads the last sums any more
//     all warps     write what their lanes have
//     barrier
//     each warp     reads some elements of all warps, writes 0 + their sum
//     barrier
//     all warps     read the sums
//
// So all have what a warp with all terms would have.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/gpu/SharedTile.h"
#include "passes/gpu/VectorsToThreads.h"
#include "passes/support/Target.h"

using namespace mlir;
using namespace gatefold;

/// Attribute of a vector.shape_cast that stands for the join of a sum.
static constexpr StringLiteral joinName = "gf.join";

/// What lanes exchange at once are neighbours in a row.
static constexpr int64_t pairSize = 2;
/// Pairs of a lane that are joined at a time, at most.
static constexpr int64_t mostPairs = 8;

int64_t gatefold::getJoinBytes(WarpGrid grid) {
  constexpr int64_t numberBytes = 4, lanes = 32;
  return grid.size() * mostPairs * lanes * pairSize * numberBytes;
}

/// The sum that the product is added to, seen from outside of the loops that
/// carry it; null if one of them or something else uses a part of it.
static Value findWholeSum(vector::ContractionOp op) {
  Value sum = op.getResult(), begin = op.getAcc();
  while (auto argument = dyn_cast<BlockArgument>(begin)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar() || !argument.hasOneUse() ||
        !sum.hasOneUse())
      return {};
    OpOperand &use = *sum.getUses().begin();
    OpResult result = loop.getTiedLoopResult(argument);
    if (use.getOwner() != loop.getBody()->getTerminator() ||
        use.getOperandNumber() != result.getResultNumber())
      return {};
    begin = loop.getTiedLoopInit(argument)->get();
    sum = result;
  }
  return matchPattern(begin, m_AnyZeroFloat()) ? sum : Value();
}

LogicalResult gatefold::markSums(func::FuncOp function, WarpGrid grid) {
  if (grid.terms == 1)
    return success();
  WalkResult result = function.walk([&](vector::ContractionOp op) {
    Value sum = findWholeSum(op);
    if (!sum)
      return WalkResult(op.emitError(
          "warps share the terms of a product, which is no sum "
          "that begins with 0 and is used behind its loops alone"));
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfterValue(sum);
    auto join =
        vector::ShapeCastOp::create(builder, op.getLoc(), sum.getType(), sum);
    join->setAttr(joinName, builder.getUnitAttr());
    sum.replaceAllUsesExcept(join, join);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
class LowerJoin : public VectorPattern<vector::ShapeCastOp> {
public:
  LowerJoin(const TypeConverter &converter, MLIRContext *context,
            const VectorFunction &function)
      : VectorPattern(converter, context, function, /*benefit=*/2) {}
  LogicalResult
  matchAndRewrite(vector::ShapeCastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op->hasAttr(joinName))
      return failure();
    SmallVector<Value> values(adaptor.getSource());
    for (size_t begin = 0; begin < values.size(); begin += pairSize * mostPairs)
      join(rewriter, op.getLoc(),
           MutableArrayRef(values).slice(begin).take_front(pairSize *
                                                           mostPairs));
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }

private:
  void join(OpBuilder &builder, Location loc,
            MutableArrayRef<Value> values) const;
};
} // namespace

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

void LowerJoin::join(OpBuilder &builder, Location loc,
                     MutableArrayRef<Value> values) const {
  const ThreadPlace &place = function.place;
  WarpGrid grid = place.getGrid();
  int64_t pairs = values.size() / pairSize;
  Type f32 = builder.getF32Type();
  auto pairType = VectorType::get(pairSize, f32);
  Value base = SharedTile::buildBase(builder, loc, function.joinMemory);
  auto plus = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b);
  };
  auto times = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, number(builder, loc, b));
  };
  // Of each part of the terms, each pair, each warp of rows and columns, and
  // each lane.
  Value warp =
      plus(times(place.getWarpColumn(), grid.rows), place.getWarpRow());
  Value inPair =
      plus(times(warp, TargetDescription::warpThreads), place.getLane());
  int64_t pairStep = grid.rows * grid.columns * TargetDescription::warpThreads;
  auto getPointer = [&](Value part, Value pair) -> Value {
    Value at = plus(times(plus(times(part, pairs), pair), pairStep), inPair);
    return LLVM::GEPOp::create(builder, loc, base.getType(), pairType, base,
                               ArrayRef<LLVM::GEPArg>{at});
  };
  constexpr unsigned alignment = 8;
  auto load = [&](Value part, Value pair) -> Value {
    return LLVM::LoadOp::create(builder, loc, pairType, getPointer(part, pair),
                                alignment);
  };
  auto store = [&](Value both, Value part, Value pair) {
    LLVM::StoreOp::create(builder, loc, both, getPointer(part, pair),
                          alignment);
  };
  auto when = [&](Value condition, function_ref<void()> body) {
    if (!condition)
      return body();
    auto choice = scf::IfOp::create(builder, loc, condition,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(choice.thenBlock());
    body();
  };

  gpu::BarrierOp::create(builder, loc);
  when(place.getIsInGrid(), [&] {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      Value both = LLVM::PoisonOp::create(builder, loc, pairType);
      for (int64_t i = 0; i < pairSize; ++i)
        both = LLVM::InsertElementOp::create(builder, loc, both,
                                             values[pair * pairSize + i],
                                             number(builder, loc, i));
      store(both, place.getWarpTerm(), number(builder, loc, pair));
    }
  });
  gpu::BarrierOp::create(builder, loc);
  for (int64_t begin = 0; begin < pairs; begin += grid.terms) {
    Value pair = plus(place.getWarpTerm(), number(builder, loc, begin));
    Value isMine = place.getIsInGrid();
    if (begin + grid.terms > pairs) {
      Value exists =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, pair,
                                number(builder, loc, pairs));
      isMine =
          isMine ? arith::AndIOp::create(builder, loc, isMine, exists) : exists;
    }
    when(isMine, [&] {
      Value sum = LLVM::ZeroOp::create(builder, loc, pairType);
      for (int64_t part = 0; part < grid.terms; ++part)
        sum = LLVM::FAddOp::create(builder, loc, sum,
                                   load(number(builder, loc, part), pair));
      store(sum, number(builder, loc, 0), pair);
    });
  }
  gpu::BarrierOp::create(builder, loc);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    Value both = load(number(builder, loc, 0), number(builder, loc, pair));
    for (int64_t i = 0; i < pairSize; ++i)
      values[pair * pairSize + i] = LLVM::ExtractElementOp::create(
          builder, loc, both, number(builder, loc, i));
  }
}

void gatefold::populateSumPatterns(const TypeConverter &converter,
                                   const VectorFunction &function,
                                   RewritePatternSet &patterns) {
  patterns.add<LowerJoin>(converter, patterns.getContext(), function);
}
