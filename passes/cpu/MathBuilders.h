// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MathBuilders.h - Functions of mathematics as arithmetic --*- C++ -*-===//
//
// Each function in f32 as a few dozen operations without a branch or a call, on
// a number or a vector of any shape: the same operations, so the same bits on
// every lane.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_CPU_MATHBUILDERS_H
#define PASSES_CPU_MATHBUILDERS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/PassCommon.h"

namespace gatefold {

/// Builds at `b`; every argument is f32 or a vector of it, of sine and cosine
/// also f64. Errors are in units in the last place, the largest over all
/// arguments of f32.
class MathBuilder {
public:
  explicit MathBuilder(mlir::ImplicitLocOpBuilder &b) : b(b) {}

  mlir::Value exp(mlir::Value x);     // 0.90
  mlir::Value exp2(mlir::Value x);    // 0.92
  mlir::Value expm1(mlir::Value x);   // 1.44
  mlir::Value log(mlir::Value x);     // 0.90
  mlir::Value log2(mlir::Value x);    // 1.08
  mlir::Value log10(mlir::Value x);   // 1.26
  mlir::Value log1p(mlir::Value x);   // 1.47
  mlir::Value sigmoid(mlir::Value x); // 2.49
  mlir::Value tanh(mlir::Value x);    // 1.83
  mlir::Value erf(mlir::Value x);     // 1.02
  /// 1.6 for |x| below 2^49; beyond, some number within [-1, 1].
  mlir::Value sin(mlir::Value x) { return sinCos(x, 0); }
  mlir::Value cos(mlir::Value x) { return sinCos(x, 1); }

private:
  /// x = power * log(2) + rest, where `scale` is 2^power * 2^bias as a float.
  struct Reduced {
    mlir::Value power, rest, rounded;
  };
  /// x = m * 2^exponent, m within [sqrt(1/2), sqrt(2)).
  struct Split {
    mlir::Value exponent, integerExponent, less; // less: m - 1
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
  mlir::Value expOfRest(mlir::Value rest);
  Split split(mlir::Value x);
  mlir::Value logTail(mlir::Value less);
  mlir::Value logSpecial(mlir::Value x, mlir::Value result, double least,
                         double pole);
  mlir::Value sinCos(mlir::Value x, int quarters);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace gatefold

#endif // PASSES_CPU_MATHBUILDERS_H
