// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegistersVectors.cpp - Values of a block as vectors ---===//
//
// Every value is `[queries, columns]`, `[queries, 1]`, `[1, columns]` or a
// number. Columns of static rows are filled up to whole tiles: what is read
// there is 0.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/TileAttentionRegisters.h"

using namespace mlir;
using namespace gatefold;

static VectorType asVector(Value value) {
  return dyn_cast<VectorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

VectorType AttentionRegisters::vectorType(int64_t rows, int64_t columns,
                                          Type type) {
  return VectorType::get({rows, columns}, getElementTypeOrSelf(type));
}

Value AttentionRegisters::splat(Value scalar, int64_t rows, int64_t columns) {
  VectorType type = vectorType(rows, columns, scalar.getType());
  Attribute known;
  if (matchPattern(scalar, m_Constant(&known)))
    return arith::ConstantOp::create(rewriter, loc,
                                     DenseElementsAttr::get(type, known));
  return vector::BroadcastOp::create(rewriter, loc, type, scalar);
}

/// The value once for each row and column that it does not have.
Value AttentionRegisters::stretch(Value value, int64_t rows, int64_t columns) {
  VectorType from = asVector(value);
  if (!from)
    return splat(value, rows, columns);
  VectorType type = vectorType(rows, columns, from);
  if (from == type)
    return value;
  return vector::BroadcastOp::create(rewriter, loc, type, value);
}

Value AttentionRegisters::countRows(Type type) {
  Type index = rewriter.getIndexType();
  Value step = vector::StepOp::create(rewriter, loc,
                                      VectorType::get({queryBlock}, index));
  Value rows = vector::ShapeCastOp::create(
      rewriter, loc, vectorType(queryBlock, 1, index), step);
  if (type.isIndex())
    return rows;
  return arith::IndexCastOp::create(rewriter, loc,
                                    vectorType(queryBlock, 1, type), rows);
}

Value AttentionRegisters::countColumns(int64_t columns, Type type) {
  Type index = rewriter.getIndexType();
  Value step =
      vector::StepOp::create(rewriter, loc, VectorType::get({columns}, index));
  Value counted = vector::ShapeCastOp::create(
      rewriter, loc, vectorType(1, columns, index), step);
  if (type.isIndex())
    return counted;
  return arith::IndexCastOp::create(rewriter, loc, vectorType(1, columns, type),
                                    counted);
}

Value AttentionRegisters::toColumn(Value perRow) {
  auto type = cast<VectorType>(perRow.getType());
  return vector::ShapeCastOp::create(
      rewriter, loc, vectorType(type.getDimSize(0), 1, type), perRow);
}

Value AttentionRegisters::reduce(vector::CombiningKind kind, Value value,
                                 Value neutral) {
  VectorType type = asVector(value);
  auto perRow = VectorType::get({type.getDimSize(0)}, type.getElementType());
  Attribute known;
  matchPattern(neutral, m_Constant(&known));
  Value start = arith::ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(perRow, known));
  return toColumn(vector::MultiDimReductionOp::create(
      rewriter, loc, value, start,
      /*reductionMask=*/ArrayRef<bool>{false, true}, kind));
}

/// Columns of a row of a value: a block of keys, or whole tiles.
int64_t AttentionRegisters::columnsOf(Value value) {
  if (body.getKeyDim(value))
    return keyBlock;
  auto column = *RegistersForm::getColumnDim(value, body);
  if (!column)
    return 1;
  return llvm::alignTo(RegistersForm::getSize(value, *column), registerTile);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value AttentionRegisters::read(Value tensor, Value row, Value column,
                               int64_t rows, int64_t columns) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> place;
  SmallVector<AffineExpr> map(2, rewriter.getAffineConstantExpr(0));
  SmallVector<bool> inBounds(2, true);
  auto add = [&](unsigned dim, Value index, int64_t count) {
    if (!index)
      return;
    unsigned from = place.size();
    map[dim] = rewriter.getAffineDimExpr(from);
    // Rows of a static size begin with their first element.
    inBounds[dim] =
        matchPattern(index, m_Zero()) && type.getDimSize(from) == count;
    place.push_back(index);
  };
  add(0, row, rows);
  add(1, column, columns);
  Type element = type.getElementType();
  if (place.empty())
    return tensor::ExtractOp::create(rewriter, loc, tensor, ValueRange());
  Value padding =
      arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(element));
  return vector::TransferReadOp::create(
      rewriter, loc, vectorType(rows, columns, element), tensor, place, padding,
      AffineMap::get(place.size(), 0, map, rewriter.getContext()),
      ArrayRef<bool>(inBounds));
}

/// A tensor without those of its dimensions from `first` on that have size 1
/// and are not `kept`.
static void fixUnits(RankedTensorType type, int64_t first,
                     std::optional<int64_t> kept, Value zero,
                     SmallVectorImpl<FixedIndex> &fixed) {
  for (int64_t dim = first; dim < type.getRank(); ++dim)
    if (dim != kept)
      fixed.emplace_back(dim, zero);
}

/// The part of a query or a pair that belongs to the block.
Value AttentionRegisters::readArgument(BlockArgument argument) {
  if (argument == op.getRowArgument() || argument == op.getPositionArgument()) {
    Value start = argument == op.getRowArgument()
                      ? block.start
                      : plus(block.start, reach.offset);
    return arith::AddIOp::create(rewriter, loc,
                                 countRows(rewriter.getIndexType()),
                                 splat(start, queryBlock, 1));
  }
  Value operand = op->getOperand(argument.getArgNumber());
  if (Value given = narrow.lookup(operand))
    operand = given;
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rest = cast<RankedTensorType>(argument.getType()).getRank();
  int64_t operandLead = type.getRank() - rest - 1;
  std::optional<int64_t> column = *RegistersForm::getColumnDim(argument, body);
  std::optional<int64_t> kept;
  if (column)
    kept = *column + operandLead + 1;
  SmallVector<FixedIndex> fixed = fixLead(operand, operandLead);
  fixUnits(type, operandLead + 1, kept, constant(0), fixed);
  Value rows = takeSlice(rewriter, loc, operand, fixed);
  Value from;
  if (column)
    from = body.getKeyDim(argument) ? keyStart : constant(0);
  return read(rows, block.start, from, queryBlock, columnsOf(argument));
}

Value AttentionRegisters::uniformOf(Value value) {
  auto tile = tiles.find(value);
  return tile == tiles.end() ? value : tile->second.value;
}

Value AttentionRegisters::readUniform(Value value) {
  Value known = uniformOf(value);
  if (!isa<RankedTensorType>(value.getType()))
    return known;
  // Of a filled tensor, the number.
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return uniformOf(fill.value());
  DenseElementsAttr constantValue;
  if (matchPattern(known, m_Constant(&constantValue)) &&
      constantValue.isSplat())
    return arith::ConstantOp::create(rewriter, loc,
                                     constantValue.getSplatValue<TypedAttr>());
  auto type = cast<RankedTensorType>(known.getType());
  std::optional<int64_t> column = *RegistersForm::getColumnDim(value, body);
  SmallVector<FixedIndex> fixed;
  fixUnits(type, 0, column, constant(0), fixed);
  Value row = takeSlice(rewriter, loc, known, fixed);
  Value from;
  if (column)
    from = body.getKeyDim(value) ? keyStart : constant(0);
  return read(row, /*row=*/{}, from, 1, columnsOf(value));
}

/// The part of a tensor that aligns at the right with `[lead.., T, S]` that
/// belongs to the block.
Value AttentionRegisters::readPair(Value tensor) {
  if (Value given = narrow.lookup(tensor))
    tensor = given;
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  SmallVector<FixedIndex> fixed;
  Value row, column;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t fromRight = rank - 1 - dim;
    if (type.getDimSize(dim) == 1)
      fixed.emplace_back(dim, constant(0));
    else if (fromRight > 1)
      fixed.emplace_back(dim, lead[leadRank - (fromRight - 1)]);
    else
      (fromRight == 0 ? column : row) = fromRight == 0 ? keyStart : block.start;
  }
  Value part = takeSlice(rewriter, loc, tensor, fixed);
  return read(part, row, column, row ? queryBlock : 1, column ? keyBlock : 1);
}

Value AttentionRegisters::readSegments(Value tensor, bool isOfQueries) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<FixedIndex> fixed;
  for (int64_t dim = 0; dim + 1 < type.getRank(); ++dim)
    fixed.emplace_back(dim,
                       type.getDimSize(dim) == 1 ? constant(0) : lead[dim]);
  Value part = takeSlice(rewriter, loc, tensor, fixed);
  if (isOfQueries)
    return read(part, block.start, {}, queryBlock, 1);
  return read(part, {}, keyStart, 1, keyBlock);
}

/// `[rows, columns]` of a matrix that is the same for all queries.
Value AttentionRegisters::readMatrix(Value matrix, Value row, int64_t rows) {
  int64_t columns = llvm::alignTo(
      cast<RankedTensorType>(matrix.getType()).getDimSize(1), registerTile);
  return read(matrix, row, constant(0), rows, columns);
}

//===----------------------------------------------------------------------===//
// Values of the region
//===----------------------------------------------------------------------===//

Value AttentionRegisters::vectorOf(Value value) {
  if (Value known = vectors.lookup(value))
    return known;
  auto argument = dyn_cast<BlockArgument>(value);
  bool isOwn = argument && argument.getOwner()->getParentOp() == op;
  Value vector = isOwn && body.isPerQuery(value) ? readArgument(argument)
                                                 : readUniform(value);
  // Floats of 16 bits are read as they are, and computed with in f32.
  if (getElementTypeOrSelf(vector) != getElementTypeOrSelf(value)) {
    Type wide = getElementTypeOrSelf(value);
    if (VectorType type = asVector(vector))
      wide = type.cloneWith(std::nullopt, wide);
    vector = arith::ExtFOp::create(rewriter, loc, wide, vector);
  }
  setVector(value, vector);
  return vector;
}

void AttentionRegisters::setVector(Value value, Value vector) {
  vectors[value] = vector;
}

Value AttentionRegisters::productOperand(Value value, int64_t columns) {
  Value vector = vectorOf(value);
  VectorType type = asVector(vector);
  // Behind the end of a row that was read is 0; what is computed may be NaN
  // there, as 0 / 0.
  Value row = value;
  while (isa_and_present<tensor::CastOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp, tensor::ExtractSliceOp>(
      row.getDefiningOp()))
    row = row.getDefiningOp()->getOperand(0);
  bool isRead = isa<BlockArgument>(row);
  if (isRead && type &&
      type.getShape() == ArrayRef<int64_t>{queryBlock, columns})
    return vector;
  // So is it behind a row of one element, or the same one for all.
  Value whole = stretch(vector, queryBlock, columns);
  auto rowType = cast<RankedTensorType>(value.getType());
  auto column = *RegistersForm::getColumnDim(value, body);
  int64_t count = column ? rowType.getDimSize(*column) : 1;
  if (count == columns)
    return whole;
  Type i32 = rewriter.getI32Type();
  Value isInside = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::slt, countColumns(columns, i32),
      splat(arith::ConstantIntOp::create(rewriter, loc, i32, count), 1,
            columns));
  return arith::SelectOp::create(
      rewriter, loc, stretch(isInside, queryBlock, columns), whole,
      splat(number(getElementTypeOrSelf(value), 0.0), queryBlock, columns));
}
