// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathPower.cpp - Powers as arithmetic -------------------------------===//
//
// x^y = exp(y log(x)), by the same rules as MathBuilders.cpp. An error of the
// product is one of the result in relation to it, so the logarithm needs ten
// bits more than a result has. Of f32 all is computed in f64. Of f64 the
// logarithm is a sum of two numbers (T. Dekker, "A floating-point technique for
// extending the available precision", 1971), by the series of
// MathLogarithms.cpp whose first terms are such sums.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "passes/cpu/MathBuilders.h"
#include <cmath>

using namespace mlir;
using namespace gatefold;
using arith::CmpFPredicate;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Sums of two numbers
//===----------------------------------------------------------------------===//

/// The sum and its error, exact where `larger` is or is 0.
MathBuilder::Pair MathBuilder::addInOrder(Value larger, Value smaller) {
  Value sum = add(larger, smaller);
  return {sum, add(subtract(larger, sum), smaller)};
}

MathBuilder::Pair MathBuilder::multiplyExactly(Value x, Value y) {
  Value product = multiply(x, y);
  return {product, fma(x, y, arith::NegFOp::create(b, product))};
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

/// log(x) of a positive normal number in f64, 2^-65 of it: with s = f / (2 + f)
/// and z = s^2, it is s (2 + z (2/3 + z Q(z))) + k log(2). The polynomial Q
/// leaves 2^-66.
MathBuilder::Pair MathBuilder::logPair(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Split parts = split(x);
  Value f = parts.less;
  Pair under = addInOrder(number(x, 2), f);
  Value inverse = arith::DivFOp::create(b, number(x, 1), under.high);
  Value s = multiply(f, inverse);
  Value negated = arith::NegFOp::create(b, s);
  Value left = fma(negated, under.low, fma(negated, under.high, f));
  Value sLow = multiply(left, inverse);

  Pair z = multiplyExactly(s, s);
  z.low = fma(add(s, s), sLow, z.low);
  Value series = polynomial(
      z.high, {0x1.9999999999996p-2, 0x1.2492492493034p-2, 0x1.c71c71c5808a5p-3,
               0x1.745d183242f94p-3, 0x1.3b1362ba2bee1p-3, 0x1.1120b503f7c34p-3,
               0x1.de33899bfc5d4p-4, 0x1.eb10516a7b019p-4});
  // 2/3 + z Q
  constexpr double twoThirds = 0x1.5555555555555p-1;
  Value w = fma(z.high, series, number(x, twoThirds));
  Value wLow = fma(z.high, series, subtract(number(x, twoThirds), w));
  wLow = add(wLow, number(x, twoThirds * 0x1p-54));
  // 2 + z w
  Pair product = multiplyExactly(z.high, w);
  product.low = fma(z.high, wLow, fma(z.low, w, product.low));
  Pair factor = addInOrder(number(x, 2), product.high);
  factor.low = add(factor.low, product.low);
  // s times that, and k log(2).
  Pair logarithm = multiplyExactly(s, factor.high);
  logarithm.low = fma(s, factor.low, fma(sLow, factor.high, logarithm.low));
  Value sum = fma(parts.exponent, format.ln2High, logarithm.high);
  Value low =
      fma(parts.exponent, format.ln2High, arith::NegFOp::create(b, sum));
  low = add(add(low, logarithm.high), logarithm.low);
  low = fma(parts.exponent, format.ln2Low, low);
  return addInOrder(sum, low);
}

/// The same, 2^-37 of it.
Value MathBuilder::logForSingle(Value x) {
  Split parts = split(x);
  Value f = parts.less;
  Value s = arith::DivFOp::create(b, f, add(f, number(f, 2)));
  Value square = multiply(s, s);
  Value tail = polynomial(square, {0x1.555554fda338p-1, 0x1.999a7a8248d65p-2,
                                   0x1.2438d9223c312p-2, 0x1.e2f63968b136fp-3});
  Value series = fma(square, tail, number(x, 2));
  Value whole = multiply(parts.exponent, number(x, 0x1.62e42fefa39efp-1));
  return fma(s, series, whole);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// From |x|^y to x^y, and what C's annex F says of NaN and 1.
Value MathBuilder::powSpecial(Value x, Value y, Value magnitude) {
  auto both = [&](Value left, Value right) -> Value {
    return arith::AndIOp::create(b, left, right);
  };
  auto compare = [&](CmpFPredicate predicate, Value left,
                     Value right) -> Value {
    return arith::CmpFOp::create(b, predicate, left, right);
  };
  // An odd number is whole and its half is not; infinities are even.
  Value rounded = math::RoundEvenOp::create(b, y);
  Value half = multiply(y, number(y, 0.5));
  Value roundedHalf = math::RoundEvenOp::create(b, half);
  Value isOdd = both(compare(CmpFPredicate::OEQ, rounded, y),
                     compare(CmpFPredicate::UNE, roundedHalf, half));
  Value withSign = math::CopySignOp::create(b, magnitude, x);
  Value result = arith::SelectOp::create(b, isOdd, withSign, magnitude);
  // A negative number has powers of whole numbers only.
  Value least = number(x, -FloatFormat::of(x.getType()).leastNormal);
  Value isNegative = both(compare(CmpFPredicate::OLE, x, least),
                          compare(CmpFPredicate::OGT, x, number(x, -infinity)));
  Value hasNone = both(isNegative, compare(CmpFPredicate::UNE, rounded, y));
  result = arith::SelectOp::create(b, hasNone, number(x, notANumber), result);
  result = arith::SelectOp::create(b, compare(CmpFPredicate::UNO, x, y),
                                   add(x, y), result);
  result = select(CmpFPredicate::OEQ, x, 1, number(x, 1), result);
  return select(CmpFPredicate::OEQ, y, 0, number(x, 1), result);
}

Value MathBuilder::pow(Value x, Value y) {
  Type type = x.getType();
  const FloatFormat &format = FloatFormat::of(type);
  bool isDouble = getElementTypeOrSelf(type).isF64();
  Value base = math::AbsFOp::create(b, x), exponent = y;
  if (!isDouble) {
    Type wide = floatLike(type, b.getF64Type());
    base = arith::ExtFOp::create(b, wide, base);
    exponent = arith::ExtFOp::create(b, wide, exponent);
  }
  // No logarithm but 0 is less than 2^-53: beyond these the result is 0, 1 or
  // infinite.
  exponent = atLeast(atMost(exponent, 0x1p66), -0x1p66);
  Pair logarithm;
  if (isDouble)
    logarithm = logPair(base);
  else
    logarithm.high = logForSingle(base);
  Value &high = logarithm.high;
  high = select(CmpFPredicate::OLT, base, format.leastNormal,
                number(base, -infinity), high);
  high = select(CmpFPredicate::OEQ, base, infinity, base, high);

  Value product = multiply(exponent, high);
  double most = isDouble ? 710 : 200;
  Value bounded = atLeast(atMost(product, most), isDouble ? -746 : -200);
  Reduced reduced = reduce(bounded, 1, 0);
  if (!isDouble) {
    // The coefficients of f32 do.
    Value power = polynomial(reduced.rest, format.exponential);
    Value result = addToExponent(power, reduced.rounded);
    return powSpecial(x, y, arith::TruncFOp::create(b, type, result));
  }
  Value low = fma(exponent, high, arith::NegFOp::create(b, product));
  low = fma(exponent, logarithm.low, low);
  // It is no number where the product is infinite.
  low = select(CmpFPredicate::OLT, math::AbsFOp::create(b, product), 800, low,
               number(low, 0));
  Value power = polynomial(add(reduced.rest, low), format.exponential);
  // In two steps: the second overflows or underflows as the result does.
  constexpr int kept = 128;
  Value word = bits(addToExponent(power, reduced.rounded));
  auto step = [&](int64_t exponents) {
    return integer(word, exponents << format.fractionBits);
  };
  word = arith::AddIOp::create(
      b, word, select(CmpFPredicate::OLT, bounded, 0, step(kept), step(-1)));
  Value factor =
      select(CmpFPredicate::OLT, bounded, 0,
             number(bounded, std::ldexp(1.0, -kept)), number(bounded, 2));
  return powSpecial(x, y, multiply(fromBits(word, type), factor));
}
