// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- UsefulRanks.cpp - How many ranks a run is worth ------------------===//
//
// A function of the open dimensions beside the entry.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/Utils.h"
#include "passes/team/Passes.h"
#include "passes/team/Work.h"

using namespace mlir;
using namespace gatefold;

static bool isOverSymbols(AffineExpr size, unsigned count) {
  bool isOver = true;
  size.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      isOver &= symbol.getPosition() < count;
  });
  return isOver;
}

void gatefold::makeUsefulRanks(func::FuncOp entry, unsigned symbolCount,
                               Extents &extents) {
  auto module = entry->getParentOfType<ModuleOp>();
  Work work = Work::of(entry.getBody().front(), extents);
  Location loc = entry.getLoc();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto function =
      func::FuncOp::create(builder, loc, usefulRanksFunction,
                           builder.getFunctionType({pointer}, {i64}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  SmallVector<Value> symbols;
  for (unsigned i = 0; i < symbolCount; ++i) {
    Value place =
        LLVM::GEPOp::create(builder, loc, pointer, i64, function.getArgument(0),
                            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(i))});
    Value symbol = LLVM::LoadOp::create(builder, loc, i64, place);
    symbols.push_back(arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), symbol));
  }
  Value total = work.emit(builder, loc, [&](AffineExpr size) -> Value {
    return isOverSymbols(size, symbolCount)
               ? affine::expandAffineExpr(builder, loc, size, {}, symbols)
               : Value();
  });
  Value each = arith::ConstantOp::create(
      builder, loc, builder.getF64FloatAttr(double(extents.getRates().rank)));
  total = arith::DivFOp::create(builder, loc, total, each);
  Value most =
      arith::ConstantOp::create(builder, loc, builder.getF64FloatAttr(1 << 20));
  total = arith::MinNumFOp::create(builder, loc, total, most);
  Value ranks = arith::FPToSIOp::create(builder, loc, i64, total);
  Value one = arith::ConstantIntOp::create(builder, loc, i64, 1);
  ranks = arith::MaxSIOp::create(builder, loc, ranks, one);
  func::ReturnOp::create(builder, loc, ranks);
}
