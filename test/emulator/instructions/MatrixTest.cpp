// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MatrixTest.cpp - ldmatrix, stmatrix, mma.sync ----------------------===//
//
// The fragments are written here as PTX's tables have them, shape by shape;
// matrices are not symmetric, and small enough for every sum to be exact.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "runtime/emulator/instructions/Number.h"
#include "llvm/IR/DerivedTypes.h"
#include <functional>

using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;
using namespace gatefold::emulator::test;

namespace {

/// Where element `i` of a lane is: row and column.
using Spot = std::pair<unsigned, unsigned>;
using Fragment =
    std::function<Spot(unsigned group, unsigned thread, unsigned i)>;

struct Shape {
  const char *name;
  unsigned m, k;
  Fragment a, b;
};

struct Element {
  unsigned bits;
  std::function<uint64_t(double)> write;
  std::function<double(uint64_t)> read;
};

} // namespace

static Element floating(const Format &format) {
  unsigned bits =
      format.padding ? 32 : 1 + format.exponentBits + format.fractionBits;
  return {bits, [&format](double value) { return encode(value, format); },
          [&format](uint64_t word) { return decode(word, format); }};
}
static Element integer(unsigned bits, bool isSigned) {
  uint64_t mask = (uint64_t(1) << bits) - 1;
  return {bits, [=](double value) { return uint64_t(int64_t(value)) & mask; },
          [=](uint64_t word) {
            int64_t value = int64_t(word << (64 - bits)) >> (64 - bits);
            return double(isSigned ? value : int64_t(word & mask));
          }};
}

static Fragment fragmentC = [](unsigned g, unsigned t, unsigned i) {
  return Spot(i < 2 ? g : g + 8, t * 2 + (i & 1));
};

// "Matrix Fragments for mma.m16n8k16 with floating point type", and so on.
static const Shape f16k16{
    "m16n8k16", 16, 16,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot((i < 2 || (i >= 4 && i < 6)) ? g : g + 8,
                  i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8);
    },
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g);
    }};
static const Shape f16k8{
    "m16n8k8", 16, 8,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 2 ? g : g + 8, t * 2 + (i & 1));
    },
    [](unsigned g, unsigned t, unsigned i) { return Spot(t * 2 + i, g); }};
static const Shape tf32k4{
    "m16n8k4", 16, 4,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i == 0 ? g : g + 8, t);
    },
    [](unsigned g, unsigned t, unsigned) { return Spot(t, g); }};
static const Shape tf32k8{"m16n8k8", 16, 8,
                          [](unsigned g, unsigned t, unsigned i) {
                            return Spot(i == 0 || i == 2 ? g : g + 8,
                                        i < 2 ? t : t + 4);
                          },
                          [](unsigned g, unsigned t, unsigned i) {
                            return Spot(i == 0 ? t : t + 4, g);
                          }};
static const Shape s8m8k16{
    "m8n8k16", 8, 16,
    [](unsigned g, unsigned t, unsigned i) { return Spot(g, t * 4 + i); },
    [](unsigned g, unsigned t, unsigned i) { return Spot(t * 4 + i, g); }};
static const Shape s8k16{
    "m16n8k16", 16, 16,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 4 ? g : g + 8, t * 4 + (i & 3));
    },
    [](unsigned g, unsigned t, unsigned i) { return Spot(t * 4 + i, g); }};
static const Shape s8k32{
    "m16n8k32", 16, 32,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                  i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16);
    },
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g);
    }};
static const Shape s4k64{
    "m16n8k64", 16, 64,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 8 || (i >= 16 && i < 24) ? g : g + 8,
                  i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32);
    },
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32, g);
    }};
static const Shape f64m8k4{
    "m8n8k4", 8, 4, [](unsigned g, unsigned t, unsigned) { return Spot(g, t); },
    [](unsigned g, unsigned t, unsigned) { return Spot(t, g); }};
static const Shape f64k16{
    "m16n8k16", 16, 16,
    [](unsigned g, unsigned t, unsigned i) {
      return Spot(i % 2 == 0 ? g : g + 8, (i % 2 == 0 ? i * 2 : i * 2 - 2) + t);
    },
    [](unsigned g, unsigned t, unsigned i) { return Spot(t + i * 4, g); }};

/// Words of one lane: elements packed into registers of 32 bits, or one in 64.
static void pack(Words &words, const Element &element, unsigned count,
                 const std::function<double(unsigned)> &value) {
  unsigned packed = element.bits == 64 ? 1 : 32 / element.bits;
  for (unsigned i = 0; i < count; i += packed) {
    uint64_t word = 0;
    for (unsigned e = 0; e < packed; ++e)
      word |= element.write(value(i + e)) << (e * element.bits);
    words.push_back(word);
  }
}

static void testProduct(const std::string &name, const Shape &shape,
                        const Element &a, const Element &b, const Element &c) {
  Subject subject = Subject::intrinsic(name);
  if (!subject.known())
    return;
  CHECK(subject.get().group == Instruction::Group::Warp);
  CHECK(!subject.get().maskOperand);
  bool isUnsigned = a.write(-1) == (a.bits == 8 ? 0xffu : 0xfu);
  auto valueA = [&](unsigned row, unsigned k) {
    int value = int(row * 5 + k * 3) % 7;
    return double(isUnsigned && a.read(a.write(-1)) > 0 ? value : value - 3);
  };
  auto valueB = [&](unsigned k, unsigned column) {
    int value = int(k * 4 + column * 9) % 5;
    return double(isUnsigned && b.read(b.write(-1)) > 0 ? value : value - 2);
  };
  auto valueC = [](unsigned row, unsigned column) {
    return double(row * 8 + column) - 20;
  };
  std::vector<Words> operands(warpSize);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    unsigned g = lane >> 2, t = lane & 3;
    pack(operands[lane], a, shape.m * shape.k / 32, [&](unsigned i) {
      auto [row, k] = shape.a(g, t, i);
      return valueA(row, k);
    });
    pack(operands[lane], b, shape.k * 8 / 32, [&](unsigned i) {
      auto [k, column] = shape.b(g, t, i);
      return valueB(k, column);
    });
    pack(operands[lane], c, shape.m * 8 / 32, [&](unsigned i) {
      auto [row, column] = fragmentC(g, t, i);
      return valueC(row, column);
    });
  }
  std::vector<Words> results = subject.runWarp(operands);
  unsigned packed = c.bits == 64 ? 1 : 32 / c.bits, wrong = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < shape.m * 8 / 32; ++i) {
      auto [row, column] = fragmentC(lane >> 2, lane & 3, i);
      double wanted = valueC(row, column);
      for (unsigned k = 0; k < shape.k; ++k)
        wanted += valueA(row, k) * valueB(k, column);
      uint64_t word = results[lane].at(i / packed) >> (i % packed * c.bits);
      if (c.bits < 64)
        word &= (uint64_t(1) << c.bits) - 1;
      wrong += c.read(word) != wanted;
    }
  check(wrong == 0, name + ": " + std::to_string(wrong) + " elements wrong",
        __FILE__, __LINE__);
}

static void testProducts() {
  const std::string mma = "llvm.nvvm.mma.";
  Element half = floating(f16), brain = floating(bf16), single = floating(f32);
  Element tensor = floating(tf32), twice = floating(f64);
  Element s8 = integer(8, true), u8 = integer(8, false),
          s32 = integer(32, true);
  Element s4 = integer(4, true), u4 = integer(4, false);
  testProduct(mma + "m16n8k16.row.col.f32.f32", f16k16, half, half, single);
  testProduct(mma + "m16n8k16.row.col.f16.f16", f16k16, half, half, half);
  testProduct(mma + "m16n8k8.row.col.f32.f32", f16k8, half, half, single);
  testProduct(mma + "m16n8k8.row.col.f16.f16", f16k8, half, half, half);
  testProduct(mma + "m16n8k16.row.col.bf16", f16k16, brain, brain, single);
  testProduct(mma + "m16n8k8.row.col.bf16", f16k8, brain, brain, single);
  testProduct(mma + "m16n8k4.row.col.tf32", tf32k4, tensor, tensor, single);
  testProduct(mma + "m16n8k8.row.col.tf32", tf32k8, tensor, tensor, single);
  testProduct(mma + "m8n8k16.row.col.s8", s8m8k16, s8, s8, s32);
  testProduct(mma + "m16n8k16.row.col.s8.u8", s8k16, s8, u8, s32);
  testProduct(mma + "m16n8k32.row.col.s8", s8k32, s8, s8, s32);
  testProduct(mma + "m16n8k32.row.col.u8.s8", s8k32, u8, s8, s32);
  testProduct(mma + "m16n8k64.row.col.s4.u4", s4k64, s4, u4, s32);
  testProduct(mma + "m8n8k4.row.col.f64", f64m8k4, twice, twice, twice);
  testProduct(mma + "m16n8k4.row.col.f64", tf32k4, twice, twice, twice);
  testProduct(mma + "m16n8k8.row.col.f64", tf32k8, twice, twice, twice);
  testProduct(mma + "m16n8k16.row.col.f64", f64k16, twice, twice, twice);
  testProduct(mma + "m16n8k32.row.col.f32.e4m3.e5m2.f32", s8k32, floating(e4m3),
              floating(e5m2), single);
}

/// What is special about the arithmetic.
static void testProductArithmetic() {
  // tf32: bits below the 19 are not looked at; 1.5 + what is cut off.
  Subject tensor = Subject::intrinsic("llvm.nvvm.mma.m16n8k4.row.col.tf32");
  std::vector<Words> operands(warpSize, Words(7, 0));
  for (Words &words : operands) {
    words[0] = words[1] = bitCast<uint32_t>(1.5f) | 0x1fff;
    words[2] = bitCast<uint32_t>(2.0f) | 0x1fff;
  }
  CHECK_EQUAL(tensor.runWarp(operands)[0].at(0), bitCast<uint32_t>(12.0f));
  // One rounding at the end: 1 + 2^-24 + 2^-24 = 1 + 2^-23, though 1 + 2^-24
  // rounds to 1.
  Subject half = Subject::intrinsic("llvm.nvvm.mma.m16n8k8.row.col.f32.f32");
  operands.assign(warpSize, Words(7, 0));
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    operands[lane][0] = lane % 4 == 0 ? 0x0c000c00 : 0; // 2^-12, twice
    operands[lane][2] = lane % 4 == 0 ? 0x0c000c00 : 0;
    operands[lane][3] = bitCast<uint32_t>(1.0f);
  }
  CHECK_EQUAL(half.runWarp(operands)[0].at(0), bitCast<uint32_t>(1 + 0x1p-23f));
  // satfinite keeps a sum within 32 bits; without it the sum wraps.
  Subject wraps = Subject::intrinsic("llvm.nvvm.mma.m8n8k16.row.col.s8");
  Subject keeps =
      Subject::intrinsic("llvm.nvvm.mma.m8n8k16.row.col.satfinite.s8");
  operands.assign(warpSize, {0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff, 0});
  CHECK_EQUAL(wraps.runWarp(operands)[0].at(0), 0x7fffffffu + 16 * 127 * 127);
  CHECK_EQUAL(keeps.runWarp(operands)[0].at(0), 0x7fffffff);
  CHECK_EQUAL(keeps.runWarp(operands)[0].at(1), 16 * 127 * 127);
}

static void testMoves() {
  llvm::Type *pointer = llvm::PointerType::get(context(), 3);
  for (bool transposed : {false, true})
    for (unsigned count : {1u, 2u, 4u}) {
      std::string suffix = "matrix.sync.aligned.m8n8.x" +
                           std::to_string(count) +
                           (transposed ? ".trans" : "") + ".b16.p3";
      Subject load = Subject::intrinsic("llvm.nvvm.ld" + suffix, {pointer});
      Subject store = Subject::intrinsic("llvm.nvvm.st" + suffix, {pointer});
      // Element (row, column) of matrix m is 100 * m + 10 * row + column; rows
      // lie apart, last one first.
      auto offsetOf = [](unsigned matrix, unsigned row) {
        return (matrix * 8 + 7 - row) * 48;
      };
      std::vector<Words> operands(warpSize);
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        unsigned offset = offsetOf(lane / 8, lane % 8);
        // What lanes hold whose addresses are not needed does not matter.
        operands[lane] = {lane < 8 * count ? sharedBase + offset : 3};
        for (unsigned column = 0; column < 8 && lane < 8 * count; ++column)
          load.machine.at<uint16_t>(offset + 2 * column) =
              uint16_t(lane / 8 * 100 + lane % 8 * 10 + column);
      }
      std::vector<Words> results = load.runWarp(operands);
      CHECK(load.machine.reports.empty());
      for (unsigned lane = 0; lane < warpSize; ++lane)
        for (unsigned matrix = 0; matrix < count; ++matrix) {
          unsigned row = lane / 4, column = lane % 4 * 2;
          unsigned low = transposed ? column * 10 + row : row * 10 + column;
          unsigned high = low + (transposed ? 10 : 1);
          CHECK_EQUAL(results[lane].at(matrix),
                      (matrix * 100 + low) | (matrix * 100 + high) << 16);
          operands[lane].push_back(results[lane].at(matrix));
        }
      // And back.
      store.runWarp(operands);
      CHECK(store.machine.memory == load.machine.memory);
    }
  // A row that begins at a multiple of 8 only.
  Subject load = Subject::intrinsic(
      "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3", {pointer});
  std::vector<Words> operands(warpSize, {sharedBase});
  operands[5] = {sharedBase + 8};
  load.runWarp(operands);
  CHECK_EQUAL(load.machine.reports.at(0), "lane 5: misaligned");
}

void test::testMatrices() {
  testProducts();
  testProductArithmetic();
  testMoves();
}
