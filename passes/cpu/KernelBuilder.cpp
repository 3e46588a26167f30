// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- KernelBuilder.cpp - Short names for what kernels hold --------------===//
//
// Index arithmetic, loops and choices for functions that are built by hand.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/KernelBuilder.h"

using namespace mlir;
using namespace gatefold;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value KernelBuilder::add(Value left, Value right) {
  return createOrFold<arith::AddIOp>(left, right);
}

Value KernelBuilder::subtract(Value left, Value right) {
  return createOrFold<arith::SubIOp>(left, right);
}

Value KernelBuilder::multiply(Value left, Value right) {
  return createOrFold<arith::MulIOp>(left, right);
}

Value KernelBuilder::divide(Value left, Value right) {
  return createOrFold<arith::DivUIOp>(left, right);
}

Value KernelBuilder::divideUp(Value left, Value right) {
  return divide(add(left, subtract(right, index(1))), right);
}

Value KernelBuilder::remainder(Value left, Value right) {
  return createOrFold<arith::RemUIOp>(left, right);
}

Value KernelBuilder::minimum(Value left, Value right) {
  return createOrFold<arith::MinSIOp>(left, right);
}

Value KernelBuilder::compare(arith::CmpIPredicate predicate, Value left,
                             Value right) {
  return createOrFold<arith::CmpIOp>(predicate, left, right);
}

Value KernelBuilder::choose(Value condition, Value ifTrue, Value ifFalse) {
  return createOrFold<arith::SelectOp>(condition, ifTrue, ifFalse);
}

Value KernelBuilder::size(Value buffer, int64_t dim) {
  return createOrFold<memref::DimOp>(buffer, dim);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelBuilder::loop(Value begin, Value end, int64_t step,
                         function_ref<void(Value)> body) {
  auto made = scf::ForOp::create(*this, begin, end, index(step));
  InsertionGuard guard(*this);
  setInsertionPointToStart(made.getBody());
  body(made.getInductionVar());
}

SmallVector<Value>
KernelBuilder::loop(Value begin, Value end, int64_t step, ValueRange carried,
                    function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto made = scf::ForOp::create(*this, begin, end, index(step), carried);
  InsertionGuard guard(*this);
  setInsertionPointToStart(made.getBody());
  SmallVector<Value> next =
      body(made.getInductionVar(), made.getRegionIterArgs());
  scf::YieldOp::create(*this, next);
  return SmallVector<Value>(made.getResults());
}

void KernelBuilder::when(Value condition, function_ref<void()> body) {
  auto made = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(made.thenBlock());
  body();
}

SmallVector<Value>
KernelBuilder::either(Value condition, TypeRange types,
                      function_ref<SmallVector<Value>()> ifTrue,
                      function_ref<SmallVector<Value>()> ifFalse) {
  auto made =
      scf::IfOp::create(*this, types, condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  auto fill = [&](Block *block, function_ref<SmallVector<Value>()> body) {
    setInsertionPointToStart(block);
    SmallVector<Value> values = body();
    // Without results the builder has already ended the block.
    if (!types.empty())
      scf::YieldOp::create(*this, values);
  };
  fill(made.thenBlock(), ifTrue);
  fill(made.elseBlock(), ifFalse);
  return SmallVector<Value>(made.getResults());
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value KernelBuilder::convertFloat(Value value, Type element) {
  Type type = value.getType();
  Type wanted = element;
  if (auto vector = dyn_cast<VectorType>(type))
    wanted = vector.clone(element);
  if (type == wanted)
    return value;
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() <
      element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(*this, wanted, value);
  return arith::TruncFOp::create(*this, wanted, value);
}

Value KernelBuilder::multiplyAdd(const TargetDescription &target, Value a,
                                 Value b, Value c) {
  if (target.hasFusedMultiplyAdd())
    return math::FmaOp::create(*this, a, b, c);
  return arith::AddFOp::create(*this, arith::MulFOp::create(*this, a, b), c);
}

void KernelBuilder::copyRectangle(const TargetDescription &target,
                                  int64_t lanes, int64_t vectors,
                                  const Rectangle &from, const Rectangle &to,
                                  Value rows, Value columns) {
  Value zero = index(0);
  Type element = cast<MemRefType>(from.buffer.getType()).getElementType();
  auto type = VectorType::get(lanes, element);
  auto maskType = VectorType::get(lanes, getI1Type());
  auto at = [&](const Rectangle &rectangle, Value r, Value c) {
    return SmallVector<Value>{add(rectangle.row, r), add(rectangle.column, c)};
  };
  // Elsewhere a masked store is slow, or no instruction.
  if (target.vectorBytes >= 64 && element.getIntOrFloatBitWidth() >= 32) {
    Value zeros = arith::ConstantOp::create(*this, getZeroAttr(type));
    SmallVector<Value> starts, masks;
    for (int64_t v = 0; v < vectors; ++v) {
      starts.push_back(index(v * lanes));
      masks.push_back(vector::CreateMaskOp::create(
          *this, maskType, subtract(columns, starts.back())));
    }
    loop(zero, rows, 1, [&](Value r) {
      for (auto [c, mask] : llvm::zip(starts, masks)) {
        Value value = vector::MaskedLoadOp::create(*this, type, from.buffer,
                                                   at(from, r, c), mask, zeros);
        vector::MaskedStoreOp::create(*this, to.buffer, at(to, r, c), mask,
                                      value);
      }
    });
    return;
  }
  // Vectors, and a rest of less than one in each row.
  Value rest = remainder(columns, index(lanes));
  Value whole = subtract(columns, rest);
  loop(zero, rows, 1, [&](Value r) {
    loop(zero, whole, lanes, [&](Value c) {
      Value value =
          vector::LoadOp::create(*this, type, from.buffer, at(from, r, c));
      vector::StoreOp::create(*this, value, to.buffer, at(to, r, c));
    });
    loop(whole, columns, 1, [&](Value c) {
      Value value = memref::LoadOp::create(*this, from.buffer, at(from, r, c));
      memref::StoreOp::create(*this, value, to.buffer, at(to, r, c));
    });
  });
}

//===----------------------------------------------------------------------===//
// Buffers, functions
//===----------------------------------------------------------------------===//

MemRefType gatefold::getOpenBuffer(Type element, ArrayRef<int64_t> sizes,
                                   int64_t contiguous) {
  SmallVector<int64_t> strides(sizes.size(), ShapedType::kDynamic);
  int64_t stride = 1;
  for (int64_t dim = sizes.size() - 1; contiguous > 0; --dim, --contiguous) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return MemRefType::get(sizes, element,
                         StridedLayoutAttr::get(element.getContext(),
                                                ShapedType::kDynamic, strides));
}

bool gatefold::isContiguous(MemRefType type, int64_t contiguous) {
  SmallVector<int64_t> strides;
  int64_t offset, stride = 1;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      type.getMemorySpace())
    return false;
  for (int64_t dim = type.getRank() - 1; contiguous > 0; --dim, --contiguous) {
    if (strides[dim] != stride)
      return false;
    stride *= type.getDimSize(dim);
  }
  return true;
}

func::FuncOp gatefold::makeKernelFunction(Location loc, StringRef name,
                                          TypeRange arguments) {
  Builder builder(loc.getContext());
  auto function = func::FuncOp::create(
      loc, name, builder.getFunctionType(arguments, /*results=*/{}));
  function.setPrivate();
  // It is one function so that it is compiled once.
  function->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  function.addEntryBlock();
  return function;
}
