// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsMemory.cpp - What threads read and write -----------===//
//
// Reads and writes of vectors, element by element: a thread reads its own.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/gpu/SharedTile.h"
#include "passes/gpu/StageReadsCopy.h"
#include "passes/gpu/VectorsToThreads.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// VectorMemory
//===----------------------------------------------------------------------===//

VectorMemory::VectorMemory(VectorTransferOpInterface op, Value memory,
                           ValueRange indices)
    : memory(memory), indices(indices) {
  for (auto [dim, expression] :
       llvm::enumerate(op.getPermutationMap().getResults())) {
    Dimension dimension = {op.getVectorType().getDimSize(dim), std::nullopt,
                           false};
    if (auto counted = dyn_cast<AffineDimExpr>(expression)) {
      dimension.position = counted.getPosition();
      dimension.hasBound = !isSurelyInBounds(op, dim);
    }
    dimensions.push_back(dimension);
  }
}

SmallVector<Value> VectorMemory::getIndices(OpBuilder &builder, Location loc,
                                            Value row, Value column) const {
  SmallVector<Value> at = indices;
  // A vector of rank 1 has no columns.
  Value steps[] = {row, column};
  for (auto [dimension, step] : llvm::zip(dimensions, steps))
    if (dimension.position) {
      Value &index = at[*dimension.position];
      index = arith::AddIOp::create(builder, loc, index, step);
    }
  return at;
}

/// Both, or the one that there is.
static Value both(OpBuilder &builder, Location loc, Value one, Value other) {
  return one ? arith::AndIOp::create(builder, loc, one, other) : other;
}

Value VectorMemory::isInBounds(OpBuilder &builder, Location loc,
                               ValueRange at) const {
  Value result;
  for (const Dimension &dimension : dimensions) {
    if (!dimension.hasBound)
      continue;
    Value size =
        memref::DimOp::create(builder, loc, memory, *dimension.position);
    result = both(builder, loc, result,
                  // Rows before the first are none either.
                  arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        at[*dimension.position], size));
  }
  return result;
}

Value VectorMemory::isWhole(OpBuilder &builder, Location loc) const {
  Value result;
  for (const Dimension &dimension : dimensions) {
    if (!dimension.hasBound)
      continue;
    Value size =
        memref::DimOp::create(builder, loc, memory, *dimension.position);
    Value end = arith::AddIOp::create(
        builder, loc, indices[*dimension.position],
        arith::ConstantIndexOp::create(builder, loc, dimension.size));
    result = both(builder, loc, result,
                  arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                        end, size));
    if (!matchPattern(indices[*dimension.position], m_Zero()))
      result = both(builder, loc, result,
                    arith::CmpIOp::create(
                        builder, loc, arith::CmpIPredicate::sge,
                        indices[*dimension.position],
                        arith::ConstantIndexOp::create(builder, loc, 0)));
  }
  return result;
}

VectorMemory VectorMemory::withoutBounds() const {
  VectorMemory result = *this;
  for (Dimension &dimension : result.dimensions)
    dimension.hasBound = false;
  return result;
}

/// The pointer to an element of a tile in shared memory, whose chunks have
/// changed places; null for all other memory.
static Value getSharedPointer(OpBuilder &builder, Location loc, Value memory,
                              ValueRange at) {
  FailureOr<SharedTile> tile =
      SharedTile::get(cast<MemRefType>(memory.getType()));
  if (failed(tile))
    return {};
  Type i32 = builder.getI32Type();
  Value row = arith::IndexCastUIOp::create(builder, loc, i32, at[0]);
  Value column = arith::IndexCastUIOp::create(builder, loc, i32, at[1]);
  return tile->buildPointer(builder, loc,
                            SharedTile::buildBase(builder, loc, memory),
                            tile->buildOffset(builder, loc, row, column));
}

static Value loadElement(OpBuilder &builder, Location loc, Value memory,
                         ValueRange at) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  if (Value pointer = getSharedPointer(builder, loc, memory, at))
    return LLVM::LoadOp::create(builder, loc, element, pointer);
  return memref::LoadOp::create(builder, loc, memory, at);
}

static void storeElement(OpBuilder &builder, Location loc, Value value,
                         Value memory, ValueRange at) {
  if (Value pointer = getSharedPointer(builder, loc, memory, at))
    LLVM::StoreOp::create(builder, loc, value, pointer);
  else
    memref::StoreOp::create(builder, loc, value, memory, at);
}

Value VectorMemory::load(OpBuilder &builder, Location loc, Value row,
                         Value column, Value padding) const {
  SmallVector<Value> at = getIndices(builder, loc, row, column);
  Value condition = isInBounds(builder, loc, at);
  if (!condition)
    return loadElement(builder, loc, memory, at);
  auto choice = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &inner, Location loc) {
        Value value = loadElement(inner, loc, memory, at);
        scf::YieldOp::create(inner, loc, value);
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc, padding);
      });
  return choice.getResult(0);
}

void VectorMemory::store(OpBuilder &builder, Location loc, Value row,
                         Value column, Value value) const {
  SmallVector<Value> at = getIndices(builder, loc, row, column);
  Value condition = isInBounds(builder, loc, at);
  if (!condition) {
    storeElement(builder, loc, value, memory, at);
    return;
  }
  scf::IfOp::create(builder, loc, condition,
                    [&](OpBuilder &inner, Location loc) {
                      storeElement(inner, loc, value, memory, at);
                      scf::YieldOp::create(inner, loc);
                    });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Calls `visit` with the row and the column (index) of each element that the
/// thread has.
static void
forEachElement(OpBuilder &builder, Location loc, const ThreadPlace &place,
               const VectorLayout &layout,
               function_ref<void(OpBuilder &, Value, Value)> visit) {
  Type index = builder.getIndexType();
  auto steps = [&](Value first, int64_t count, int64_t (*getStep)(int64_t)) {
    Value start = arith::IndexCastUIOp::create(builder, loc, index, first);
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(arith::AddIOp::create(
          builder, loc, start,
          arith::ConstantIndexOp::create(builder, loc, getStep(i))));
    return values;
  };
  SmallVector<Value> rows = steps(place.getFirstRow(builder, loc, layout),
                                  layout.getRows(), VectorLayout::getRowStep);
  SmallVector<Value> columns =
      steps(place.getFirstColumn(builder, loc, layout), layout.getColumns(),
            VectorLayout::getColumnStep);
  for (Value row : rows)
    for (Value column : columns)
      visit(builder, row, column);
}

/// Fewer elements are as fast where each looks at the bounds.
static constexpr int64_t fewElements = 4;

/// Does something with all elements, without looking at bounds where all of the
/// vector lies in the memory. Of uniform code: all threads take one branch.
static SmallVector<Value> withFewBounds(
    OpBuilder &builder, Location loc, const VectorMemory &memory,
    const VectorLayout &layout,
    function_ref<SmallVector<Value>(OpBuilder &, const VectorMemory &)>
        visitAll) {
  Value isWhole;
  if (layout.size() > fewElements)
    isWhole = memory.isWhole(builder, loc);
  if (!isWhole)
    return visitAll(builder, memory);
  auto choice = scf::IfOp::create(
      builder, loc, isWhole,
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc,
                             visitAll(inner, memory.withoutBounds()));
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc, visitAll(inner, memory));
      });
  return SmallVector<Value>(ValueRange(choice.getResults()));
}

namespace {
class LowerRead : public VectorPattern<vector::TransferReadOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::TransferReadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    VectorLayout layout = function.place.getLayout(op.getType());
    VectorMemory memory(op, getOnly(adaptor.getBase()),
                        getEach(adaptor.getIndices()));
    Value padding = getOnly(adaptor.getPadding());
    auto loadAll = [&](OpBuilder &builder, const VectorMemory &memory) {
      SmallVector<Value> values;
      forEachElement(builder, op.getLoc(), function.place, layout,
                     [&](OpBuilder &builder, Value row, Value column) {
                       values.push_back(memory.load(builder, op.getLoc(), row,
                                                    column, padding));
                     });
      return values;
    };
    rewriter.replaceOpWithMultiple(
        op, {withFewBounds(rewriter, op.getLoc(), memory, layout, loadAll)});
    return success();
  }
};

class LowerWrite : public VectorPattern<vector::TransferWriteOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::TransferWriteOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorLayout layout = function.place.getLayout(op.getVectorType());
    VectorMemory memory(op, getOnly(adaptor.getBase()),
                        getEach(adaptor.getIndices()));
    ValueRange values = adaptor.getValueToStore();
    auto storeAll = [&](OpBuilder &builder, const VectorMemory &memory) {
      size_t next = 0;
      forEachElement(builder, loc, function.place, layout,
                     [&](OpBuilder &builder, Value row, Value column) {
                       memory.store(builder, loc, row, column, values[next++]);
                     });
      return SmallVector<Value>();
    };
    OpBuilder::InsertionGuard guard(rewriter);
    if (Value isWriter = function.place.getIsWriter(rewriter, loc, layout)) {
      auto choice = scf::IfOp::create(rewriter, loc, isWriter,
                                      /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(choice.thenBlock());
    }
    withFewBounds(rewriter, loc, memory, layout, storeAll);
    rewriter.eraseOp(op);
    return success();
  }
};

class LowerGather : public VectorPattern<vector::GatherOp> {
public:
  using VectorPattern::VectorPattern;
  LogicalResult
  matchAndRewrite(vector::GatherOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value base = getOnly(adaptor.getBase());
    SmallVector<Value> start = getEach(adaptor.getOffsets());
    SmallVector<Value> values;
    // Of a matrix, elements are counted row by row, whatever lies between rows.
    int64_t width = start.size() == 2 ? op.getBaseType().getDimSize(1)
                                      : ShapedType::kDynamic;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(rewriter, loc, value);
    };
    for (auto [number, isRead, other] : llvm::zip(
             adaptor.getIndices(), adaptor.getMask(), adaptor.getPassThru())) {
      Value step = number;
      if (!step.getType().isIndex())
        step = arith::IndexCastOp::create(rewriter, loc,
                                          rewriter.getIndexType(), step);
      SmallVector<Value> at = start;
      if (!ShapedType::isDynamic(width)) {
        Value row =
            arith::DivUIOp::create(rewriter, loc, step, constant(width));
        at[0] = arith::AddIOp::create(rewriter, loc, at[0], row);
        step = arith::RemUIOp::create(rewriter, loc, step, constant(width));
      }
      at.back() = arith::AddIOp::create(rewriter, loc, at.back(), step);
      auto choice = scf::IfOp::create(
          rewriter, loc, isRead,
          [&](OpBuilder &inner, Location loc) {
            Value value = memref::LoadOp::create(inner, loc, base, at);
            scf::YieldOp::create(inner, loc, value);
          },
          [&, other = other](OpBuilder &inner, Location loc) {
            scf::YieldOp::create(inner, loc, other);
          });
      values.push_back(choice.getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};
} // namespace

void gatefold::populateMemoryPatterns(const TypeConverter &converter,
                                      const VectorFunction &function,
                                      RewritePatternSet &patterns) {
  patterns.add<LowerRead, LowerWrite, LowerGather>(
      converter, patterns.getContext(), function);
}
