// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- NumberTest.cpp - Roundings, formats, conversions, approximations ---===//

#include "runtime/emulator/instructions/Number.h"
#include "Harness.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/IR/DerivedTypes.h"
#include <random>

using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;
using namespace gatefold::emulator::test;
using llvm::APFloat;

static uint64_t bits(float value) { return bitCast<uint32_t>(value); }
static uint64_t bits(double value) { return bitCast<uint64_t>(value); }

/// Formats against LLVM's, for numbers near every border.
static void testFormats() {
  const struct {
    const Format *format;
    const llvm::fltSemantics &semantics;
  } formats[] = {{&f16, APFloat::IEEEhalf()},
                 {&bf16, APFloat::BFloat()},
                 {&f32, APFloat::IEEEsingle()},
                 {&e5m2, APFloat::Float8E5M2()}};
  const std::pair<Rounding, APFloat::roundingMode> roundings[] = {
      {Rounding::Nearest, APFloat::rmNearestTiesToEven},
      {Rounding::Zero, APFloat::rmTowardZero},
      {Rounding::Down, APFloat::rmTowardNegative},
      {Rounding::Up, APFloat::rmTowardPositive},
      {Rounding::NearestAway, APFloat::rmNearestTiesToAway}};
  std::mt19937_64 random(1);
  for (const auto &[format, semantics] : formats) {
    unsigned wrong = 0, lossy = 0;
    for (unsigned index = 0; index < 20000; ++index) {
      int span = int(format->bias() + format->fractionBits) + 3;
      int exponent = int(random() % (2 * span + 1)) - span;
      // Few bits, so that there are ties.
      double fraction =
          double(random() % (1u << (format->fractionBits + 3 > 30
                                        ? 30
                                        : format->fractionBits + 3)));
      double value = std::ldexp(index & 1 ? -fraction : fraction,
                                exponent - int(format->fractionBits));
      for (auto [rounding, mode] : roundings) {
        APFloat wanted(value);
        bool loses;
        wanted.convert(semantics, mode, &loses);
        uint64_t wantedBits = wanted.bitcastToAPInt().getZExtValue();
        wrong += encode(value, *format, rounding) != wantedBits;
        APFloat back = wanted;
        back.convert(APFloat::IEEEdouble(), mode, &loses);
        lossy += !std::isinf(back.convertToDouble()) &&
                 decode(wantedBits, *format) != back.convertToDouble();
      }
    }
    CHECK_EQUAL(uint64_t(wrong), 0);
    CHECK_EQUAL(uint64_t(lossy), 0);
  }
  // e4m3 has 448 as its largest number and no infinity.
  CHECK_EQUAL(encode(448, e4m3), 0x7e);
  CHECK_EQUAL(encode(1e9, e4m3), 0x7e);
  CHECK_EQUAL(encode(-INFINITY, e4m3), 0xfe);
  CHECK_EQUAL(encode(NAN, e4m3), 0x7f);
  CHECK_EQUAL(bits(decode(0x01, e4m3)), bits(0x1p-9));
  CHECK_EQUAL(encode(1e9, e5m2, Rounding::Nearest, true), 0x7b);
}

static void testArithmetic() {
  auto call = [](const char *name, Words operands) {
    return Subject::intrinsic(std::string("llvm.nvvm.") + name).run1(operands);
  };
  // 1 + 2^-24 lies half-way between 1 and the next number.
  float tiny = 0x1p-24f, next = 1 + 0x1p-23f;
  CHECK_EQUAL(call("add.rn.f", {bits(1.0f), bits(tiny)}), bits(1.0f));
  CHECK_EQUAL(call("add.rz.f", {bits(1.0f), bits(tiny)}), bits(1.0f));
  CHECK_EQUAL(call("add.rm.f", {bits(1.0f), bits(tiny)}), bits(1.0f));
  CHECK_EQUAL(call("add.rp.f", {bits(1.0f), bits(tiny)}), bits(next));
  CHECK_EQUAL(call("add.rm.f", {bits(-1.0f), bits(-tiny)}), bits(-next));
  CHECK_EQUAL(call("mul.rp.f", {bits(next), bits(next)}),
              bits(1 + 0x1p-22f + 0x1p-23f));
  CHECK_EQUAL(call("div.rm.f", {bits(1.0f), bits(3.0f)}), 0x3eaaaaaa);
  CHECK_EQUAL(call("div.rn.f", {bits(1.0f), bits(3.0f)}), 0x3eaaaaab);
  CHECK_EQUAL(call("sqrt.rm.f", {bits(2.0f)}), 0x3fb504f3);
  CHECK_EQUAL(call("sqrt.rp.f", {bits(2.0f)}), 0x3fb504f4);
  CHECK_EQUAL(call("rcp.rp.d", {bits(3.0)}), 0x3fd5555555555556);
  // Fused: (1 + e)^2 - (1 + 2e) = e^2, which a product of its own loses.
  CHECK_EQUAL(call("fma.rn.f", {bits(next), bits(next), bits(-1 - 0x1p-22f)}),
              bits(0x1p-46f));
  CHECK_EQUAL(call("fma.rm.f", {bits(next), bits(next), bits(0.0f)}),
              bits(1 + 0x1p-22f));
  CHECK_EQUAL(call("fma.rn.sat.f", {bits(2.0f), bits(2.0f), bits(0.0f)}),
              bits(1.0f));
  CHECK_EQUAL(call("fma.rn.sat.f", {bits(NAN), bits(2.0f), bits(0.0f)}),
              bits(0.0f));
  CHECK_EQUAL(call("add.rn.f", {bits(INFINITY), bits(-INFINITY)}), 0x7fffffff);
  // Below the normal numbers.
  CHECK_EQUAL(call("add.rn.f", {1, 1}), 2);
  CHECK_EQUAL(call("add.rn.ftz.f", {1, 0x80000001}), 0);
  CHECK_EQUAL(call("mul.rn.ftz.f", {bits(0x1p-100f), bits(-0x1p-40f)}),
              0x80000000);
  // f16: 65504 + 16 is a tie to infinity; relu.
  CHECK_EQUAL(call("fma.rn.f16", {0x7bff, 0x3c00, 0x4c00}), 0x7c00);
  CHECK_EQUAL(call("fma.rn.relu.f16x2", {0xbc003c00, 0x3c003c00, 0}),
              0x00003c00);
  // f16: 2^-14 * (1 + 2^-10)^2 is above a tie by 2^-34 alone.
  CHECK_EQUAL(call("fma.rn.f16", {0x3c01, 0x0401, 0x3c00}), 0x3c00);
  CHECK_EQUAL(call("fma.rn.bf16", {0x3f80, 0x3f80, 0x3b80}), 0x3f80);
  // Smallest and largest.
  CHECK_EQUAL(call("fmin.f", {bits(0.0f), bits(-0.0f)}), 0x80000000);
  CHECK_EQUAL(call("fmax.f", {bits(NAN), bits(1.0f)}), bits(1.0f));
  CHECK_EQUAL(call("fmax.nan.f", {bits(NAN), bits(1.0f)}), 0x7fffffff);
  CHECK_EQUAL(call("fmin.xorsign.abs.f", {bits(-3.0f), bits(2.0f)}),
              bits(-2.0f));
  CHECK_EQUAL(call("fmax.f16x2", {0x3c00bc00, 0x4000c000}), 0x4000bc00);
  CHECK_EQUAL(call("saturate.f", {bits(-2.0f)}), 0);
  CHECK_EQUAL(call("round.f", {bits(2.5f)}), bits(2.0f));
  CHECK_EQUAL(call("ceil.ftz.f", {1}), 0);
  CHECK_EQUAL(call("ceil.f", {1}), bits(1.0f));
  CHECK_EQUAL(call("floor.d", {bits(-0.5)}), bits(-1.0));
}

static void testConversions() {
  auto call = [](const char *name, Words operands) {
    return Subject::intrinsic(std::string("llvm.nvvm.") + name).run1(operands);
  };
  CHECK_EQUAL(call("f2i.rn", {bits(2.5f)}), 2);
  CHECK_EQUAL(call("f2i.rp", {bits(2.1f)}), 3);
  CHECK_EQUAL(call("f2i.rm", {bits(-2.1f)}), uint32_t(-3));
  CHECK_EQUAL(call("f2i.rz", {bits(1e20f)}), 0x7fffffff);
  CHECK_EQUAL(call("f2i.rz", {bits(NAN)}), 0);
  CHECK_EQUAL(call("f2ui.rz", {bits(-1.0f)}), 0);
  CHECK_EQUAL(call("f2ll.rz", {bits(NAN)}), uint64_t(1) << 63);
  CHECK_EQUAL(call("d2ull.rn", {bits(0x1p63)}), uint64_t(1) << 63);
  CHECK_EQUAL(call("f2i.rp.ftz", {1}), 0);
  CHECK_EQUAL(call("i2f.rn", {16777217}), bits(16777216.0f));
  CHECK_EQUAL(call("i2f.rp", {16777217}), bits(16777218.0f));
  CHECK_EQUAL(call("ui2f.rz", {0xffffffff}), bits(4294967040.0f));
  CHECK_EQUAL(call("ull2f.rn", {(uint64_t(1) << 63) + (uint64_t(1) << 39) + 1}),
              bits(0x1p63f + 0x1p40f));
  CHECK_EQUAL(call("ll2d.rm", {uint64_t(-9007199254740993)}),
              bits(-9007199254740994.0));
  CHECK_EQUAL(call("d2f.rm", {bits(1 + 0x1p-30)}), bits(1.0f));
  CHECK_EQUAL(call("d2f.rp", {bits(1 + 0x1p-30)}), bits(1 + 0x1p-23f));
  CHECK_EQUAL(call("d2f.rn.ftz", {bits(0x1p-130)}), 0);
  CHECK_EQUAL(call("d2i.hi", {0x1122334455667788}), 0x11223344);
  CHECK_EQUAL(call("d2i.lo", {0x1122334455667788}), 0x55667788);
  CHECK_EQUAL(call("lohi.i2d", {0x55667788, 0x11223344}), 0x1122334455667788);
  // The first operand becomes the upper half.
  CHECK_EQUAL(call("ff2f16x2.rn", {bits(1.0f), bits(2.0f)}), 0x3c004000);
  CHECK_EQUAL(call("ff2bf16x2.rn", {bits(1.0f), bits(2.0f)}), 0x3f804000);
  CHECK_EQUAL(call("ff2bf16x2.rz.relu", {bits(-1.0f), bits(1.999f)}),
              0x00003fff);
  CHECK_EQUAL(call("f2bf16.rn", {0x3f808000}), 0x3f80); // a tie
  CHECK_EQUAL(call("f2bf16.rn", {bits(NAN)}), 0x7fff);
  CHECK_EQUAL(call("f2f16.rn.satfinite", {bits(1e9f)}), 0x7bff);
  CHECK_EQUAL(call("f2f16.rn", {bits(1e9f)}), 0x7c00);
  CHECK_EQUAL(call("f2tf32.rna", {0x3f801000}), 0x3f802000);
  CHECK_EQUAL(call("f2tf32.rn", {0x3f801000}), 0x3f800000);
  CHECK_EQUAL(call("ff.to.e4m3x2.rn", {bits(500.0f), bits(-1.0f)}), 0x7eb8);
  CHECK_EQUAL(call("ff.to.e5m2x2.rn.relu", {bits(1e9f), bits(-1.0f)}), 0x7b00);
  CHECK_EQUAL(call("e4m3x2.to.f16x2.rn", {0x7eb8}), 0x5f00bc00);
  CHECK_EQUAL(call("f16x2.to.e4m3x2.rn", {0x5f00bc00}), 0x7eb8);
}

void test::testNumbers() {
  testFormats();
  testArithmetic();
  testConversions();
}

//===- Approximations -----------------------------------------------------===//

/// The largest relative error of a function of f32 over (0, limit).
static double errorOf(const char *name, double (*function)(double),
                      float limit) {
  Subject subject = Subject::intrinsic(std::string("llvm.nvvm.") + name);
  std::mt19937 random(2);
  double worst = 0;
  for (unsigned index = 0; index < 1000; ++index) {
    float x = limit * float(random() % 100000 + 1) / 100001;
    double got = bitCast<float>(uint32_t(subject.run1({bits(x)})));
    double wanted = function(double(x));
    worst = std::max(worst, std::fabs(got - wanted) /
                                std::max(std::fabs(wanted), 0x1p-20));
  }
  return worst;
}

void test::testApproximations() {
  // PTX allows from 2^-22 (lg2) to 2^-11 (tanh); one rounding is 2^-24.
  double allowed = 0x1.01p-24;
  CHECK(errorOf("ex2.approx.ftz.f32", std::exp2, 60) <= allowed);
  CHECK(errorOf("lg2.approx.f", std::log2, 100) <= allowed);
  CHECK(errorOf("sin.approx.f", std::sin, 6) <= allowed);
  CHECK(errorOf("cos.approx.ftz.f", std::cos, 6) <= allowed);
  CHECK(errorOf("sqrt.approx.f", std::sqrt, 100) <= allowed);
  CHECK(errorOf(
            "rcp.approx.ftz.f", [](double x) { return 1 / x; }, 100) <=
        allowed);
  CHECK(errorOf(
            "rsqrt.approx.f", [](double x) { return 1 / std::sqrt(x); }, 100) <=
        allowed);
  auto call = [](const char *name, Words operands) {
    return Subject::intrinsic(std::string("llvm.nvvm.") + name).run1(operands);
  };
  // What PTX states.
  CHECK_EQUAL(call("ex2.approx.ftz.f32", {bits(-INFINITY)}), 0);
  CHECK_EQUAL(call("ex2.approx.ftz.f32", {bits(-130.0f)}), 0);
  CHECK_EQUAL(call("ex2.approx.f32", {bits(-130.0f)}), bits(0x1p-130f));
  CHECK_EQUAL(call("lg2.approx.f", {bits(-0.0f)}), bits(-INFINITY));
  CHECK_EQUAL(call("lg2.approx.f", {bits(-1.0f)}), 0x7fffffff);
  CHECK_EQUAL(call("rcp.approx.ftz.f", {0x80000001}), bits(-INFINITY));
  CHECK_EQUAL(call("sin.approx.f", {bits(INFINITY)}), 0x7fffffff);
  CHECK_EQUAL(call("div.approx.f", {bits(1.0f), bits(0x1p127f)}), 0);
  CHECK_EQUAL(call("div.full", {bits(1.0f), bits(0x1p127f)}), bits(0x1p-127f));
  CHECK_EQUAL(call("rcp.approx.ftz.d", {bits(3.0)}), 0x3fd5555500000000);
  Subject tangent = Subject::assembly("tanh.approx.f32 $0, $1;", "=r,r");
  CHECK_EQUAL(tangent.run1({bits(20.0f)}), bits(1.0f));
  CHECK_EQUAL(tangent.run1({bits(-0.5f)}), bits(float(std::tanh(-0.5))));
}
