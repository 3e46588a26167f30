// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Half.h - numbers of 16 bits from and to f32, rounded to nearest even.

#ifndef GATEFOLD_RUNTIME_HALF_H
#define GATEFOLD_RUNTIME_HALF_H

#include <stdint.h>
#include <string.h>

namespace gatefold::runtime {

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// An f64 for a rounding that follows: what is between two numbers of f32
/// becomes the odd one, so that 16 bits get what they would get of the f64.
inline float toOddFloat(double value) {
  float nearest = (float)value;
  uint32_t bits = bitsOf(nearest);
  if ((double)nearest == value || value != value || (bits & 1))
    return nearest;
  bool isBeyond = (nearest > value) == (value > 0);
  return floatOf(isBeyond ? bits - 1 : bits + 1);
}

/// bf16 is the upper half of an f32.
inline float fromBf16(uint16_t bits) { return floatOf((uint32_t)bits << 16); }

inline uint16_t toBf16(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // NaN stays one
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fromF16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00) // infinity, NaN
    return floatOf(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest < 0x400) { // 0 or denormal: a multiple of 2^-24
    float magnitude = (float)rest * 0x1p-24f;
    return floatOf(sign | bitsOf(magnitude));
  }
  return floatOf(sign | ((rest << 13) + (112u << 23)));
}

inline uint16_t toF16(float value) {
  uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) // NaN stays one
    return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
  if (bits >= 0x477ff000) // 65520 and more
    return (uint16_t)(sign | 0x7c00);
  if (bits < 0x38800000) // denormal: the sum is a multiple of 2^-24
    return (uint16_t)(sign | (bitsOf(floatOf(bits) + 0.5f) - bitsOf(0.5f)));
  bits -= 112u << 23;
  return (uint16_t)(sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13);
}

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_HALF_H
