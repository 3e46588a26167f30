// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionOther.cpp - Other operations for a block of queries ---===//
//
// Scalars, reshapes, and what has no form of its own for several queries: it
// stands in a loop over them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/tile/TileAttention.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;

static bool isTensor(Type type) { return isa<RankedTensorType>(type); }

/// An operation on numbers, or one that reads a number from a tensor.
static bool isScalar(Operation *inner) {
  if (inner->getNumResults() != 1 || inner->getNumRegions() != 0 ||
      isTensor(inner->getResult(0).getType()))
    return false;
  return isa<tensor::ExtractOp>(inner) ||
         llvm::none_of(inner->getOperandTypes(), isTensor);
}

LogicalResult AttentionTiling::liftScalar(Operation *inner) {
  SmallVector<TileInput> inputs;
  SmallVector<Value> replaced;
  AffineMap column = mapOf({0}, 1);
  auto extract = dyn_cast<tensor::ExtractOp>(inner);
  Value source;
  if (extract)
    source = body.isPerQuery(extract.getTensor())
                 ? wholeTile(extract.getTensor())
                 : tileOf(extract.getTensor()).value;
  for (Value operand : inner->getOperands())
    if (body.isPerQuery(operand) && !isTensor(operand.getType())) {
      inputs.push_back({tileOf(operand).value, column});
      replaced.push_back(operand);
    }
  Value output = makeColumn(inner->getResult(0).getType());
  Value result = makeGeneric(
      inputs, {{output, column}}, /*reducesKeys=*/false,
      [&](OpBuilder &builder, ValueRange values) -> SmallVector<Value> {
        IRMapping mapping;
        for (Value operand : inner->getOperands())
          if (!body.isPerQuery(operand) && tiles.contains(operand))
            mapping.map(operand, tiles.lookup(operand).value);
        for (auto [from, to] : llvm::zip(replaced, values))
          mapping.map(from, to);
        if (!extract)
          return {builder.clone(*inner, mapping)->getResult(0)};
        SmallVector<Value> place;
        if (body.isPerQuery(extract.getTensor()))
          place.push_back(linalg::IndexOp::create(builder, loc, 0));
        for (Value index : extract.getIndices())
          place.push_back(mapping.lookupOrDefault(index));
        return {
            tensor::ExtractOp::create(builder, loc, source, place).getResult()};
      })[0];
  tiles[inner->getResult(0)] = {result, true, true, {}};
  return success();
}

/// The value of an operation that only looks at its operand in another shape,
/// or null.
Value AttentionTiling::liftReshape(Operation *inner, Value source) {
  auto shifted = [](ArrayRef<ReassociationIndices> groups) {
    SmallVector<ReassociationIndices> result = {{0}};
    for (const ReassociationIndices &group : groups) {
      ReassociationIndices next;
      for (int64_t dim : group)
        next.push_back(dim + 1);
      result.push_back(next);
    }
    return result;
  };
  auto valueOf = [&](OpFoldResult size) -> OpFoldResult {
    auto value = dyn_cast<Value>(size);
    return value ? OpFoldResult(tileOf(value).value) : size;
  };
  return TypeSwitch<Operation *, Value>(inner)
      .Case([&](tensor::CastOp) { return source; })
      .Case([&](tensor::ExpandShapeOp reshape) -> Value {
        SmallVector<OpFoldResult> sizes = {block.rows};
        std::optional<int64_t> keyDim = body.getKeyDim(reshape.getResult());
        // Something of each query that stands for the only key: a block may
        // have none.
        bool makesKey = cutsKeys && keyDim && !body.getKeyDim(reshape.getSrc());
        for (auto [dim, size] : llvm::enumerate(reshape.getMixedOutputShape()))
          sizes.push_back(cutsKeys && !makesKey && keyDim == int64_t(dim)
                              ? block.columns
                              : valueOf(size));
        auto typeOf = [&]() {
          SmallVector<int64_t> shape;
          for (OpFoldResult size : sizes)
            shape.push_back(
                getConstantIntValue(size).value_or(ShapedType::kDynamic));
          return RankedTensorType::get(shape, getElementTypeOrSelf(source));
        };
        auto groups = shifted(reshape.getReassociationIndices());
        if (groups.size() == 1)
          for (int64_t dim = 1, e = sizes.size(); dim < e; ++dim)
            groups[0].push_back(dim);
        Value view = tensor::ExpandShapeOp::create(rewriter, loc, typeOf(),
                                                   source, groups, sizes);
        if (!makesKey)
          return view;
        sizes[*keyDim + 1] = block.columns;
        return tensor::ExtractSliceOp::create(
            rewriter, loc, typeOf(), view,
            SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(0)),
            sizes,
            SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1)));
      })
      .Case([&](tensor::CollapseShapeOp reshape) -> Value {
        auto groups = shifted(reshape.getReassociationIndices());
        if (groups.size() == 1) {
          int64_t rank = cast<RankedTensorType>(source.getType()).getRank();
          for (int64_t dim = 1; dim < rank; ++dim)
            groups[0].push_back(dim);
        }
        return tensor::CollapseShapeOp::create(rewriter, loc, source, groups);
      })
      .Case([&](tensor::ExtractSliceOp slice) -> Value {
        if (cutsKeys && body.getKeyDim(slice.getSource()))
          return {};
        SmallVector<OpFoldResult> offsets = {rewriter.getIndexAttr(0)};
        SmallVector<OpFoldResult> sizes = {block.rows};
        SmallVector<OpFoldResult> strides = {rewriter.getIndexAttr(1)};
        auto append = [&](SmallVector<OpFoldResult> &to,
                          ArrayRef<OpFoldResult> from) {
          for (OpFoldResult value : from)
            to.push_back(valueOf(value));
        };
        for (Value operand : slice->getOperands().drop_front())
          if (body.isPerQuery(operand))
            return {};
        append(offsets, slice.getMixedOffsets());
        append(sizes, slice.getMixedSizes());
        append(strides, slice.getMixedStrides());
        SmallVector<int64_t> shape = {
            getConstantIntValue(block.rows).value_or(ShapedType::kDynamic)};
        llvm::append_range(shape, slice.getType().getShape());
        return tensor::ExtractSliceOp::create(
            rewriter, loc,
            RankedTensorType::get(shape, slice.getType().getElementType()),
            source, offsets, sizes, strides);
      })
      .Default(Value());
}

/// The operation in a loop over the queries of the block.
LogicalResult AttentionTiling::liftByRow(Operation *inner) {
  SetVector<Value> used;
  used.insert(inner->operand_begin(), inner->operand_end());
  getUsedValuesDefinedAbove(inner->getRegions(), used);
  llvm::DenseMap<Value, Value> whole;
  for (Value value : used)
    whole[value] =
        body.isPerQuery(value) ? wholeTile(value) : tileOf(value).value;
  SmallVector<Value> carried;
  for (Value result : inner->getResults())
    carried.push_back(makeBuffer(tileSizes(result, false),
                                 tileSizes(result, true),
                                 getElementTypeOrSelf(result)));
  auto loop = scf::ForOp::create(rewriter, loc, constant(0),
                                 toValue(block.rows), constant(1), carried);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(loop.getBody());
  Value row = loop.getInductionVar();
  IRMapping mapping;
  for (Value value : used) {
    Value tile = whole.lookup(value);
    if (!body.isPerQuery(value))
      mapping.map(value, tile);
    else if (isTensor(value.getType()))
      mapping.map(value, castTo(rewriter, loc,
                                takeSlice(rewriter, loc, tile, {{0, row}}),
                                value.getType()));
    else
      mapping.map(value, tensor::ExtractOp::create(rewriter, loc, tile, row));
  }
  Operation *copy = rewriter.clone(*inner, mapping);
  SmallVector<Value> next;
  for (auto [result, into] :
       llvm::zip(copy->getResults(), loop.getRegionIterArgs()))
    next.push_back(
        isTensor(result.getType())
            ? putSlice(rewriter, loc, result, into, {{0, row}})
            : tensor::InsertOp::create(rewriter, loc, result, into, row)
                  .getResult());
  scf::YieldOp::create(rewriter, loc, next);
  for (auto [result, value] : llvm::zip(inner->getResults(), loop.getResults()))
    tiles[result] = {value, true, true, {}};
  return success();
}

LogicalResult AttentionTiling::lift(Operation *inner) {
  loc = inner->getLoc();
  return TypeSwitch<Operation *, LogicalResult>(inner)
      .Case<RowScoresOp, RowValuesOp, RowSoftmaxOp, RowNeighboursOp, RowTopKOp,
            RowVisibleOp>([&](auto row) {
        lower(row);
        return success();
      })
      .Case([&](linalg::GenericOp generic) { return liftGeneric(generic); })
      .Case([&](linalg::ContractOp contract) { return liftContract(contract); })
      .Default([&](Operation *other) {
        if (isScalar(other))
          return liftScalar(other);
        auto elements = dyn_cast<tensor::FromElementsOp>(other);
        Value operand =
            other->getNumOperands() ? other->getOperand(0) : Value();
        Tile from;
        Value view;
        if (operand && body.isPerQuery(operand) &&
            isTensor(operand.getType())) {
          from = tileOf(operand);
          view = liftReshape(other, from.value);
        }
        if (elements && elements.getNumOperands() == 1) {
          // One number for each query, seen as [rows, 1..].
          view = tileOf(elements.getElements()[0]).value;
          int64_t rank = elements.getType().getRank();
          SmallVector<int64_t> shape(rank + 1, 1);
          shape[0] =
              getConstantIntValue(block.rows).value_or(ShapedType::kDynamic);
          SmallVector<OpFoldResult> sizes(rank + 1, rewriter.getIndexAttr(1));
          sizes[0] = block.rows;
          ReassociationIndices group;
          for (int64_t dim = 0; dim <= rank; ++dim)
            group.push_back(dim);
          if (rank > 0)
            view = tensor::ExpandShapeOp::create(
                rewriter, loc,
                RankedTensorType::get(shape,
                                      elements.getType().getElementType()),
                view, ArrayRef<ReassociationIndices>{group}, sizes);
        }
        if (!view)
          return liftByRow(other);
        tiles[other->getResult(0)] = {
            view, true, from.isOwned && operand.hasOneUse(), from.denominator};
        return success();
      });
}

Operation *AttentionTiling::findUnsupported() {
  if (op.getLeadRank() > AttentionBody::mostLeadRank)
    return op;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    auto isNarrow = [](Value value) {
      auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
      return type && type.getWidth() < 32;
    };
    // Their sums are to be f32.
    if (isa_and_present<GfDialect>(inner.getDialect()) &&
        (llvm::any_of(inner.getOperands(), isNarrow) ||
         llvm::any_of(inner.getResults(), isNarrow)))
      return &inner;
    if (inner.getNumResults() == 0)
      return &inner;
    if (!body.isPerQuery(inner.getResult(0)) ||
        isa<linalg::GenericOp, linalg::ContractOp, tensor::EmptyOp,
            linalg::FillOp, tensor::CastOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp>(inner) ||
        isa_and_present<GfDialect>(inner.getDialect()))
      continue;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(inner);
    if (slice && !(cutsKeys && body.getKeyDim(slice.getSource())) &&
        llvm::none_of(slice->getOperands().drop_front(),
                      [&](Value place) { return body.isPerQuery(place); }))
      continue;
    // In a loop over the queries its result has a place if its size is known.
    for (Value result : inner.getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        continue;
      std::optional<int64_t> keyDim = body.getKeyDim(result);
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (type.isDynamicDim(dim) && keyDim != dim)
          return &inner;
    }
  }
  return nullptr;
}
