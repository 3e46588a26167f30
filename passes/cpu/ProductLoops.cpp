// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductLoops.cpp - Products element by element ---------------------===//
//
// Plain loops for products and packings that have no form in vectors.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/ProductLoops.h"
#include "passes/PassCommon.h"

using namespace mlir;
using namespace gatefold;

Value gatefold::convertFloat(OpBuilder &builder, Location loc, Value value,
                             Type element) {
  Type type = value.getType();
  Type wanted = element;
  if (auto vector = dyn_cast<VectorType>(type))
    wanted = vector.clone(element);
  if (type == wanted)
    return value;
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() <
      element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, wanted, value);
  return arith::TruncFOp::create(builder, loc, wanted, value);
}

Value gatefold::multiplyAdd(OpBuilder &builder, Location loc,
                            const TargetDescription &target, Value a, Value b,
                            Value c) {
  if (target.hasFusedMultiplyAdd())
    return math::FmaOp::create(builder, loc, a, b, c);
  return arith::AddFOp::create(
      builder, loc, arith::MulFOp::create(builder, loc, a, b), c);
}

void gatefold::makeLinearLoops(OpBuilder &builder, LinearOp op,
                               const TargetDescription &target) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value width = arith::ConstantIndexOp::create(builder, loc, op.getWidth());
  Value output = op.getOutput(), panels = op.getPanels();
  Type element = getElementTypeOrSelf(output.getType());
  Type sumType = element.isF64() ? element : builder.getF32Type();
  Value terms = memref::DimOp::create(builder, loc, panels, 1);
  int64_t rank = cast<MemRefType>(output.getType()).getRank();
  SmallVector<Value> starts(rank, zero), steps(rank, one), sizes;
  for (int64_t dim = 0; dim < rank; ++dim)
    sizes.push_back(memref::DimOp::create(builder, loc, output, dim));
  auto makeElement = [&](OpBuilder &builder, Location loc, ValueRange place) {
    Value column = place.back();
    Value panel = arith::DivUIOp::create(builder, loc, column, width);
    Value lane = arith::RemUIOp::create(builder, loc, column, width);
    Value start;
    if (Value initial = op.getInitial()) {
      bool isRow = cast<MemRefType>(initial.getType()).getRank() == 1;
      start = memref::LoadOp::create(builder, loc, initial,
                                     isRow ? place.take_back() : place);
      start = convertFloat(builder, loc, start, sumType);
    } else {
      start = arith::ConstantOp::create(builder, loc,
                                        builder.getZeroAttr(sumType));
    }
    auto loop = scf::ForOp::create(
        builder, loc, zero, terms, one, start,
        [&](OpBuilder &builder, Location loc, Value k, ValueRange sum) {
          SmallVector<Value> xPlace(place.drop_back());
          xPlace.push_back(k);
          Value x = memref::LoadOp::create(builder, loc, op.getX(), xPlace);
          Value w = memref::LoadOp::create(builder, loc, panels,
                                           ValueRange{panel, k, lane});
          Value next = multiplyAdd(builder, loc, target,
                                   convertFloat(builder, loc, x, sumType),
                                   convertFloat(builder, loc, w, sumType),
                                   sum.front());
          scf::YieldOp::create(builder, loc, next);
        });
    memref::StoreOp::create(
        builder, loc, convertFloat(builder, loc, loop.getResult(0), element),
        output, place);
  };
  scf::buildLoopNest(builder, loc, starts, sizes, steps, makeElement);
}

void gatefold::makePackLoops(OpBuilder &builder, PackOp op) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value width = arith::ConstantIndexOp::create(builder, loc, op.getWidth());
  int64_t along = op.getAlongAttr().getInt();
  Value source = op.getSource(), output = op.getOutput();
  Value columns = memref::DimOp::create(builder, loc, source, along);
  Value nothing = arith::ConstantOp::create(
      builder, loc,
      builder.getZeroAttr(getElementTypeOrSelf(source.getType())));
  SmallVector<Value> starts(3, zero), steps(3, one), sizes;
  for (int64_t dim = 0; dim < 3; ++dim)
    sizes.push_back(memref::DimOp::create(builder, loc, output, dim));
  auto makeElement = [&](OpBuilder &builder, Location loc, ValueRange place) {
    Value first = arith::MulIOp::create(builder, loc, place[0], width);
    Value column = arith::AddIOp::create(builder, loc, first, place[2]);
    Value isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, column, columns);
    SmallVector<Value> from = {place[1], column};
    if (along == 0)
      std::swap(from[0], from[1]);
    auto choice = scf::IfOp::create(
        builder, loc, isInside,
        [&](OpBuilder &builder, Location loc) {
          Value value = memref::LoadOp::create(builder, loc, source, from);
          scf::YieldOp::create(builder, loc, value);
        },
        [&](OpBuilder &builder, Location loc) {
          scf::YieldOp::create(builder, loc, nothing);
        });
    memref::StoreOp::create(builder, loc, choice.getResult(0), output, place);
  };
  scf::buildLoopNest(builder, loc, starts, sizes, steps, makeElement);
}
