// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathSine.cpp - Sine and cosine as arithmetic -----------------------===//
//
// By the same rules as MathBuilders.cpp.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "passes/cpu/MathBuilders.h"

using namespace mlir;
using namespace gatefold;

/// Adding it rounds to a whole number that stands in the low bits.
static constexpr double doubleRounder = 0x1.8p52;

/// sin(|x| + quarters * pi/2), in f32 or f64. The argument is reduced in f64,
/// where pi/2 in two or three parts reaches far; polynomials on [-pi/4, pi/4]
/// of both functions, of which the quadrant takes one, and its sign.
Value MathBuilder::sinCos(Value x, int quarters) {
  Type type = x.getType();
  bool isDouble = getElementTypeOrSelf(type).isF64();
  unsigned width = isDouble ? 64 : 32;
  Value wide = math::AbsFOp::create(b, x);
  if (!isDouble)
    wide = arith::ExtFOp::create(b, floatLike(type, b.getF64Type()), wide);
  Value offset = number(wide, doubleRounder);
  Value rounded = fma(wide, 0x1.45f306dc9c883p-1, offset);
  Value quadrants = subtract(rounded, offset);
  Value rest = fma(quadrants, -0x1.921fb54442d18p+0, wide);
  rest = fma(quadrants, -0x1.1a62633145c06p-54, rest);
  Value quadrant = bits(rounded);
  if (isDouble) {
    rest = fma(quadrants, -0x1.c1cd129024e08p-107, rest);
  } else {
    rest = arith::TruncFOp::create(b, type, rest);
    quadrant = arith::TruncIOp::create(b, integerLike(type, 32), quadrant);
  }
  rest = atLeast(atMost(rest, 1), -1);
  if (quarters != 0)
    quadrant = arith::AddIOp::create(b, quadrant, integer(quadrant, quarters));

  static constexpr double sineTail[] = {-0x1.555544p-3, 0x1.1106c6p-7,
                                        -0x1.991c26p-13};
  static constexpr double cosineSeries[] = {1, -0.5, 0x1.55554ap-5,
                                            -0x1.6c0c26p-10, 0x1.99e714p-16};
  static constexpr double doubleSineTail[] = {
      -0x1.5555555555548p-3, 0x1.111111110f7b0p-7,   -0x1.a01a019bf9b92p-13,
      0x1.71de35640b708p-19, -0x1.ae5e578350da0p-26, 0x1.5d8ee837c260ep-33};
  static constexpr double doubleCosineSeries[] = {1,
                                                  -0.5,
                                                  0x1.555555555554bp-5,
                                                  -0x1.6c16c16c14f6cp-10,
                                                  0x1.a01a019c8094fp-16,
                                                  -0x1.27e4f7e801757p-22,
                                                  0x1.1ee9d5c877a09p-29,
                                                  -0x1.8fa3953a3af8dp-37};
  Value square = multiply(rest, rest);
  Value sine = polynomial(square, isDouble ? ArrayRef(doubleSineTail)
                                           : ArrayRef(sineTail));
  sine = fma(multiply(square, rest), sine, rest);
  Value cosine = polynomial(square, isDouble ? ArrayRef(doubleCosineSeries)
                                             : ArrayRef(cosineSeries));
  Value parity = arith::AndIOp::create(b, quadrant, integer(quadrant, 1));
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, parity,
                                      integer(quadrant, 0));
  Value result = arith::SelectOp::create(b, isOdd, cosine, sine);
  Value sign = arith::AndIOp::create(b, quadrant, integer(quadrant, 2));
  sign = arith::ShLIOp::create(b, sign, integer(quadrant, width - 2));
  // The sine is odd, the sign of its zeros included.
  if (quarters == 0) {
    Value word = bits(x);
    Value ownSign = arith::AndIOp::create(
        b, word,
        integer(word, static_cast<int64_t>(uint64_t(1) << (width - 1))));
    sign = arith::XOrIOp::create(b, sign, ownSign);
  }
  Value word = bits(result);
  return fromBits(arith::XOrIOp::create(b, word, sign), type);
}
