// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DiffWindow.cpp - Keys and scores of a diff-window ------------------===//
//
// The stencil on keys, and the scores of keys that lack a neighbour.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/DiffWindow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;
using linalg::GenericOp;
using utils::IteratorType;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value DiffWindowFold::constant(OpBuilder &builder, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value DiffWindowFold::makeStencil(
    OpBuilder &builder, Value key, VisibleKeys range,
    llvm::function_ref<Value(OpBuilder &, Value)> read) {
  auto integer = [&](arith::CmpIPredicate predicate, Value left, Value right) {
    return arith::CmpIOp::create(builder, loc, predicate, left, right);
  };
  Value none = constant(builder, 0), one = constant(builder, 1);
  Value last = arith::SubIOp::create(builder, loc, range.end, one);
  Value own = read(builder, key);
  Type element = own.getType();
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getFloatAttr(element, 0.0));
  Value unit = arith::ConstantOp::create(builder, loc,
                                         builder.getFloatAttr(element, 1.0));
  Value count = unit, sum = zero;
  for (int64_t distance = -found.radius; distance <= found.radius; ++distance) {
    if (distance == 0)
      continue;
    Value place =
        arith::AddIOp::create(builder, loc, key, constant(builder, distance));
    Value exists = distance < 0
                       ? integer(arith::CmpIPredicate::sge, place, range.first)
                       : integer(arith::CmpIPredicate::slt, place, range.end);
    place = arith::MinSIOp::create(builder, loc, place, last);
    place = arith::MaxSIOp::create(builder, loc, place, none);
    Value value = arith::SelectOp::create(builder, loc, exists,
                                          read(builder, place), zero);
    sum = arith::AddFOp::create(builder, loc, sum, value);
    Value step = arith::SelectOp::create(builder, loc, exists, unit, zero);
    count = arith::AddFOp::create(builder, loc, count, step);
  }
  Value whole = arith::MulFOp::create(builder, loc, count, own);
  return arith::SubFOp::create(builder, loc, whole, sum);
}

bool DiffWindowFold::foldsLengths() {
  Value lengths = attention.getLengths();
  if (!lengths || !isVisibleOnly() || endsByPlace() || found.radius == 0)
    return false;
  auto key = cast<BlockArgument>(found.product.getKeys());
  // Keys that several lengths belong to have several forms.
  for (auto [dim, size] : llvm::enumerate(tensorType(lengths).getShape()))
    if (size != 1 && !attention.getLeadAxis(key.getArgNumber(), dim))
      return false;
  return true;
}

/// The number of keys that are seen, at indices of the keys.
Value DiffWindowFold::makeLength(OpBuilder &builder, ValueRange indices,
                                 Value count) {
  Value lengths = attention.getLengths();
  unsigned key = cast<BlockArgument>(found.product.getKeys()).getArgNumber();
  SmallVector<Value> place;
  for (auto [dim, size] : llvm::enumerate(tensorType(lengths).getShape()))
    place.push_back(size == 1 ? constant(builder, 0)
                              : indices[*attention.getLeadAxis(key, dim)]);
  Value length = tensor::ExtractOp::create(builder, loc, lengths, place);
  length =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  return arith::MinSIOp::create(builder, loc, length, count);
}

/// The keys of the whole attention, each with all its neighbours.
Value DiffWindowFold::foldKeys(Value keys, int64_t axis) {
  RankedTensorType type = tensorType(keys);
  int64_t rank = type.getRank();
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, keys),
      type.getElementType());
  VisibleKeys all = {constant(rewriter, 0),
                     rewriter.createOrFold<tensor::DimOp>(loc, keys, axis)};
  auto folded = GenericOp::create(
      rewriter, loc, TypeRange(empty.getType()), ValueRange(),
      ValueRange(empty),
      ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(rank)},
      SmallVector<IteratorType>(rank, IteratorType::parallel),
      [&](OpBuilder &builder, Location, ValueRange) {
        SmallVector<Value> indices;
        for (int64_t dim = 0; dim < rank; ++dim)
          indices.push_back(linalg::IndexOp::create(builder, loc, dim));
        VisibleKeys range = all;
        if (foldsLengths())
          range.end = makeLength(builder, indices, all.end);
        Value key = indices[axis];
        auto read = [&](OpBuilder &inner, Value place) -> Value {
          indices[axis] = place;
          return tensor::ExtractOp::create(inner, loc, keys, indices);
        };
        linalg::YieldOp::create(builder, loc,
                                makeStencil(builder, key, range, read));
      });
  Value result = folded.getResult(0);
  return result.getType() == type
             ? result
             : tensor::CastOp::create(rewriter, loc, type, result).getResult();
}

BlockArgument DiffWindowFold::addKeys(Value keys, Type rowType) {
  unsigned number = attention.getQueries().size() + attention.getKeys().size();
  attention.getKeysMutable().append(keys);
  return attention.getBody().insertArgument(number, rowType, loc);
}

/// A number for each index of the first leading dimensions, for the region.
BlockArgument DiffWindowFold::addCapture(Value perSequence) {
  RankedTensorType type = tensorType(perSequence);
  int64_t leadRank = attention.getLeadRank();
  int64_t rank = type.getRank();
  if (rank > 0 && rank < leadRank) {
    // Leading dimensions align at the right.
    SmallVector<int64_t> shape(type.getShape());
    shape.resize(leadRank, 1);
    SmallVector<ReassociationIndices> groups(rank);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, perSequence);
    sizes.resize(leadRank, rewriter.getIndexAttr(1));
    for (int64_t dim = 0; dim < leadRank; ++dim)
      groups[std::min(dim, rank - 1)].push_back(dim);
    perSequence = tensor::ExpandShapeOp::create(
        rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
        perSequence, groups, sizes);
  }
  attention.getCapturesMutable().append(perSequence);
  return attention.getBody().insertArgument(
      attention.getBody().getNumArguments() - 2,
      RankedTensorType::get({}, type.getElementType()), loc);
}

VisibleKeys DiffWindowFold::findVisible() {
  Value keys = found.product.getKeys();
  Value count = rewriter.createOrFold<tensor::DimOp>(loc, keys, 0);
  VisibleKeys range = {constant(rewriter, 0), count};
  auto toIndex = [&](BlockArgument capture) {
    Value number =
        tensor::ExtractOp::create(rewriter, loc, capture, ValueRange());
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                      number);
  };
  auto least = [&](Value left, Value right) {
    return arith::MinSIOp::create(rewriter, loc, left, right).getResult();
  };
  auto greatest = [&](Value left, Value right) {
    return arith::MaxSIOp::create(rewriter, loc, left, right).getResult();
  };
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(attention);
    if (attention.getLengths())
      (void)addCapture(attention.getLengths());
    if (attention.getOffset())
      (void)addCapture(attention.getOffset());
  }
  auto captures = attention.getCaptureArguments();
  unsigned next = captures.size() - (attention.getLengths() ? 1 : 0) -
                  (attention.getOffset() ? 1 : 0);
  if (attention.getLengths())
    range.end = least(range.end, toIndex(captures[next++]));
  int64_t left = getWindow(0), right = attention.getCausal() ? 0 : -1;
  if (getWindow(1) >= 0)
    right = right < 0 ? getWindow(1) : std::min(right, getWindow(1));
  if (left < 0 && right < 0)
    return range;
  // The place of the query, without wrapping.
  Value place = attention.getPositionArgument();
  constexpr int64_t beyond = int64_t(1) << 60;
  if (attention.getOffset()) {
    Value offset = toIndex(captures[next]);
    offset = greatest(offset, constant(rewriter, -beyond));
    offset = least(offset, constant(rewriter, beyond));
    place = arith::AddIOp::create(rewriter, loc, attention.getRowArgument(),
                                  offset);
  }
  if (right >= 0) {
    Value last = arith::AddIOp::create(
        rewriter, loc, place, constant(rewriter, std::min(right, beyond) + 1));
    range.end = least(range.end, last);
  }
  if (left >= 0) {
    Value first = arith::SubIOp::create(
        rewriter, loc, place, constant(rewriter, std::min(left, beyond)));
    range.first = greatest(range.first, first);
  }
  return range;
}

/// The query, or nothing of it where there is no key to read.
Value DiffWindowFold::takeQuery() {
  Value keys = found.product.getKeys(), none = constant(rewriter, 0);
  Value count = rewriter.createOrFold<tensor::DimOp>(loc, keys, 0);
  Value width = rewriter.createOrFold<tensor::DimOp>(loc, keys, 1);
  Value isEmpty = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                        count, none);
  Value size =
      rewriter.createOrFold<arith::SelectOp>(loc, isEmpty, none, width);
  return tensor::ExtractSliceOp::create(
      rewriter, loc, found.product.getQuery(),
      ArrayRef<OpFoldResult>{rewriter.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{size},
      ArrayRef<OpFoldResult>{rewriter.getIndexAttr(1)});
}

/// The score of the key at a place, or of another one if there is none.
Value DiffWindowFold::makeScore(Value query, Value place) {
  Value keys = found.product.getKeys();
  Type element = tensorType(keys).getElementType();
  Value count = rewriter.createOrFold<tensor::DimOp>(loc, keys, 0);
  Value last =
      arith::SubIOp::create(rewriter, loc, count, constant(rewriter, 1));
  place = arith::MaxSIOp::create(rewriter, loc, place, constant(rewriter, 0));
  place = arith::MinSIOp::create(rewriter, loc, place, last);
  Value zero = arith::ConstantOp::create(rewriter, loc,
                                         rewriter.getFloatAttr(element, 0.0));
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>{}, element);
  Value start = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  return GenericOp::create(
             rewriter, loc, TypeRange(start.getType()), ValueRange(query),
             ValueRange(start),
             ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(1),
                                 AffineMap::get(1, 0, rewriter.getContext())},
             ArrayRef<IteratorType>{IteratorType::reduction},
             [&](OpBuilder &builder, Location, ValueRange values) {
               Value dim = linalg::IndexOp::create(builder, loc, 0);
               Value key = tensor::ExtractOp::create(builder, loc, keys,
                                                     ValueRange{place, dim});
               Value term = arith::MulFOp::create(builder, loc, values[0], key);
               Value total =
                   arith::AddFOp::create(builder, loc, values[1], term);
               linalg::YieldOp::create(builder, loc, total);
             })
      .getResult(0);
}

/// The columns at one end of the range, and their scores with the differences
/// from those neighbours that are in it. A column that is not in the range gets
/// some number.
void DiffWindowFold::addEdges(Value query, VisibleKeys range, bool isFirst,
                              SmallVectorImpl<Value> &columns,
                              SmallVectorImpl<Value> &edges) {
  // From the end of the range inwards, as far as neighbours are.
  SmallVector<Value> places, scores, exist;
  for (int64_t step = 0; step < 2 * found.radius; ++step) {
    Value place = isFirst ? arith::AddIOp::create(rewriter, loc, range.first,
                                                  constant(rewriter, step))
                                .getResult()
                          : arith::SubIOp::create(rewriter, loc, range.end,
                                                  constant(rewriter, step + 1));
    places.push_back(place);
    scores.push_back(makeScore(query, place));
    exist.push_back(arith::CmpIOp::create(
        rewriter, loc,
        isFirst ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge, place,
        isFirst ? range.end : range.first));
  }
  Type element = getElementTypeOrSelf(scores.front());
  Value zero = arith::ConstantOp::create(rewriter, loc,
                                         rewriter.getFloatAttr(element, 0.0));
  Value unit = arith::ConstantOp::create(rewriter, loc,
                                         rewriter.getFloatAttr(element, 1.0));
  for (int64_t own = 0; own < found.radius; ++own) {
    int64_t end = own + found.radius + 1;
    Value empty =
        tensor::EmptyOp::create(rewriter, loc, ArrayRef<int64_t>{}, element);
    SmallVector<AffineMap> maps(end + 1, AffineMap::get(rewriter.getContext()));
    auto edge = GenericOp::create(
        rewriter, loc, TypeRange(empty.getType()),
        ArrayRef<Value>(scores).take_front(end), ValueRange(empty), maps,
        ArrayRef<IteratorType>(),
        [&](OpBuilder &builder, Location, ValueRange values) {
          Value count = unit, sum = zero;
          for (int64_t step = 0; step < end; ++step) {
            if (step == own)
              continue;
            Value value = arith::SelectOp::create(builder, loc, exist[step],
                                                  values[step], zero);
            sum = arith::AddFOp::create(builder, loc, sum, value);
            Value more =
                arith::SelectOp::create(builder, loc, exist[step], unit, zero);
            count = arith::AddFOp::create(builder, loc, count, more);
          }
          Value whole = arith::MulFOp::create(builder, loc, count, values[own]);
          Value made = arith::SubFOp::create(builder, loc, whole, sum);
          linalg::YieldOp::create(builder, loc, made);
        });
    columns.push_back(places[own]);
    edges.push_back(edge.getResult(0));
  }
}

/// Scores of which the columns at the ends of what the query sees come from
/// the keys there alone. Where the ends meet, both give the same.
Value DiffWindowFold::putEdges(Value scores) {
  VisibleKeys range = findVisible();
  Value query = takeQuery();
  SmallVector<Value> columns, edges;
  if (hasFirstEdge())
    addEdges(query, range, /*isFirst=*/true, columns, edges);
  if (hasLastEdge())
    addEdges(query, range, /*isFirst=*/false, columns, edges);
  SmallVector<Value> inputs = {scores};
  llvm::append_range(inputs, edges);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              AffineMap::get(1, 0, rewriter.getContext()));
  maps.front() = maps.back() = rewriter.getMultiDimIdentityMap(1);
  RankedTensorType type = tensorType(scores);
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, scores),
      type.getElementType());
  Value made =
      GenericOp::create(
          rewriter, loc, TypeRange(empty.getType()), inputs, ValueRange(empty),
          maps, ArrayRef<IteratorType>{IteratorType::parallel},
          [&](OpBuilder &builder, Location, ValueRange values) {
            Value key = linalg::IndexOp::create(builder, loc, 0);
            Value score = values[0];
            for (auto [index, column] : llvm::enumerate(columns)) {
              Value isHere = arith::CmpIOp::create(
                  builder, loc, arith::CmpIPredicate::eq, key, column);
              score = arith::SelectOp::create(builder, loc, isHere,
                                              values[index + 1], score);
            }
            linalg::YieldOp::create(builder, loc, score);
          })
          .getResult(0);
  return made.getType() == type
             ? made
             : tensor::CastOp::create(rewriter, loc, type, made).getResult();
}

void DiffWindowFold::fold() {
  auto key = cast<BlockArgument>(found.product.getKeys());
  unsigned number = key.getArgNumber();
  Value operand = attention.getOperand(number);
  rewriter.setInsertionPoint(attention);
  int64_t axis = tensorType(operand).getRank() - tensorType(key).getRank();
  Value folded = found.radius == 0 ? operand : foldKeys(operand, axis);
  BlockArgument foldedKey = addKeys(folded, key.getType());

  rewriter.setInsertionPoint(found.sum);
  Value scores = RowScoresOp::create(rewriter, loc, found.product.getType(),
                                     found.product.getQuery(), foldedKey);
  if (getEdgeColumns() > 0)
    scores = putEdges(scores);
  if (found.scale) {
    IRMapping mapping;
    mapping.map(found.scale.getInputs()[0], scores);
    scores = rewriter.clone(*found.scale, mapping)->getResult(0);
  }
  rewriter.replaceOp(found.sum, scores);
  rewriter.eraseOp(neighbours);
  if (found.scale)
    rewriter.eraseOp(found.scale);
  rewriter.eraseOp(found.product);
}
