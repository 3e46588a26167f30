// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathBuilders.h - Functions of mathematics as arithmetic --*- C++ -*-===//
//
// Each function in f32 or f64 as a few dozen operations without a branch or a
// call, on a number or a vector of any shape: the same operations, so the same
// bits on every lane.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_MATHBUILDERS_H
#define PASSES_CPU_MATHBUILDERS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/PassCommon.h"

namespace gatefold {

/// What differs between f32 and f64: the layout of a number, and coefficients.
struct FloatFormat {
  int64_t fractionBits, exponentBias;
  /// Adding it rounds to a whole number that stands in the low bits.
  double rounder;
  double leastNormal, nextToOne; // the latter: the largest number below 1
  int64_t rootBits;              // the bits of sqrt(1/2)
  /// log(2): products of the first part with exponents are exact.
  double log2e, ln2High, ln2Low;
  /// The least and the largest arguments of an exponential that is a normal
  /// number.
  double leastPower, largestPower;
  /// exp(r) for |r| <= log(2)/2, and (exp(r) - 1 - r) / r^2.
  llvm::ArrayRef<double> exponential, exponentialTail;
  /// Beyond these, exp(x) - 1 is infinite or -1, sigmoid 1 or 0, tanh and
  /// erf 1.
  double expm1Least, expm1Most, sigmoidLeast, sigmoidMost, tanhMost, erfMost;
  /// (tanh(r)/r - 1) / r^2 of r^2, for |r| <= log(2)/4.
  llvm::ArrayRef<double> tanhTail;
  /// erf(x)/x - 1 of x^2 up to 1; log(erfc(x))/x from there on.
  llvm::ArrayRef<double> erfTail, erfcLogarithm;

  static const FloatFormat &of(mlir::Type type);
};

/// Builds at `b`; arguments are f32, f64 or vectors of them. Errors are in
/// units in the last place: in f32 the largest over all arguments, in f64 the
/// largest that was found.
class MathBuilder {
public:
  explicit MathBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  //                                     f32   f64
  mlir::Value exp(mlir::Value x);     // 0.90  0.86
  mlir::Value exp2(mlir::Value x);    // 0.92  -
  mlir::Value expm1(mlir::Value x);   // 1.44  1.82
  mlir::Value log(mlir::Value x);     // 0.90  0.81
  mlir::Value log2(mlir::Value x);    // 1.08  -
  mlir::Value log10(mlir::Value x);   // 1.26  -
  mlir::Value log1p(mlir::Value x);   // 1.47  1.08
  mlir::Value sigmoid(mlir::Value x); // 2.49  2.41
  mlir::Value tanh(mlir::Value x);    // 1.83  1.98
  mlir::Value erf(mlir::Value x);     // 1.02  1.15
  /// 1.6 for |x| below 2^49; beyond, some number within [-1, 1].
  mlir::Value sin(mlir::Value x) { return sinCos(x, 0); }
  mlir::Value cos(mlir::Value x) { return sinCos(x, 1); }
  mlir::Value pow(mlir::Value x, mlir::Value y); // 0.55  1.01

private:
  /// x = power * log(2) + rest, where `scale` is 2^power * 2^bias as a float.
  struct Reduced {
    mlir::Value power, rest, rounded;
  };
  /// x = m * 2^exponent, m within [sqrt(1/2), sqrt(2)).
  struct Split {
    mlir::Value exponent, biasedExponent, less; // less: m - 1
  };

  mlir::Value number(mlir::Value like, double value);
  mlir::Value integer(mlir::Value like, int64_t value);
  mlir::Type integerLike(mlir::Type type, unsigned width);
  mlir::Type floatLike(mlir::Type type, mlir::Type element);
  mlir::Value bits(mlir::Value x);
  mlir::Value fromBits(mlir::Value bits, mlir::Type type);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value fma(mlir::Value x, double y, mlir::Value z);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                     double y, mlir::Value yes, mlir::Value no);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);
  mlir::Value atMost(mlir::Value x, double bound);
  mlir::Value atLeast(mlir::Value x, double bound);
  Reduced reduce(mlir::Value x, double unit, int bias);
  mlir::Value scaleOf(const Reduced &reduced);
  mlir::Value addToExponent(mlir::Value value, mlir::Value power);
  Split split(mlir::Value x);
  mlir::Value logTail(mlir::Value less);
  mlir::Value addLogRest(mlir::Value less, mlir::Value low);
  mlir::Value logSpecial(mlir::Value x, mlir::Value result, double least,
                         double pole);
  mlir::Value sinCos(mlir::Value x, int quarters);
  /// A number as a sum of two, the second far smaller.
  struct Pair {
    mlir::Value high, low;
  };
  Pair addInOrder(mlir::Value larger, mlir::Value smaller);
  Pair multiplyExactly(mlir::Value x, mlir::Value y);
  Pair logPair(mlir::Value x);
  mlir::Value logForSingle(mlir::Value x);
  mlir::Value powSpecial(mlir::Value x, mlir::Value y, mlir::Value magnitude);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace gatefold

#endif // PASSES_CPU_MATHBUILDERS_H
