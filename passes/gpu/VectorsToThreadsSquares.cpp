// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- VectorsToThreadsSquares.cpp - Squares of products ------------------===//
//
// The instructions of one square of 16 rows with one of 8 columns, and the
// registers that these take: m16n8k16 of 16 bits, or m16n8k8 of the 19 bits of
// tf32. Of an f32 that is more than these, x = hi + lo, and a product is hi *
// hi + hi * lo + lo * hi.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/VectorsToThreadsSquares.h"

using namespace mlir;
using namespace gatefold;

static Value number(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(),
                                      value);
}

static Value buildPair(OpBuilder &builder, Location loc, Value first,
                       Value second) {
  Value pair =
      LLVM::PoisonOp::create(builder, loc, VectorType::get(2, first.getType()));
  pair = LLVM::InsertElementOp::create(builder, loc, pair, first,
                                       number(builder, loc, 0));
  return LLVM::InsertElementOp::create(builder, loc, pair, second,
                                       number(builder, loc, 1));
}

/// The number in f32 that was rounded to this one; null if none was.
static Value getRounded(Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  return rounding && rounding.getIn().getType().isF32() ? rounding.getIn()
                                                        : Value();
}

/// A pair of 16 bits in a register (i32). Two that were rounded are rounded
/// together, which is one instruction.
static Value getPacked(OpBuilder &builder, Location loc,
                       const OperandPair &pair) {
  if (pair.packed)
    return pair.packed;
  Value both;
  Value first = getRounded(pair.first), second = getRounded(pair.second);
  if (first && second)
    both = arith::TruncFOp::create(builder, loc,
                                   VectorType::get(2, pair.first.getType()),
                                   buildPair(builder, loc, first, second));
  else
    both = buildPair(builder, loc, pair.first, pair.second);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), both);
}

/// The two elements in f32, `element` is their type.
static std::pair<Value, Value> getFloats(OpBuilder &builder, Location loc,
                                         OperandPair pair, Type element) {
  if (pair.packed) {
    Value both = LLVM::BitcastOp::create(
        builder, loc, VectorType::get(2, element), pair.packed);
    pair.first = LLVM::ExtractElementOp::create(builder, loc, both,
                                                number(builder, loc, 0));
    pair.second = LLVM::ExtractElementOp::create(builder, loc, both,
                                                 number(builder, loc, 1));
  }
  auto extend = [&](Value value) -> Value {
    if (value.getType().isF32())
      return value;
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  };
  Value first = extend(pair.first);
  return {first, extend(pair.second)};
}

/// The rounded number as the register of an operand.
static Value roundToTf32(OpBuilder &builder, Location loc, Value value) {
  return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(),
                                            value, NVVM::FPRoundingMode::RNA,
                                            NVVM::SaturationMode::NONE, false);
}

/// The high part and the low part of an f32.
///
/// The high part is rounded as cvt.rna does, by half a unit that is added to
/// the magnitude. Of an infinite number it must be finite, since the products
/// of the parts are added up: infinity has a low part that is infinite and +-1
/// as its high part, so that high * low of another number is nothing that
/// outweighs low * high. What would round to infinity is taken so, too; a NaN
/// has a low part that is one. The low part has one bit more than a tf32 at
/// most: that tensor cores do not look at it is as good as rounding.
static SplitFloat splitInTwo(OpBuilder &builder, Location loc, Value value) {
  constexpr int64_t half = 0x1000, kept = 0xffffe000, keptOfHuge = 0xbfffe000;
  constexpr uint32_t leastHuge = 0x7f7ff000;
  Type f32 = builder.getF32Type();
  auto toWord = [&](Value number) -> Value {
    return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), number);
  };
  Value limit = arith::ConstantFloatOp::create(
      builder, loc, builder.getF32Type(),
      APFloat(APFloat::IEEEsingle(), APInt(32, leastHuge)));
  Value isHuge =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE,
                            LLVM::FAbsOp::create(builder, loc, value), limit);
  Value rounded = arith::AddIOp::create(builder, loc, toWord(value),
                                        number(builder, loc, half));
  Value high = arith::AndIOp::create(
      builder, loc, rounded,
      arith::SelectOp::create(builder, loc, isHuge,
                              number(builder, loc, keptOfHuge),
                              number(builder, loc, kept)));
  Value rest = arith::SubFOp::create(
      builder, loc, value, LLVM::BitcastOp::create(builder, loc, f32, high));
  return {high, toWord(rest)};
}

/// One that is known to be a tf32, or whose low part is left out, has none.
static SplitFloat split(OpBuilder &builder, Location loc, Value value,
                        bool isExact, bool isShort) {
  if (isExact)
    return {LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), value),
            {}};
  if (isShort)
    return {roundToTf32(builder, loc, value), {}};
  return splitInTwo(builder, loc, value);
}

/// In 16 bits a register holds a pair. In tf32 it holds an element: the first
/// of a pair stands for k = t of an instruction, the second for k = t + 4, in
/// both operands alike, so that sums are those of the same products.
SquareProduct::Registers
SquareProduct::getRegisters(ArrayRef<OperandPair> pairs,
                            const ProductOperand &operand, bool isLeft) {
  Registers registers;
  if (!element.isF32()) {
    for (const OperandPair &pair : pairs)
      registers.push_back({getPacked(builder, loc, pair), {}});
    return registers;
  }
  // One instruction after the other: of A two pairs each, of B one.
  size_t step = isLeft ? 2 : 1;
  for (size_t begin = 0; begin < pairs.size(); begin += step) {
    SmallVector<std::pair<Value, Value>> floats;
    for (const OperandPair &pair : pairs.slice(begin, step))
      floats.push_back(getFloats(builder, loc, pair, operand.element));
    for (auto &[first, second] : floats)
      registers.push_back(split(builder, loc, first, operand.isExact, isShort));
    for (auto &[first, second] : floats)
      registers.push_back(
          split(builder, loc, second, operand.isExact, isShort));
  }
  return registers;
}

void SquareProduct::multiply(Accumulators &sums, ArrayRef<Value> a,
                             ArrayRef<Value> b) {
  Type f32 = builder.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               {f32, f32, f32, f32});
  auto as = [&](ArrayRef<Value> values) {
    SmallVector<Value> result(values);
    // Upstream takes bf16 as words, f16 as vectors.
    if (element.isF16())
      for (Value &value : result)
        value = LLVM::BitcastOp::create(builder, loc,
                                        VectorType::get(2, element), value);
    return result;
  };
  NVVM::MMATypes kind = element.isF32()    ? NVVM::MMATypes::tf32
                        : element.isBF16() ? NVVM::MMATypes::bf16
                                           : NVVM::MMATypes::f16;
  std::array<NVVM::MMATypes, 2> kinds = {kind, kind};
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row,
                                            NVVM::MMALayout::col};
  Value result =
      NVVM::MmaOp::create(builder, loc, type, as(a), as(b), ValueRange(sums),
                          ArrayRef<int64_t>{16, 8, element.isF32() ? 8 : 16},
                          std::nullopt, std::nullopt, kinds, layouts);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, loc, result, i);
}

void SquareProduct::add(Accumulators &sums, const Registers &a,
                        const Registers &b) {
  size_t leftCount = 4, rightCount = 2;
  for (size_t i = 0; i * leftCount < a.size(); ++i) {
    auto getParts = [&](const Registers &all, size_t count, bool isLow) {
      SmallVector<Value> parts;
      for (const SplitFloat &part :
           ArrayRef<SplitFloat>(all).slice(i * count, count))
        parts.push_back(isLow ? part.low : part.high);
      return parts;
    };
    SmallVector<Value> high = getParts(a, leftCount, false);
    SmallVector<Value> rightHigh = getParts(b, rightCount, false);
    // Small ones first.
    if (a[i * leftCount].low)
      multiply(sums, getParts(a, leftCount, true), rightHigh);
    if (b[i * rightCount].low)
      multiply(sums, high, getParts(b, rightCount, true));
    multiply(sums, high, rightHigh);
  }
}
