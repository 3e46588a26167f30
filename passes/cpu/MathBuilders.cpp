// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathBuilders.cpp - Functions of mathematics as arithmetic ----------===//
//
// Reduction of the argument, a polynomial, reconstruction.
//
// Coefficients are minimax by Remez' exchange in 40 digits, in the weight that
// makes the error relative to the function, then rounded to f32. Errors were
// counted over all 2^32 arguments.
//
// Two rules keep the bits the same in every context. A product is never the
// operand of a plain sum (it is an fma, or multiplies on), since code
// generation may contract such a pair in one place and not in another. And
// numbers are rounded to whole ones by adding 1.5 * 2^23, whose low bits then
// are the whole number, so that NaN and infinities need no conversion to
// integers, which would be undefined.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/MathBuilders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace gatefold;
using arith::CmpFPredicate;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// Adding it rounds to a whole number that stands in the low bits.
static constexpr double rounder = 0x1.8p23;
static constexpr double log2e = 0x1.715476p+0;
/// log(2): the first part has 16 bits, so that its products with exponents are
/// exact.
static constexpr double ln2High = 0x1.62e4p-1, ln2Low = 0x1.7f7d1cp-20;
/// The least normal number.
static constexpr double leastNormal = 0x1p-126;

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
  Reduced result;
  Value offset = number(x, rounder + bias);
  result.rounded = fma(x, log2e / unit, offset);
  result.power = subtract(result.rounded, offset);
  result.rest = fma(result.power, -ln2High * unit, x);
  result.rest = fma(result.power, -ln2Low * unit, result.rest);
  return result;
}

/// 2^(power + bias - 127): the low bits as an exponent.
Value MathBuilder::scaleOf(const Reduced &reduced) {
  Value low = bits(reduced.rounded);
  Value shifted = arith::ShLIOp::create(b, low, integer(low, 23));
  return fromBits(shifted, reduced.rounded.getType());
}

/// exp on [-log(2)/2, log(2)/2], 3e-9 relative before rounding.
Value MathBuilder::expOfRest(Value rest) {
  return polynomial(rest, {1, 1, 0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5,
                           0x1.123da6p-7, 0x1.6ac144p-10});
}

/// The exponent of the polynomial's value grows by the power. This reaches
/// 2^128 times a number below 1, which no factor of one float could.
static Value addToExponent(ImplicitLocOpBuilder &b, Value value, Value low,
                           Value shift) {
  Value word = arith::BitcastOp::create(b, low.getType(), value);
  Value power = arith::ShLIOp::create(b, low, shift);
  Value grown = arith::AddIOp::create(b, word, power);
  return arith::BitcastOp::create(b, value.getType(), grown);
}

Value MathBuilder::exp(Value x) {
  Reduced reduced = reduce(x, 1, 0);
  Value low = bits(reduced.rounded);
  Value result =
      addToExponent(b, expOfRest(reduced.rest), low, integer(low, 23));
  // Below log of the least normal number; above log of the largest; NaN.
  result = select(CmpFPredicate::OLT, x, -0x1.5d589ep+6, number(x, 0), result);
  return select(CmpFPredicate::OLE, x, 0x1.62e42ep+6, result,
                add(x, number(x, infinity)));
}

Value MathBuilder::exp2(Value x) {
  Value offset = number(x, rounder);
  Value rounded = add(x, offset);
  Value rest = subtract(x, subtract(rounded, offset));
  Value power =
      polynomial(rest, {1, 0x1.62e43p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5,
                        0x1.3b6816p-7, 0x1.5ef4dap-10, 0x1.179992p-13});
  Value low = bits(rounded);
  Value result = addToExponent(b, power, low, integer(low, 23));
  result = select(CmpFPredicate::OLT, x, -126, number(x, 0), result);
  return select(CmpFPredicate::OLT, x, 128, result,
                add(x, number(x, infinity)));
}

/// 2^k (e^r - 1) + (2^k - 1), with half of 2^k since k reaches 128; where k is
/// 0, half of a tiny number would be denormal.
Value MathBuilder::expm1(Value x) {
  Value bounded = atLeast(atMost(x, 89), -18);
  Reduced reduced = reduce(bounded, 1, 126);
  Value rest = reduced.rest;
  Value tail =
      polynomial(rest, {0.5, 0x1.555554p-3, 0x1.5554bp-5, 0x1.11118ap-7,
                        0x1.6d723ep-10, 0x1.a032c2p-13});
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
  Value bounded = atLeast(atMost(x, 88), -88.7);
  Value offset = number(x, rounder + 127);
  Reduced reduced;
  reduced.rounded = fma(bounded, -log2e, offset);
  reduced.power = subtract(reduced.rounded, offset);
  // The rest of -x, negated; so are the odd coefficients.
  Value rest = fma(reduced.power, ln2High, bounded);
  rest = fma(reduced.power, ln2Low, rest);
  Value power =
      polynomial(rest, {1, -1, 0x1.fffffcp-2, -0x1.55548cp-3, 0x1.555858p-5,
                        -0x1.123da6p-7, 0x1.6ac144p-10});
  Value one = number(x, 1);
  return arith::DivFOp::create(b, one, fma(power, scaleOf(reduced), one));
}

/// With |x| = k log(2)/2 + r, s = 2^k and h = tanh(r):
///   tanh(|x|) = ((s - 1) + (s + 1) h) / ((s + 1) + (s - 1) h),
/// which is h, to the bit, where k is 0. Otherwise three roundings would add
/// up to more than 2 units; so the quotient is the distance from c = min(k/4,
/// 1), which is near the result and whose products with s are exact.
Value MathBuilder::tanh(Value x) {
  Value bounded = atMost(math::AbsFOp::create(b, x), 9.02);
  Reduced reduced = reduce(bounded, 0.5, 127);
  Value rest = reduced.rest;
  Value square = multiply(rest, rest);
  Value tail =
      polynomial(square, {-0x1.55554ep-2, 0x1.110594p-3, -0x1.afd7fcp-5});
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
/// that of log(erfc(x)) / x.
Value MathBuilder::erf(Value x) {
  Value square = multiply(x, x);
  Value tail = polynomial(square, {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2ce6p-4,
                                   -0x1.b7f71ap-6, 0x1.53f224p-8,
                                   -0x1.a3515ep-11, 0x1.4771fep-14});
  Value small = fma(tail, x, x);

  Value absolute = math::AbsFOp::create(b, x);
  Value bounded = atMost(absolute, 4);
  Value logarithm = multiply(
      polynomial(bounded, {-0x1.20e412p+0, -0x1.458bbp-1, -0x1.ae8e6cp-4,
                           0x1.758816p-6, -0x1.a1b932p-9, 0x1.b9c248p-13}),
      bounded);
  Reduced reduced = reduce(logarithm, 1, 127);
  Value power = arith::NegFOp::create(b, expOfRest(reduced.rest));
  Value large = fma(power, scaleOf(reduced), number(x, 1));
  large = math::CopySignOp::create(b, large, x);
  return select(CmpFPredicate::OLT, absolute, 1, small, large);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// Seen from sqrt(1/2), the exponent's bits are the exponent that leaves m
/// within [sqrt(1/2), sqrt(2)).
MathBuilder::Split MathBuilder::split(Value x) {
  constexpr int64_t rootBits = 0x3f3504f3;
  Value word = bits(x);
  Value root = integer(word, rootBits);
  Value moved = arith::SubIOp::create(b, word, root);
  Split result;
  result.integerExponent = arith::ShRSIOp::create(b, moved, integer(word, 23));
  result.exponent =
      arith::SIToFPOp::create(b, x.getType(), result.integerExponent);
  Value mantissa = arith::AndIOp::create(b, moved, integer(word, 0x7fffff));
  mantissa = arith::AddIOp::create(b, mantissa, root);
  result.less = subtract(fromBits(mantissa, x.getType()), number(x, 1));
  return result;
}

/// (log(1 + f) - f) / f^2
Value MathBuilder::logTail(Value f) {
  return polynomial(f, {-0.5, 0x1.555554p-2, -0x1.000228p-2, 0x1.99a00ap-3,
                        -0x1.54723cp-3, 0x1.22dap-3, -0x1.0d8576p-3,
                        0x1.055c5ap-3, -0x1.38b6c4p-4});
}

/// `result` from `least` on; -infinity at the pole (and where a number that is
/// taken as the pole is), NaN below; infinity and NaN as they are.
Value MathBuilder::logSpecial(Value x, Value result, double least,
                              double pole) {
  Value below = select(CmpFPredicate::OLT, x, pole, number(x, notANumber),
                       number(x, -infinity));
  result = select(CmpFPredicate::OLT, x, least, below, result);
  return select(CmpFPredicate::OLT, x, infinity, result, x);
}

Value MathBuilder::log(Value x) {
  Split parts = split(x);
  Value f = parts.less;
  Value low = multiply(parts.exponent, number(x, ln2Low));
  low = fma(logTail(f), multiply(f, f), low);
  Value result = fma(parts.exponent, ln2High, add(f, low));
  return logSpecial(x, result, leastNormal, 0);
}

Value MathBuilder::log2(Value x) {
  Split parts = split(x);
  Value f = parts.less;
  Value rest = multiply(multiply(f, f), logTail(f));
  Value low = fma(rest, log2e, multiply(f, number(x, 0x1.4ae0cp-26)));
  Value result = add(fma(f, log2e, low), parts.exponent);
  return logSpecial(x, result, leastNormal, 0);
}

Value MathBuilder::log10(Value x) {
  constexpr double log10e = 0x1.bcb7b2p-2;
  Split parts = split(x);
  Value f = parts.less;
  Value rest = multiply(multiply(f, f), logTail(f));
  Value low = multiply(parts.exponent, number(x, 0x1.3509f8p-18));
  low = fma(f, log10e, fma(rest, log10e, low));
  Value result = fma(parts.exponent, 0x1.344p-2, low);
  return logSpecial(x, result, leastNormal, 0);
}

/// log(u) for u = 1 + x, with what the sum lost added to the reduced argument.
Value MathBuilder::log1p(Value x) {
  Value one = number(x, 1);
  Value sum = add(x, one);
  Value added = subtract(sum, one);
  Value lost = add(subtract(one, subtract(sum, added)), subtract(x, added));
  Split parts = split(sum);
  // 2^-exponent; 0 will do where that is denormal.
  Value negated = arith::MinSIOp::create(b, parts.integerExponent,
                                         integer(parts.integerExponent, 127));
  negated = arith::SubIOp::create(b, integer(negated, 127), negated);
  negated = arith::ShLIOp::create(b, negated, integer(negated, 23));
  Value f = fma(lost, fromBits(negated, x.getType()), parts.less);
  Value low = multiply(parts.exponent, number(x, ln2Low));
  low = fma(logTail(f), multiply(f, f), low);
  Value result = fma(parts.exponent, ln2High, add(f, low));
  // The numbers next to -1 are -1 + 2^-24 and less than -1.
  result = logSpecial(x, result, -0x1.fffffep-1, -1);
  return math::CopySignOp::create(b, result, x);
}
