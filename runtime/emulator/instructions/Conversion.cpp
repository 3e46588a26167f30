// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Conversion.cpp - From one type to another --------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: cvt".
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

struct Conversion {
  Type to, from;
  std::optional<Rounding> rounding;
  /// The rounding is to an integer, `rni`.
  bool integral = false;
  bool ftz = false, saturate = false, relu = false, finite = false;
};

} // namespace

static uint64_t maskOf(unsigned bits) {
  return maskTrailingOnes<uint64_t>(bits);
}

static double roundToInteger(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// As PTX says under "Notes": out of range is the nearest there is.
static uint64_t toInteger(double value, const Type &to, const Type &from) {
  if (std::isnan(value)) {
    bool wide = from.bits == 64 || to.bits == 64;
    return wide ? uint64_t(1) << (to.bits - 1) : 0;
  }
  double least = to.isSigned() ? -std::ldexp(1.0, int(to.bits) - 1) : 0;
  double bound = std::ldexp(1.0, int(to.bits) - (to.isSigned() ? 1 : 0));
  if (value < least)
    value = least;
  if (value >= bound)
    return to.isSigned() ? maskOf(to.bits - 1) : maskOf(to.bits);
  return to.isSigned() ? uint64_t(int64_t(value)) : uint64_t(value);
}

/// An integer as a double whose last bit is set if it was rounded.
static double toDoubleOdd(uint64_t word, const Type &from) {
  int64_t number = extend(word, from.bits, from.isSigned());
  bool negative = from.isSigned() && number < 0;
  uint64_t magnitude = negative ? -uint64_t(number) : uint64_t(number);
  unsigned length = 64 - countl_zero(magnitude);
  if (length > 53) {
    unsigned cut = length - 53;
    bool inexact = magnitude & maskOf(cut);
    magnitude = (magnitude >> cut | (inexact ? 1 : 0)) << cut;
  }
  return negative ? -double(magnitude) : double(magnitude);
}

/// The nearest double, which unlike a narrower number is not rounded again.
static double toDouble(uint64_t word, const Type &from, Rounding rounding) {
  int64_t number = extend(word, from.bits, from.isSigned());
  return withRounding(rounding, [&] {
    volatile int64_t value = number;
    volatile double result =
        from.isSigned() ? double(value) : double(uint64_t(value));
    return double(result);
  });
}

static uint64_t toFloat(const Conversion &conversion, double value) {
  const Format &format = *conversion.to.format;
  if (conversion.saturate)
    value = value > 0 ? (value < 1 ? value : 1) : 0;
  if (conversion.relu && value < 0)
    value = 0;
  uint64_t bits =
      encode(value, format, conversion.rounding.value_or(Rounding::Nearest),
             conversion.finite);
  if (conversion.ftz && &format == &f32)
    bits = bitCast<uint32_t>(flush(bitCast<float>(uint32_t(bits))));
  return bits;
}

static uint64_t convert(const Conversion &conversion, uint64_t word) {
  const Type &to = conversion.to, &from = conversion.from;
  if (from.isFloat()) {
    double value = decode(word & maskOf(from.bits), *from.format);
    if (conversion.ftz && from.is(f32) && std::fabs(value) < 0x1p-126)
      value = std::copysign(0.0, value);
    if (conversion.integral)
      value = roundToInteger(value, *conversion.rounding);
    if (!to.isFloat())
      return toInteger(value, to, from);
    return toFloat(conversion, value);
  }
  if (to.isFloat()) {
    if (to.is(f64) && !conversion.saturate)
      return bitCast<uint64_t>(toDouble(
          word, from, conversion.rounding.value_or(Rounding::Nearest)));
    return toFloat(conversion, toDoubleOdd(word, from));
  }
  int64_t number = extend(word, from.bits, from.isSigned());
  if (!conversion.saturate)
    return uint64_t(number);
  bool negative = from.isSigned() && number < 0;
  if (negative) {
    int64_t least = to.isSigned() ? minIntN(to.bits) : 0;
    return uint64_t(std::max(number, least));
  }
  uint64_t most = maskOf(to.bits - (to.isSigned() ? 1 : 0));
  return std::min(uint64_t(number), most);
}

/// Of one value.
static bool isKnown(const Conversion &conversion) {
  const Type &to = conversion.to, &from = conversion.from;
  auto isPlain = [](const Type &type) {
    return type.kind != Type::Kind::Bits &&
           type.kind != Type::Kind::Predicate && type.elements == 1 &&
           type.bits >= 8 && (!type.isFloat() || type.bits >= 16);
  };
  if (!isPlain(to) || !isPlain(from) || from.format == &tf32)
    return false;
  if (to.isFloat() && from.isFloat()) {
    bool narrows = to.format->fractionBits < from.format->fractionBits ||
                   to.format->exponentBits < from.format->exponentBits;
    if (conversion.integral ? to.format != from.format
                            : narrows && !conversion.rounding)
      return false;
    // Roundings of equal formats are to integers.
    if (!narrows && !conversion.integral && conversion.rounding)
      return false;
    if (conversion.rounding == Rounding::NearestAway && !to.is(tf32))
      return false;
    if (to.is(tf32))
      return from.is(f32) && !conversion.ftz && !conversion.saturate;
  } else if (to.isFloat() || from.isFloat()) {
    // To an integer the rounding is `rni`, from one it is `rn`.
    if (!conversion.rounding || conversion.integral == to.isFloat() ||
        conversion.rounding == Rounding::NearestAway)
      return false;
  } else if (conversion.rounding) {
    return false;
  }
  bool half = to.isFloat() && (to.bits == 16 || to.is(tf32));
  return half || (!conversion.relu && !conversion.finite);
}

/// Two values into one register. From two registers, the first becomes the
/// upper half.
static std::optional<Operation> findPair(const Conversion &conversion,
                                         const Syntax &syntax) {
  const Type &to = conversion.to, &from = conversion.from;
  bool toSmall = to.bits == 8, toHalf = to.bits == 16;
  if (conversion.integral || conversion.ftz || conversion.saturate)
    return std::nullopt;
  bool nearest = conversion.rounding == Rounding::Nearest;
  if (!nearest && !(toHalf && conversion.rounding == Rounding::Zero))
    return std::nullopt;
  // Those of 8 bits have no infinity to give.
  if (toSmall && !conversion.finite)
    return std::nullopt;
  Conversion one = conversion;
  one.to.elements = one.from.elements = 1;
  if (from.is(f32) && syntax.operands() == 3)
    return makePure(2, [one](const Frame &frame) {
      return convert(one, frame.sources[0]) << one.to.bits |
             convert(one, frame.sources[1]);
    });
  bool widens = to.is(f16, 2) && from.bits == 8 && !conversion.finite;
  if (from.elements != 2 || (!widens && !(toSmall && from.is(f16, 2))))
    return std::nullopt;
  return makePure(1, [one](const Frame &frame) {
    return convert(one, frame.sources[0] >> one.from.bits) << one.to.bits |
           convert(one, frame.sources[0]);
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findConversion(Name name, const Syntax &syntax) {
  if (!name.take("cvt"))
    return std::nullopt;
  Conversion conversion;
  conversion.rounding = name.takeRounding();
  static const struct {
    const char *name;
    Rounding rounding;
  } integral[] = {{"rni", Rounding::Nearest},
                  {"rzi", Rounding::Zero},
                  {"rmi", Rounding::Down},
                  {"rpi", Rounding::Up}};
  for (const auto &each : integral)
    if (!conversion.rounding && name.take(each.name)) {
      conversion.rounding = each.rounding;
      conversion.integral = true;
    }
  if (!conversion.rounding && name.take("rna"))
    conversion.rounding = Rounding::NearestAway;
  conversion.ftz = name.take("ftz");
  conversion.saturate = name.take("sat");
  // The grammar has both orders of these two.
  conversion.relu = name.take("relu");
  conversion.finite = name.take("satfinite");
  conversion.relu |= name.take("relu");
  std::optional<Type> to = name.takeType(), from = name.takeType();
  if (!to || !from || !name.done())
    return std::nullopt;
  conversion.to = *to;
  conversion.from = *from;
  if (to->elements == 2)
    return findPair(conversion, syntax);
  if (!isKnown(conversion))
    return std::nullopt;
  return makePure(1, [conversion](const Frame &frame) {
    return convert(conversion, frame.sources[0]);
  });
}
