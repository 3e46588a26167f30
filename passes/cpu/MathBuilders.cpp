// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathBuilders.cpp - Exponentials as arithmetic ----------------------===//
//
// Reduction of the argument, a polynomial, reconstruction: the same steps in
// f32 and f64, with the numbers of MathFormats.cpp.
//
// Two rules keep the bits the same in every context. A product is never the
// operand of a plain sum (it is an fma, or multiplies on), since code
// generation may contract such a pair in one place and not in another. And
// numbers are rounded to whole ones by adding 1.5 * 2^23 (in f64 2^52), whose
// low bits then are the whole number, so that NaN and infinities need no
// conversion to integers, which would be undefined.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/MathBuilders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace gatefold;
using arith::CmpFPredicate;

static constexpr double infinity = std::numeric_limits<double>::infinity();
//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Type MathBuilder::floatLike(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

Type MathBuilder::integerLike(Type type, unsigned width) {
  return floatLike(type, b.getIntegerType(width));
}

static Value constant(ImplicitLocOpBuilder &b, Type type, TypedAttr element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return arith::ConstantOp::create(b,
                                     SplatElementsAttr::get(shaped, element));
  return arith::ConstantOp::create(b, element);
}

Value MathBuilder::number(Value like, double value) {
  Type type = like.getType();
  return constant(b, type, b.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value MathBuilder::integer(Value like, int64_t value) {
  Type type = like.getType();
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  return constant(b, type,
                  b.getIntegerAttr(element, APInt(element.getWidth(), value,
                                                  /*isSigned=*/true,
                                                  /*implicitTrunc=*/true)));
}

Value MathBuilder::bits(Value x) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  return arith::BitcastOp::create(b, integerLike(x.getType(), width), x);
}

Value MathBuilder::fromBits(Value bits, Type type) {
  return arith::BitcastOp::create(b, type, bits);
}

Value MathBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}

Value MathBuilder::fma(Value x, double y, Value z) {
  return fma(x, number(x, y), z);
}

Value MathBuilder::multiply(Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

Value MathBuilder::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}

Value MathBuilder::subtract(Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}

Value MathBuilder::select(CmpFPredicate predicate, Value x, double y, Value yes,
                          Value no) {
  Value condition = arith::CmpFOp::create(b, predicate, x, number(x, y));
  return arith::SelectOp::create(b, condition, yes, no);
}

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
Value MathBuilder::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = number(x, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, number(x, coefficient));
  return result;
}

/// NaN stays: one instruction on x86, where the second operand is the result
/// for NaN.
Value MathBuilder::atMost(Value x, double bound) {
  Value limit = number(x, bound);
  Value above = arith::CmpFOp::create(b, CmpFPredicate::OLT, limit, x);
  return arith::SelectOp::create(b, above, limit, x);
}

Value MathBuilder::atLeast(Value x, double bound) {
  Value limit = number(x, bound);
  Value below = arith::CmpFOp::create(b, CmpFPredicate::OGT, limit, x);
  return arith::SelectOp::create(b, below, limit, x);
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// x = power * unit * log(2) + rest, |rest| <= unit * log(2) / 2. `bias` is
/// added to the power in the low bits of `rounded`.
MathBuilder::Reduced MathBuilder::reduce(Value x, double unit, int bias) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Reduced result;
  Value offset = number(x, format.rounder + bias);
  result.rounded = fma(x, format.log2e / unit, offset);
  result.power = subtract(result.rounded, offset);
  result.rest = fma(result.power, -format.ln2High * unit, x);
  result.rest = fma(result.power, -format.ln2Low * unit, result.rest);
  return result;
}

/// 2^(power + bias - that of the format): the low bits as an exponent.
Value MathBuilder::scaleOf(const Reduced &reduced) {
  const FloatFormat &format = FloatFormat::of(reduced.rounded.getType());
  Value low = bits(reduced.rounded);
  Value shifted =
      arith::ShLIOp::create(b, low, integer(low, format.fractionBits));
  return fromBits(shifted, reduced.rounded.getType());
}

/// The exponent of a value grows by the number in the low bits of `power`. This
/// reaches 2^128 times a number below 1, which no factor of one float could.
Value MathBuilder::addToExponent(Value value, Value power) {
  const FloatFormat &format = FloatFormat::of(value.getType());
  Value low = bits(power);
  Value shift = integer(low, format.fractionBits);
  Value word = bits(value);
  Value grown =
      arith::AddIOp::create(b, word, arith::ShLIOp::create(b, low, shift));
  return fromBits(grown, value.getType());
}

Value MathBuilder::exp(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Reduced reduced = reduce(x, 1, 0);
  Value result = addToExponent(polynomial(reduced.rest, format.exponential),
                               reduced.rounded);
  // Below log of the least normal number; above log of the largest; NaN.
  result =
      select(CmpFPredicate::OLT, x, format.leastPower, number(x, 0), result);
  return select(CmpFPredicate::OLE, x, format.largestPower, result,
                add(x, number(x, infinity)));
}

Value MathBuilder::exp2(Value x) {
  Value offset = number(x, FloatFormat::of(x.getType()).rounder);
  Value rounded = add(x, offset);
  Value rest = subtract(x, subtract(rounded, offset));
  Value power =
      polynomial(rest, {1, 0x1.62e43p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5,
                        0x1.3b6816p-7, 0x1.5ef4dap-10, 0x1.179992p-13});
  Value result = addToExponent(power, rounded);
  result = select(CmpFPredicate::OLT, x, -126, number(x, 0), result);
  return select(CmpFPredicate::OLT, x, 128, result,
                add(x, number(x, infinity)));
}

/// 2^k (e^r - 1) + (2^k - 1), with half of 2^k since k reaches 128 (in f64
/// 1024); where k is 0, half of a tiny number would be denormal.
Value MathBuilder::expm1(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value bounded = atLeast(atMost(x, format.expm1Most), format.expm1Least);
  Reduced reduced = reduce(bounded, 1, format.exponentBias - 1);
  Value rest = reduced.rest;
  Value tail = polynomial(rest, format.exponentialTail);
  Value less = fma(multiply(rest, rest), tail, rest);
  Value scale = scaleOf(reduced);
  Value half = fma(scale, less, subtract(scale, number(x, 0.5)));
  Value result =
      select(CmpFPredicate::OEQ, reduced.power, 0, less, add(half, half));
  return math::CopySignOp::create(b, result, x);
}

/// 1 / (1 + exp(-x)). The bounds keep exp finite; where the result would be
/// denormal it is, and so 0.
Value MathBuilder::sigmoid(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value bounded = atLeast(atMost(x, format.sigmoidMost), format.sigmoidLeast);
  Value offset = number(x, format.rounder + format.exponentBias);
  Reduced reduced;
  reduced.rounded = fma(bounded, -format.log2e, offset);
  reduced.power = subtract(reduced.rounded, offset);
  // The rest of -x, negated; so are the odd coefficients.
  Value rest = fma(reduced.power, format.ln2High, bounded);
  rest = fma(reduced.power, format.ln2Low, rest);
  SmallVector<double> coefficients(format.exponential);
  for (size_t i = 1; i < coefficients.size(); i += 2)
    coefficients[i] = -coefficients[i];
  Value power = polynomial(rest, coefficients);
  Value one = number(x, 1);
  return arith::DivFOp::create(b, one, fma(power, scaleOf(reduced), one));
}

/// With |x| = k log(2)/2 + r, s = 2^k and h = tanh(r):
///   tanh(|x|) = ((s - 1) + (s + 1) h) / ((s + 1) + (s - 1) h),
/// which is h, to the bit, where k is 0. Otherwise three roundings would add
/// up to more than 2 units; so the quotient is the distance from c = min(k/4,
/// 1), which is near the result and whose products with s are exact.
Value MathBuilder::tanh(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value bounded = atMost(math::AbsFOp::create(b, x), format.tanhMost);
  Reduced reduced = reduce(bounded, 0.5, format.exponentBias);
  Value rest = reduced.rest;
  Value square = multiply(rest, rest);
  Value tail = polynomial(square, format.tanhTail);
  Value h = fma(multiply(square, rest), tail, rest);
  Value scale = scaleOf(reduced);
  Value one = number(x, 1);
  Value less = subtract(scale, one), more = add(scale, one);
  Value near = atMost(multiply(reduced.power, number(x, 0.25)), 1);
  Value negated = arith::NegFOp::create(b, near);
  Value over = fma(fma(negated, less, more), h, fma(negated, more, less));
  Value under = fma(less, h, more);
  Value result = add(near, arith::DivFOp::create(b, over, under));
  return math::CopySignOp::create(b, result, x);
}

/// A polynomial below 1; 1 - exp(polynomial) above, where the polynomial is
/// that of log(erfc(x)).
Value MathBuilder::erf(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value square = multiply(x, x);
  Value small = fma(polynomial(square, format.erfTail), x, x);

  Value absolute = math::AbsFOp::create(b, x);
  Value bounded = atMost(absolute, format.erfMost);
  Value logarithm =
      multiply(polynomial(bounded, format.erfcLogarithm), bounded);
  Reduced reduced = reduce(logarithm, 1, format.exponentBias);
  Value power =
      arith::NegFOp::create(b, polynomial(reduced.rest, format.exponential));
  Value large = fma(power, scaleOf(reduced), number(x, 1));
  large = math::CopySignOp::create(b, large, x);
  return select(CmpFPredicate::OLT, absolute, 1, small, large);
}
