// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsLayout.cpp - Which elements a thread has -----------===//
//
// Layouts of vectors, and where a thread stands in them.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/gpu/VectorsToThreads.h"
#include "passes/support/Target.h"

using namespace mlir;
using namespace gatefold;

FailureOr<VectorLayout> VectorLayout::get(VectorType type, WarpGrid grid) {
  if (type.isScalable() || type.getRank() < 1 || type.getRank() > 2)
    return failure();
  int64_t rows = type.getDimSize(0);
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 1;
  int64_t warpRows = rows == 1 ? 0 : rows / grid.rows;
  int64_t warpColumns = columns == 1 ? 0 : columns / grid.columns;
  if (rows != 1 && (rows % grid.rows != 0 || warpRows % 16 != 0))
    return failure();
  if (columns != 1 && (columns % grid.columns != 0 || warpColumns % 8 != 0))
    return failure();
  return VectorLayout(warpRows / 16, warpColumns / 8);
}

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

static Value isEqual(OpBuilder &builder, Location loc, Value value,
                     int64_t other) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                               number(builder, loc, other));
}

ThreadPlace::ThreadPlace(func::FuncOp function, WarpGrid grid, int64_t warps)
    : grid(grid) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Location loc = function.getLoc();
  Type i32 = builder.getI32Type();
  auto modulo = [&](Value value, int64_t count) -> Value {
    return arith::RemUIOp::create(builder, loc, value,
                                  number(builder, loc, count));
  };
  auto divide = [&](Value value, int64_t count) -> Value {
    return arith::DivUIOp::create(builder, loc, value,
                                  number(builder, loc, count));
  };
  Value index =
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x).getResult();
  Value thread = arith::IndexCastUIOp::create(builder, loc, i32, index);
  lane = modulo(thread, TargetDescription::warpThreads);
  inQuad = modulo(lane, 4);
  quad = divide(lane, 4);
  Value warp = divide(thread, TargetDescription::warpThreads);
  if (grid.size() < warps)
    isInGrid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     warp, number(builder, loc, grid.size()));
  // Warps that are more do what others do.
  warpRow = modulo(warp, grid.rows);
  warpColumn = modulo(divide(warp, grid.rows), grid.columns);
  if (grid.terms > 1)
    warpTerm = modulo(divide(warp, grid.rows * grid.columns), grid.terms);
}

Value ThreadPlace::getFirstRow(OpBuilder &builder, Location loc,
                               const VectorLayout &layout) const {
  if (layout.getRowTiles() == 0)
    return number(builder, loc, 0);
  Value start = arith::MulIOp::create(
      builder, loc, warpRow, number(builder, loc, 16 * layout.getRowTiles()));
  return arith::AddIOp::create(builder, loc, start, quad);
}

Value ThreadPlace::getFirstColumn(OpBuilder &builder, Location loc,
                                  const VectorLayout &layout) const {
  if (layout.getColumnTiles() == 0)
    return number(builder, loc, 0);
  Value start =
      arith::MulIOp::create(builder, loc, warpColumn,
                            number(builder, loc, 8 * layout.getColumnTiles()));
  Value inTile =
      arith::MulIOp::create(builder, loc, inQuad, number(builder, loc, 2));
  return arith::AddIOp::create(builder, loc, start, inTile);
}

Value ThreadPlace::getIsWriter(OpBuilder &builder, Location loc,
                               const VectorLayout &layout) const {
  Value writes = isInGrid;
  auto require = [&](Value condition) {
    writes = writes ? arith::AndIOp::create(builder, loc, writes, condition)
                    : condition;
  };
  if (grid.terms > 1)
    require(isEqual(builder, loc, warpTerm, 0));
  // Of one column all lanes of a quad have the same, of one row all quads.
  if (layout.getColumnTiles() == 0) {
    require(isEqual(builder, loc, inQuad, 0));
    if (grid.columns > 1)
      require(isEqual(builder, loc, warpColumn, 0));
  }
  if (layout.getRowTiles() == 0) {
    require(isEqual(builder, loc, quad, 0));
    if (grid.rows > 1)
      require(isEqual(builder, loc, warpRow, 0));
  }
  return writes;
}
