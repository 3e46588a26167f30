// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Approximation.cpp - Functions that a GPU approximates --------------===//
//
// PTX ISA, "Floating Point Instructions": div.approx, div.full, rcp.approx,
// sqrt.approx, rsqrt.approx, sin, cos, lg2, ex2, tanh. Each is calculated in
// double and rounded once, which is within every error that PTX allows; a GPU's
// bits differ. What PTX states exactly (zeros, infinities, `.ftz`) holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

static double reciprocal(double x) { return 1 / x; }
static double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
static double squareRoot(double x) { return std::sqrt(x); }
static double sine(double x) { return std::sin(x); }
static double cosine(double x) { return std::cos(x); }
static double logarithm(double x) { return std::log2(x); }
static double power(double x) { return std::exp2(x); }
static double tangent(double x) { return std::tanh(x); }

using Function = double (*)(double);

static uint64_t bitsOf(float value) {
  return std::isnan(value) ? f32.notANumber : bitCast<uint32_t>(value);
}

static Operation makeF32(Function function, bool ftz) {
  return makePure(1, [=](const Frame &frame) {
    float x = ftz ? flush(frame.real(0)) : frame.real(0);
    float result = float(function(double(x)));
    return bitsOf(ftz ? flush(result) : result);
  });
}

static Operation makeHalf(Function function, const Type &type, bool ftz) {
  const Format *format = type.format;
  double smallest = std::ldexp(1.0, 1 - int(format->bias()));
  return makeElementwise(type, 1, [=](const uint64_t *elements) {
    double x = decode(elements[0] & 0xffff, *format);
    if (ftz && std::fabs(x) < smallest)
      x = std::copysign(0.0, x);
    double result = function(x);
    if (ftz && std::fabs(result) < smallest)
      result = std::copysign(0.0, result);
    return encode(result, *format);
  });
}

/// rcp, rsqrt.approx.ftz.f64: of the upper half of the bits, to the upper half.
static Operation makeGrossF64(Function function) {
  return makePure(1, [=](const Frame &frame) {
    const uint64_t upper = ~uint64_t(0xffffffff);
    double x = bitCast<double>(frame.sources[0] & upper);
    if (std::fabs(x) < 0x1p-1022)
      x = std::copysign(0.0, x);
    double result = function(x);
    if (std::fabs(result) < 0x1p-1022)
      result = std::copysign(0.0, result);
    return bitCast<uint64_t>(result) & upper;
  });
}

/// div.approx is a * (1 / b), and 1 / b is 0 where b is above 2^126; div.full
/// scales first.
static std::optional<Operation> findDivision(Name name) {
  bool full = name.take("full");
  if (!full && !name.take("approx"))
    return std::nullopt;
  bool ftz = name.take("ftz");
  std::optional<Type> type = name.takeType();
  if (!type || !type->is(f32) || !name.done())
    return std::nullopt;
  return makePure(2, [=](const Frame &frame) {
    float a = frame.real(0), b = frame.real(1);
    if (ftz) {
      a = flush(a);
      b = flush(b);
    }
    float result = float(double(a) / double(b));
    if (!full && std::fabs(b) > 0x1p126f && std::isfinite(b))
      result = std::isfinite(a) ? std::copysign(0.0f, result) : NAN;
    return bitsOf(ftz ? flush(result) : result);
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findApproximation(Name name, const Syntax &) {
  if (name.take("div"))
    return findDivision(name);
  static const struct {
    const char *name;
    Function function;
    bool half, f64;
  } functions[] = {
      {"rcp", reciprocal, false, true},
      {"rsqrt", reciprocalRoot, false, true},
      {"sqrt", squareRoot, false, false},
      {"sin", sine, false, false},
      {"cos", cosine, false, false},
      {"lg2", logarithm, false, false},
      {"ex2", power, true, false},
      {"tanh", tangent, true, false},
  };
  for (const auto &candidate : functions) {
    if (!name.take(candidate.name))
      continue;
    if (!name.take("approx"))
      return std::nullopt;
    bool ftz = name.take("ftz");
    std::optional<Type> type = name.takeType();
    if (!type || !name.done())
      return std::nullopt;
    if (type->is(f32))
      return makeF32(candidate.function, ftz);
    bool half = type->format == &f16 || type->format == &bf16;
    if (half && candidate.half)
      return makeHalf(candidate.function, *type, ftz);
    if (!type->is(f64) || !candidate.f64)
      return std::nullopt;
    if (ftz)
      return makeGrossF64(candidate.function);
    if (candidate.function != reciprocalRoot)
      return std::nullopt;
    return makePure(1, [](const Frame &frame) {
      return bitCast<uint64_t>(
          reciprocalRoot(bitCast<double>(frame.sources[0])));
    });
  }
  return std::nullopt;
}
