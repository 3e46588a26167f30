// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Number.cpp - Floating-point numbers as a GPU rounds them -----------===//

#include "runtime/emulator/instructions/Number.h"

using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

double gatefold::emulator::ptx::decode(uint64_t bits, const Format &format) {
  // Those that instructions calculate with most.
  if (&format == &f32)
    return bitCast<float>(uint32_t(bits));
  if (&format == &f64)
    return bitCast<double>(bits);
  if (&format == &f16)
    return decodeF16(uint16_t(bits));
  if (&format == &bf16)
    return decodeBf16(uint16_t(bits));
  bits >>= format.padding;
  uint64_t magnitude = bits & (format.sign() - 1);
  int exponent = int(magnitude >> format.fractionBits);
  uint64_t fraction = magnitude & ((uint64_t(1) << format.fractionBits) - 1);
  double value;
  if (format.hasInfinity && magnitude >= format.infinity())
    value = magnitude == format.infinity() ? INFINITY : NAN;
  else if (!format.hasInfinity && magnitude == format.sign() - 1)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(double(fraction),
                       1 - int(format.bias() + format.fractionBits));
  else
    value = std::ldexp(double(fraction | uint64_t(1) << format.fractionBits),
                       exponent - int(format.bias() + format.fractionBits));
  return bits & format.sign() ? -value : value;
}

/// Whether to round a magnitude of odd or even `quotient` up, by what was cut
/// off.
static bool roundsUp(Rounding rounding, bool negative, bool odd, uint64_t rest,
                     uint64_t half) {
  switch (rounding) {
  case Rounding::Nearest:
    return rest > half || (rest == half && odd);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return negative && rest;
  case Rounding::Up:
    return !negative && rest;
  }
  return false;
}

uint64_t gatefold::emulator::ptx::encode(double value, const Format &format,
                                         Rounding rounding, bool finite) {
  if (std::isnan(value))
    return format.notANumber << format.padding;
  uint64_t bits = bitCast<uint64_t>(value);
  bool negative = bits >> 63;
  uint64_t sign = negative ? format.sign() : 0;
  int biased = int(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  if (biased)
    mantissa |= uint64_t(1) << 52;
  else
    biased = 1;

  uint64_t magnitude;
  if (std::isinf(value)) {
    magnitude =
        finite || !format.hasInfinity ? format.largest() : format.infinity();
    return (sign | magnitude) << format.padding;
  }
  // Where the number's exponent lies among the format's, 1 the smallest.
  int exponent = biased - 1023 + int(format.bias());
  int shift = 52 - int(format.fractionBits) + (exponent < 1 ? 1 - exponent : 0);
  if (shift == 0) {
    magnitude = mantissa;
  } else if (shift > 54) {
    // Less than half of the smallest number.
    magnitude = roundsUp(rounding, negative, false, mantissa ? 1 : 0, 2);
  } else {
    uint64_t rest = mantissa & ((uint64_t(1) << shift) - 1);
    magnitude = mantissa >> shift;
    magnitude += roundsUp(rounding, negative, magnitude & 1, rest,
                          uint64_t(1) << (shift - 1));
  }
  // A carry out of the fraction counts the exponent up by itself.
  if (exponent > 1)
    magnitude += uint64_t(exponent - 1) << format.fractionBits;
  if (magnitude > format.largest()) {
    bool inward = rounding == Rounding::Zero ||
                  (rounding == Rounding::Down && !negative) ||
                  (rounding == Rounding::Up && negative);
    magnitude = finite || inward || !format.hasInfinity ? format.largest()
                                                        : format.infinity();
  }
  return (sign | magnitude) << format.padding;
}

double gatefold::emulator::ptx::multiplyAddOdd(double a, double b, double c) {
  volatile double product = a * b;
  volatile double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  // What the sum lost (Knuth's TwoSum).
  volatile double part = sum - product;
  volatile double lost = (product - (sum - part)) + (c - part);
  uint64_t bits = bitCast<uint64_t>(double(sum));
  if (lost == 0 || (bits & 1))
    return sum;
  // The neighbour in the direction of what was lost has the last bit set.
  bool away = (lost > 0) == (sum > 0);
  return bitCast<double>(away ? bits + 1 : bits - 1);
}
