// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathLogarithms.cpp - Logarithms as arithmetic ----------------------===//
//
// By the same rules as MathBuilders.cpp. With x = 2^k m and f = m - 1, in f32
// log(1 + f) is a polynomial of f. In f64, where it would need twenty terms, it
// is one of s = f / (2 + f): log(1 + f) = log((1 + s) / (1 - s)), which is odd.
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

/// Seen from sqrt(1/2), the exponent's bits are the exponent that leaves m
/// within [sqrt(1/2), sqrt(2)). They become a float as the low bits of one
/// whose unit is 1: not every processor converts 64 bits.
MathBuilder::Split MathBuilder::split(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value word = bits(x);
  Value shift = integer(word, format.fractionBits);
  Value moved = arith::SubIOp::create(
      b, word,
      integer(word,
              format.rootBits - (format.exponentBias << format.fractionBits)));
  Split result;
  result.biasedExponent = arith::ShRUIOp::create(b, moved, shift);
  double unit = std::ldexp(1.0, format.fractionBits);
  Value placed = arith::OrIOp::create(
      b, result.biasedExponent,
      integer(word, (format.exponentBias + format.fractionBits)
                        << format.fractionBits));
  result.exponent = subtract(fromBits(placed, x.getType()),
                             number(x, unit + format.exponentBias));
  int64_t fraction = (int64_t(1) << format.fractionBits) - 1;
  Value mantissa = arith::AndIOp::create(b, moved, integer(word, fraction));
  mantissa = arith::AddIOp::create(b, mantissa, integer(word, format.rootBits));
  result.less = subtract(fromBits(mantissa, x.getType()), number(x, 1));
  return result;
}

/// (log(1 + f) - f) / f^2, in f32
Value MathBuilder::logTail(Value f) {
  return polynomial(f, {-0.5, 0x1.555554p-2, -0x1.000228p-2, 0x1.99a00ap-3,
                        -0x1.54723cp-3, 0x1.22dap-3, -0x1.0d8576p-3,
                        0x1.055c5ap-3, -0x1.38b6c4p-4});
}

/// log(1 + f) - f + low, where `low` is far below f^2. In f64 the difference is
/// s (f^2/2 + R) - f^2/2, R = log(1 + f)/s - 2; that of the polynomial for R is
/// 2e-18 of the logarithm.
Value MathBuilder::addLogRest(Value f, Value low) {
  if (!getElementTypeOrSelf(f.getType()).isF64())
    return fma(logTail(f), multiply(f, f), low);
  Value s = arith::DivFOp::create(b, f, add(f, number(f, 2)));
  Value square = multiply(s, s);
  Value tail = polynomial(square, {0x1.5555555555592p-1, 0x1.999999997fdb1p-2,
                                   0x1.24924941f21eap-2, 0x1.c71c52084b572p-3,
                                   0x1.74663f2985d65p-3, 0x1.39a1b3909c3f9p-3,
                                   0x1.2f05af95e6962p-3});
  Value half = multiply(f, number(f, 0.5));
  Value inner = fma(half, f, multiply(square, tail));
  return fma(s, inner, fma(arith::NegFOp::create(b, half), f, low));
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
  const FloatFormat &format = FloatFormat::of(x.getType());
  Split parts = split(x);
  Value f = parts.less;
  Value low = multiply(parts.exponent, number(x, format.ln2Low));
  low = addLogRest(f, low);
  Value result = fma(parts.exponent, format.ln2High, add(f, low));
  return logSpecial(x, result, format.leastNormal, 0);
}

Value MathBuilder::log2(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Split parts = split(x);
  Value f = parts.less;
  Value rest = multiply(multiply(f, f), logTail(f));
  Value low = fma(rest, format.log2e, multiply(f, number(x, 0x1.4ae0cp-26)));
  Value result = add(fma(f, format.log2e, low), parts.exponent);
  return logSpecial(x, result, format.leastNormal, 0);
}

Value MathBuilder::log10(Value x) {
  constexpr double log10e = 0x1.bcb7b2p-2;
  Split parts = split(x);
  Value f = parts.less;
  Value rest = multiply(multiply(f, f), logTail(f));
  Value low = multiply(parts.exponent, number(x, 0x1.3509f8p-18));
  low = fma(f, log10e, fma(rest, log10e, low));
  Value result = fma(parts.exponent, 0x1.344p-2, low);
  return logSpecial(x, result, FloatFormat::of(x.getType()).leastNormal, 0);
}

/// log(u) for u = 1 + x, with what the sum lost added to the reduced argument.
Value MathBuilder::log1p(Value x) {
  const FloatFormat &format = FloatFormat::of(x.getType());
  Value one = number(x, 1);
  Value sum = add(x, one);
  Value added = subtract(sum, one);
  Value lost = add(subtract(one, subtract(sum, added)), subtract(x, added));
  Split parts = split(sum);
  // 2^-exponent; 0 will do where that is denormal.
  Value most = integer(parts.biasedExponent, 2 * format.exponentBias);
  Value negated = arith::MinSIOp::create(b, parts.biasedExponent, most);
  negated = arith::SubIOp::create(b, most, negated);
  negated =
      arith::ShLIOp::create(b, negated, integer(negated, format.fractionBits));
  Value f = fma(lost, fromBits(negated, x.getType()), parts.less);
  Value low = multiply(parts.exponent, number(x, format.ln2Low));
  low = addLogRest(f, low);
  Value result = fma(parts.exponent, format.ln2High, add(f, low));
  // The numbers next to -1 are above -1 by half a unit of 1, and less than -1.
  result = logSpecial(x, result, -format.nextToOne, -1);
  return math::CopySignOp::create(b, result, x);
}
