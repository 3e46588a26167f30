// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductLoops.cpp - Products element by element ---------------------===//
//
// Plain loops for products and packings that have no form in vectors.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/ProductLoops.h"

using namespace mlir;
using namespace gatefold;

/// One scf.parallel over the elements of a buffer.
static void makeParallelLoop(KernelBuilder &builder, Value buffer,
                             SmallVector<Value> &place,
                             function_ref<void()> body) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<Value> lower(rank, builder.index(0)), upper,
      steps(rank, builder.index(1));
  for (int64_t dim = 0; dim < rank; ++dim)
    upper.push_back(builder.size(buffer, dim));
  auto loop = scf::ParallelOp::create(builder, lower, upper, steps);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  llvm::append_range(place, loop.getInductionVars());
  body();
}

/// A loop over each element of a buffer.
static void makeElementLoops(KernelBuilder &builder, Value buffer,
                             LoopKind kind, SmallVector<Value> &place,
                             function_ref<void()> body) {
  int64_t dim = place.size();
  if (dim == cast<MemRefType>(buffer.getType()).getRank())
    return body();
  if (kind == LoopKind::Parallel)
    return makeParallelLoop(builder, buffer, place, body);
  builder.loop(builder.index(0), builder.size(buffer, dim), 1, [&](Value at) {
    place.push_back(at);
    makeElementLoops(builder, buffer, kind, place, body);
    place.pop_back();
  });
}

void gatefold::makeLinearLoops(KernelBuilder &builder, LinearOp op,
                               const TargetDescription &target, LoopKind kind) {
  Value output = op.getOutput(), panels = op.getPanels();
  Type element = getElementTypeOrSelf(output.getType());
  Type sumType = element.isF64() ? element : builder.getF32Type();
  Value width = builder.index(op.getWidth());
  auto load = [&](Value buffer, ValueRange place) {
    Value value = memref::LoadOp::create(builder, buffer, place);
    return builder.convertFloat(value, sumType);
  };
  SmallVector<Value> place;
  makeElementLoops(builder, output, kind, place, [&] {
    Value panel = builder.divide(place.back(), width);
    Value lane = builder.remainder(place.back(), width);
    Value start;
    if (Value initial = op.getInitial()) {
      bool isRow = cast<MemRefType>(initial.getType()).getRank() == 1;
      start =
          load(initial, isRow ? ArrayRef(place).take_back() : ArrayRef(place));
    } else {
      start = arith::ConstantOp::create(builder, builder.getZeroAttr(sumType));
    }
    Value sum =
        builder.loop(builder.index(0), builder.size(panels, 1), 1, start,
                     [&](Value k, ValueRange sum) -> SmallVector<Value> {
                       SmallVector<Value> xPlace(place);
                       xPlace.back() = k;
                       Value x = load(op.getX(), xPlace);
                       Value w = load(panels, {panel, k, lane});
                       return {builder.multiplyAdd(target, x, w, sum.front())};
                     })[0];
    memref::StoreOp::create(builder, builder.convertFloat(sum, element), output,
                            place);
  });
}

void gatefold::makePackLoops(KernelBuilder &builder, PackOp op, LoopKind kind) {
  bool isAcross = op.getAlongAttr().getInt() == 0;
  Value source = op.getSource(), output = op.getOutput();
  Type element = getElementTypeOrSelf(source.getType());
  Value columns = builder.size(source, isAcross ? 0 : 1);
  Value width = builder.index(op.getWidth());
  SmallVector<Value> place;
  makeElementLoops(builder, output, kind, place, [&] {
    Value column = builder.add(builder.multiply(place[0], width), place[2]);
    Value isInside =
        builder.compare(arith::CmpIPredicate::slt, column, columns);
    Value value = builder.either(
        isInside, element,
        [&]() -> SmallVector<Value> {
          Value row = isAcross ? column : place[1];
          Value at = isAcross ? place[1] : column;
          return {memref::LoadOp::create(builder, source, ValueRange{row, at})};
        },
        [&]() -> SmallVector<Value> {
          return {
              arith::ConstantOp::create(builder, builder.getZeroAttr(element))};
        })[0];
    memref::StoreOp::create(builder, value, output, place);
  });
}
