// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Float.cpp - Floating-point arithmetic that is rounded exactly ------===//
//
// PTX ISA, "Floating Point Instructions", "Half Precision Floating Point
// Instructions": add, sub, mul, fma, mad, div, rcp, sqrt in the four roundings,
// min, max, abs, neg.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

enum class Kind { Add, Sub, Mul, Fma, Div, Rcp, Sqrt };

struct Modifiers {
  Kind kind;
  Rounding rounding = Rounding::Nearest;
  bool ftz = false, saturate = false, relu = false;
};

} // namespace

template <typename Real>
static Real calculate(Kind kind, Real left, Real right, Real third) {
  // Volatile: see withRounding.
  volatile Real a = left, b = right, c = third, result = 0;
  switch (kind) {
  case Kind::Add:
    result = a + b;
    break;
  case Kind::Sub:
    result = a - b;
    break;
  case Kind::Mul:
    result = a * b;
    break;
  case Kind::Fma:
    result = std::fma(Real(a), Real(b), Real(c));
    break;
  case Kind::Div:
    result = a / b;
    break;
  case Kind::Rcp:
    result = Real(1) / a;
    break;
  case Kind::Sqrt:
    result = std::sqrt(Real(a));
    break;
  }
  return result;
}

/// `.sat`: into [0, 1], what is no number to 0. `.relu`: not below 0.
template <typename Real>
static Real clamp(const Modifiers &modifiers, Real value) {
  if (modifiers.saturate)
    return value > 0 ? (value < 1 ? value : Real(1)) : Real(0);
  if (modifiers.relu && value < 0)
    return Real(0);
  return value;
}

static uint64_t calculateF32(const Modifiers &modifiers, const uint64_t *bits,
                             unsigned sources) {
  float values[3] = {};
  for (unsigned index = 0; index < sources; ++index) {
    values[index] = bitCast<float>(uint32_t(bits[index]));
    if (modifiers.ftz)
      values[index] = flush(values[index]);
  }
  float result = withRounding(modifiers.rounding, [&] {
    return calculate(modifiers.kind, values[0], values[1], values[2]);
  });
  if (modifiers.ftz)
    result = flush(result);
  result = clamp(modifiers, result);
  return std::isnan(result) ? f32.notANumber : bitCast<uint32_t>(result);
}

static uint64_t calculateF64(const Modifiers &modifiers, const uint64_t *bits,
                             unsigned sources) {
  double values[3] = {};
  for (unsigned index = 0; index < sources; ++index)
    values[index] = bitCast<double>(bits[index]);
  return bitCast<uint64_t>(withRounding(modifiers.rounding, [&] {
    return calculate(modifiers.kind, values[0], values[1], values[2]);
  }));
}

/// In double, rounded once: a double has more than twice the bits.
static uint64_t calculateHalf(const Modifiers &modifiers, const Format &format,
                              const uint64_t *bits, unsigned sources) {
  double smallest = std::ldexp(1.0, 1 - int(format.bias()));
  double values[3] = {};
  for (unsigned index = 0; index < sources; ++index) {
    values[index] = decode(bits[index] & 0xffff, format);
    if (modifiers.ftz && std::fabs(values[index]) < smallest)
      values[index] = std::copysign(0.0, values[index]);
  }
  double result =
      modifiers.kind == Kind::Fma
          ? multiplyAddOdd(values[0], values[1], values[2])
          : calculate(modifiers.kind, values[0], values[1], values[2]);
  uint64_t rounded = encode(clamp(modifiers, result), format);
  if (modifiers.ftz && std::fabs(decode(rounded, format)) < smallest)
    rounded &= format.sign();
  return rounded;
}

static std::optional<Operation> findArithmetic(Name name, Kind kind,
                                               unsigned sources) {
  Modifiers modifiers{kind};
  std::optional<Rounding> rounding = name.takeRounding();
  modifiers.rounding = rounding.value_or(Rounding::Nearest);
  modifiers.ftz = name.take("ftz");
  modifiers.saturate = name.take("sat");
  modifiers.relu = !modifiers.saturate && name.take("relu");
  // LLVM writes sums in this order, and assemblers take it.
  modifiers.ftz |= modifiers.saturate && name.take("ftz");
  std::optional<Type> type = name.takeType();
  if (!type || !type->isFloat() || !name.done())
    return std::nullopt;
  bool needsRounding = kind >= Kind::Fma;
  if (needsRounding && !rounding)
    return std::nullopt;
  if (type->is(f32) && !modifiers.relu)
    return makeElementwise(*type, sources, [=](const uint64_t *bits) {
      return calculateF32(modifiers, bits, sources);
    });
  if (type->is(f64) && !modifiers.ftz && !modifiers.saturate && !modifiers.relu)
    return makeElementwise(*type, sources, [=](const uint64_t *bits) {
      return calculateF64(modifiers, bits, sources);
    });
  bool half = type->format == &f16 || type->format == &bf16;
  if (!half || kind >= Kind::Div || modifiers.rounding != Rounding::Nearest)
    return std::nullopt;
  const Format *format = type->format;
  return makeElementwise(*type, sources, [=](const uint64_t *bits) {
    return calculateHalf(modifiers, *format, bits, sources);
  });
}

//===- Smallest, largest, sign -------------------------------------------===//

/// Bits as numbers that compare as the floating-point numbers do, -0 below +0.
static int64_t ordered(uint64_t bits, const Format &format) {
  int64_t magnitude = int64_t(bits & (format.sign() - 1));
  return bits & format.sign() ? -magnitude - 1 : magnitude;
}

static bool isNotANumber(uint64_t bits, const Format &format) {
  return (bits & (format.sign() - 1)) > format.infinity();
}

/// Zero of its sign for what is below the normal numbers.
static uint64_t flushBits(uint64_t bits, const Format &format) {
  return (bits & format.infinity()) == 0 ? bits & format.sign() : bits;
}

/// min, max{.ftz}{.NaN}{.xorsign.abs}.type
static std::optional<Operation> findExtreme(Name name, bool largest,
                                            const Syntax &syntax) {
  bool ftz = name.take("ftz"), keepsNaN = name.take("NaN");
  bool xorSign = name.take("xorsign");
  if (xorSign && !name.take("abs"))
    return std::nullopt;
  std::optional<Type> type = name.takeType();
  unsigned sources = syntax.operands() - 1;
  if (!type || !type->isFloat() || type->bits < 16 || type->format == &tf32 ||
      !name.done() || sources < 2 || sources > 3)
    return std::nullopt;
  if (type->is(f64) && (ftz || keepsNaN || xorSign))
    return std::nullopt;
  const Format *format = type->format;
  return makeElementwise(*type, sources, [=](const uint64_t *elements) {
    uint64_t mask = (format->sign() << 1) - 1, sign = 0;
    std::optional<uint64_t> best;
    for (unsigned index = 0; index < sources; ++index) {
      uint64_t bits = elements[index] & mask;
      sign ^= bits & format->sign();
      if (xorSign)
        bits &= ~format->sign();
      if (ftz)
        bits = flushBits(bits, *format);
      if (isNotANumber(bits, *format)) {
        if (keepsNaN)
          return format->notANumber;
        continue;
      }
      if (!best ||
          (ordered(bits, *format) > ordered(*best, *format)) == largest)
        best = bits;
    }
    if (!best)
      return format->notANumber;
    return xorSign ? *best | sign : *best;
  });
}

/// abs, neg{.ftz}.type
static std::optional<Operation> findSign(Name name, bool negates) {
  bool ftz = name.take("ftz");
  std::optional<Type> type = name.takeType();
  if (!type || !type->isFloat() || type->bits < 16 || type->format == &tf32 ||
      !name.done() || (ftz && type->is(f64)))
    return std::nullopt;
  const Format *format = type->format;
  return makeElementwise(*type, 1, [=](const uint64_t *elements) {
    uint64_t bits = elements[0] & ((format->sign() << 1) - 1);
    if (ftz)
      bits = flushBits(bits, *format);
    return negates ? bits ^ format->sign() : bits & ~format->sign();
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findFloat(Name name, const Syntax &syntax) {
  if (syntax.operands() == 0)
    return std::nullopt;
  if (name.take("add"))
    return findArithmetic(name, Kind::Add, 2);
  if (name.take("sub"))
    return findArithmetic(name, Kind::Sub, 2);
  if (name.take("mul"))
    return findArithmetic(name, Kind::Mul, 2);
  if (name.takeOneOf({"fma", "mad"}))
    return findArithmetic(name, Kind::Fma, 3);
  if (name.take("div"))
    return findArithmetic(name, Kind::Div, 2);
  if (name.take("rcp"))
    return findArithmetic(name, Kind::Rcp, 1);
  if (name.take("sqrt"))
    return findArithmetic(name, Kind::Sqrt, 1);
  if (name.take("min"))
    return findExtreme(name, false, syntax);
  if (name.take("max"))
    return findExtreme(name, true, syntax);
  if (name.take("abs"))
    return findSign(name, false);
  if (name.take("neg"))
    return findSign(name, true);
  return std::nullopt;
}
