// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Extents.cpp - Sizes of buffers as formulas -------------------------===//
//
// Follows sizes through views to the arguments of the entry.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Extents.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gatefold;

Extents::Extents(func::FuncOp entry, const Interface *interface)
    : entry(entry), interface(interface),
      rates(WorkRates::of(
          TargetDescription::fromModule(entry->getParentOfType<ModuleOp>()))),
      dominance(entry) {
  if (!interface)
    return;
  sources.resize(interface->dimensions.size());
  unsigned count =
      std::min<unsigned>(interface->tensors.size(), entry.getNumArguments());
  for (unsigned i = 0; i < count; ++i)
    for (auto [dim, size] :
         llvm::enumerate(interface->tensors[i].shape.getResults()))
      if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
        if (!sources[symbol.getPosition()].value)
          sources[symbol.getPosition()] = {entry.getArgument(i), dim, {}};
}

AffineExpr Extents::symbolOf(Value value, std::optional<int64_t> dim) {
  AffineExpr &found = known[{value, dim.value_or(-1)}];
  if (!found) {
    found = getAffineSymbolExpr(sources.size(), value.getContext());
    sources.push_back({value, dim, {}});
  }
  return found;
}

AffineExpr Extents::size(Value buffer, int64_t dim) {
  // Chains of views are as long as a program is.
  for (;;) {
    auto type = cast<MemRefType>(buffer.getType());
    if (!type.isDynamicDim(dim))
      return getAffineConstantExpr(type.getDimSize(dim), buffer.getContext());
    if (auto argument = dyn_cast<BlockArgument>(buffer)) {
      if (interface && argument.getOwner() == &entry.getBody().front() &&
          argument.getArgNumber() < interface->tensors.size())
        return interface->tensors[argument.getArgNumber()].shape.getResult(dim);
      return symbolOf(buffer, dim);
    }
    Operation *op = buffer.getDefiningOp();
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return index(alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
    if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
      return index(expand.getMixedOutputShape()[dim]);
    if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      llvm::SmallBitVector dropped = view.getDroppedDims();
      int64_t kept = -1;
      for (auto [i, size] : llvm::enumerate(view.getMixedSizes()))
        if (!dropped[i] && ++kept == dim)
          return index(size);
    }
    auto cast = dyn_cast<memref::CastOp>(op);
    if (!cast || !isa<MemRefType>(cast.getSource().getType()))
      return symbolOf(buffer, dim);
    buffer = cast.getSource();
  }
}

AffineExpr Extents::index(OpFoldResult value) {
  if (auto attribute = dyn_cast<Attribute>(value))
    return getAffineConstantExpr(cast<IntegerAttr>(attribute).getInt(),
                                 attribute.getContext());
  return index(cast<Value>(value));
}

AffineExpr Extents::index(Value value) {
  auto remembered = known.find({value, -1});
  if (remembered != known.end())
    return remembered->second;
  AffineExpr found;
  Operation *op = value.getDefiningOp();
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    found = getAffineConstantExpr(*constant, value.getContext());
  } else if (auto dim = dyn_cast_if_present<memref::DimOp>(op)) {
    auto number = getConstantIntValue(dim.getIndex());
    auto type = dyn_cast<MemRefType>(dim.getSource().getType());
    if (number && type && *number >= 0 && *number < type.getRank())
      found = size(dim.getSource(), *number);
  } else if (isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    AffineExpr left = index(op->getOperand(0));
    AffineExpr right = index(op->getOperand(1));
    if (isa<arith::AddIOp>(op))
      found = left + right;
    else if (isa<arith::SubIOp>(op))
      found = left - right;
    else if (isa<AffineConstantExpr>(left) || isa<AffineConstantExpr>(right))
      found = left * right;
  } else if (isa_and_present<arith::DivSIOp, arith::DivUIOp>(op)) {
    // Of a size, which is not negative.
    std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
    if (divisor && *divisor > 0)
      found = index(op->getOperand(0)).floorDiv(*divisor);
  } else if (isa_and_present<arith::IndexCastOp>(op)) {
    found = index(op->getOperand(0));
  }
  if (!found) {
    AffineExpr bound;
    if (isa_and_present<arith::MinSIOp, arith::MinUIOp>(op)) {
      bound = index(op->getOperand(1));
      AffineExpr first = index(op->getOperand(0));
      if (!isa<AffineConstantExpr>(bound) || isa<AffineConstantExpr>(first))
        bound = first;
    }
    AffineExpr symbol = symbolOf(value, std::nullopt);
    sources[cast<AffineSymbolExpr>(symbol).getPosition()].bound = bound;
    return symbol;
  }
  return known[{value, -1}] = found;
}

AffineExpr Extents::atMost(AffineExpr extent) {
  SmallVector<AffineExpr> symbols;
  for (auto [place, source] : llvm::enumerate(sources))
    symbols.push_back(source.bound
                          ? source.bound
                          : getAffineSymbolExpr(place, extent.getContext()));
  return extent.replaceSymbols(symbols);
}

bool Extents::isKnownBefore(Operation *op, AffineExpr extent) {
  bool isKnown = true;
  extent.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part)) {
      Value value = sources[symbol.getPosition()].value;
      isKnown &= value && dominance.properlyDominates(value, op);
    }
  });
  return isKnown;
}

Value Extents::emit(OpBuilder &builder, Location loc, AffineExpr extent) {
  if (!isKnownBefore(&*builder.getInsertionPoint(), extent))
    return {};
  SmallVector<Value> symbols(sources.size());
  extent.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol || symbols[symbol.getPosition()])
      return;
    const Source &source = sources[symbol.getPosition()];
    Value value = source.value;
    if (source.dim)
      value = memref::DimOp::create(builder, loc, value, *source.dim);
    else if (!value.getType().isIndex())
      value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         value);
    symbols[symbol.getPosition()] = value;
  });
  return affine::expandAffineExpr(builder, loc, extent, {}, symbols);
}
