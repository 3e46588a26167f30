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
  // Lanes of a panel that one gate has.
  Value width = builder.index(op.getWidth() / op.getGates());
  int64_t ofOneRow = op.hasGates() ? 2 : 1;
  auto load = [&](Value buffer, ValueRange place) {
    Value value = memref::LoadOp::create(builder, buffer, place);
    return builder.convertFloat(value, sumType);
  };
  SmallVector<Value> place;
  makeElementLoops(builder, output, kind, place, [&] {
    Value panel = builder.divide(place.back(), width);
    Value lane = builder.remainder(place.back(), width);
    ArrayRef<Value> row = ArrayRef(place).drop_back(ofOneRow);
    if (op.hasGates())
      lane = builder.add(builder.multiply(place[row.size()], width), lane);
    Value start;
    if (Value initial = op.getInitial()) {
      int64_t rank = cast<MemRefType>(initial.getType()).getRank();
      start = load(initial, ArrayRef(place).take_back(rank));
    } else {
      start = arith::ConstantOp::create(builder, builder.getZeroAttr(sumType));
    }
    Value sum =
        builder.loop(builder.index(0), builder.size(panels, 1), 1, start,
                     [&](Value k, ValueRange sum) -> SmallVector<Value> {
                       SmallVector<Value> xPlace(row);
                       xPlace.push_back(k);
                       Value x = load(op.getX(), xPlace);
                       Value w = load(panels, {panel, k, lane});
                       return {builder.multiplyAdd(target, x, w, sum.front())};
                     })[0];
    memref::StoreOp::create(builder, builder.convertFloat(sum, element), output,
                            place);
  });
}

void gatefold::makePackLoops(KernelBuilder &builder, PackOp op, LoopKind kind) {
  Value source = op.getSource(), output = op.getOutput();
  auto type = cast<MemRefType>(source.getType());
  Type element = type.getElementType();
  int64_t gates = op.getGates();
  Value columns = builder.size(source, op.getColumnDim());
  // Lanes of a panel that one gate has.
  Value width = builder.index(op.getWidth() / gates);
  SmallVector<Value> place;
  makeElementLoops(builder, output, kind, place, [&] {
    Value lane = gates == 1 ? place[2] : builder.remainder(place[2], width);
    Value column = builder.add(builder.multiply(place[0], width), lane);
    Value isInside =
        builder.compare(arith::CmpIPredicate::slt, column, columns);
    Value value = builder.either(
        isInside, element,
        [&]() -> SmallVector<Value> {
          SmallVector<Value> at(type.getRank());
          at[op.getColumnDim()] = column;
          at[op.getTermDim()] = place[1];
          if (type.getRank() == 3)
            at[op.getAlongAttr().getInt()] = builder.divide(place[2], width);
          return {memref::LoadOp::create(builder, source, at)};
        },
        [&]() -> SmallVector<Value> {
          return {
              arith::ConstantOp::create(builder, builder.getZeroAttr(element))};
        })[0];
    memref::StoreOp::create(builder, value, output, place);
  });
}
