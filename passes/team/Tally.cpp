// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Tally.cpp - What ranks spare by sharing, and what it costs ---------===//
//
// Of the time that one rank would take, the others spare it their part.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Tally.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gatefold;

double Tally::getCost(const Extents &extents) const {
  return double(barriers) * double(extents.getRates().barrier);
}

std::optional<double> Tally::getMostSpared() const {
  std::optional<int64_t> known = shared.getConstant();
  if (!known)
    return std::nullopt;
  double spared = double(*known);
  for (const Narrow &part : narrow) {
    std::optional<int64_t> work = part.work.getConstant();
    if (!work)
      return std::nullopt;
    auto rows = dyn_cast<AffineConstantExpr>(part.extent);
    spared += double(*work) * (rows ? 1 - 1 / double(rows.getValue()) : 1);
  }
  return spared;
}

Value Tally::emitIsWorth(OpBuilder &builder, Location loc,
                         Extents &extents) const {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  };
  auto toFloat = [&](Value count) -> Value {
    count =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
    return arith::SIToFPOp::create(builder, loc, builder.getF64Type(), count);
  };
  auto emitSize = [&](AffineExpr size) {
    return extents.emit(builder, loc, size);
  };
  auto emitSpared = [&](const Work &work, Value ranks) -> Value {
    Value others = arith::SubFOp::create(builder, loc, ranks, constant(1));
    return arith::MulFOp::create(
        builder, loc, work.emit(builder, loc, emitSize),
        arith::DivFOp::create(builder, loc, others, ranks));
  };
  Value ranks = toFloat(TeamSizeOp::create(builder, loc));
  Value spared = emitSpared(shared, ranks);
  for (const Narrow &part : narrow) {
    Value rows = emitSize(part.extent);
    if (!rows)
      continue;
    Value most = arith::MinNumFOp::create(builder, loc, ranks, toFloat(rows));
    most = arith::MaxNumFOp::create(builder, loc, most, constant(1));
    spared = arith::AddFOp::create(builder, loc, spared,
                                   emitSpared(part.work, most));
  }
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, spared,
                               constant(getCost(extents)));
}
