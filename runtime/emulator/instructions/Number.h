// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Number.h - Floating-point numbers as a GPU rounds them ---*- C++ -*-===//
//
// Formats from 8 to 64 bits, each with the five ways to round. Every value of
// every format is a double.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_INSTRUCTIONS_NUMBER_H
#define RUNTIME_EMULATOR_INSTRUCTIONS_NUMBER_H

#include <cfenv>
#include <cmath>
#include <cstdint>

namespace gatefold::emulator::ptx {

enum class Rounding { Nearest, Zero, Down, Up, NearestAway };

struct Format {
  unsigned exponentBits, fractionBits;
  /// What the results of instructions have where a number is none.
  uint64_t notANumber;
  /// e4m3 has none: the bits of infinity are numbers, all but the last.
  bool hasInfinity = true;
  /// Zeros below the fraction: tf32 is the upper part of an f32.
  unsigned padding = 0;

  unsigned bias() const { return (1u << (exponentBits - 1)) - 1; }
  uint64_t sign() const { return uint64_t(1) << (exponentBits + fractionBits); }
  uint64_t infinity() const {
    return ((uint64_t(1) << exponentBits) - 1) << fractionBits;
  }
  uint64_t largest() const { return hasInfinity ? infinity() - 1 : sign() - 2; }
};

inline constexpr Format f16{5, 10, 0x7fff};
inline constexpr Format bf16{8, 7, 0x7fff};
inline constexpr Format tf32{8, 10, 0x3ffff, true, 13};
inline constexpr Format f32{8, 23, 0x7fffffff};
inline constexpr Format f64{11, 52, 0x7fffffffffffffff};
inline constexpr Format e4m3{4, 3, 0x7f, false};
inline constexpr Format e5m2{5, 2, 0x7f};

double decode(uint64_t bits, const Format &format);
/// The nearest number of the format in the direction of `rounding`. `finite`:
/// the largest one where infinity would be.
uint64_t encode(double value, const Format &format,
                Rounding rounding = Rounding::Nearest, bool finite = false);

template <typename To, typename From> To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof(To));
  return result;
}

/// `decode` of an f16, where there are many.
inline float decodeF16(uint16_t bits) {
  uint32_t magnitude = uint32_t(bits & 0x7fff) << 13;
  // The scale makes numbers below the normal ones right as well.
  float value = bitCast<float>(magnitude) * 0x1p112f;
  if ((bits & 0x7c00) == 0x7c00)
    value = bitCast<float>(magnitude | 0x7f800000);
  return bits & 0x8000 ? -value : value;
}
inline float decodeBf16(uint16_t bits) {
  return bitCast<float>(uint32_t(bits) << 16);
}

/// Evaluates floating-point operations of the CPU in a rounding. They must be
/// of volatile values, which compilers do not move out of here.
template <typename Body> auto withRounding(Rounding rounding, Body body) {
  if (rounding == Rounding::Nearest)
    return body();
  int before = std::fegetround();
  std::fesetround(rounding == Rounding::Zero   ? FE_TOWARDZERO
                  : rounding == Rounding::Down ? FE_DOWNWARD
                                               : FE_UPWARD);
  auto result = body();
  std::fesetround(before);
  return result;
}

/// a * b + c with the last bit set if it was rounded, so that rounding it again
/// to a format of at most 51 bits is as good as rounding once. a * b must be
/// exact as a double.
double multiplyAddOdd(double a, double b, double c);

/// `.ftz`: numbers below the normal ones are 0 of their sign.
inline float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

} // namespace gatefold::emulator::ptx

#endif // RUNTIME_EMULATOR_INSTRUCTIONS_NUMBER_H
