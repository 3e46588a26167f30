// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MatrixMultiply.cpp - Products of matrices by a warp ----------------===//
//
// PTX ISA, "Warp Level Matrix Instructions": mma.sync of the shapes m8n8kK and
// m16n8kK, D = A * B + C.
//
// All shapes and types share one description of who holds what, which the
// tables of "Matrix Fragments for mma" are cases of. With p elements in a
// register, lane 4 * g + t holds in element e of register r
//
//   A(g + 8 * (r % R), p * t + e + 4 * p * (r / R))  R: rows / 8
//   B(p * t + e + 4 * p * r, g)
//   C(g + 8 * (i / 2), 2 * t + i % 2)                element i of all
//
// Products of f16, bf16, tf32 and e4m3 or e5m2 are exact, and the sum of one
// instruction is in double, rounded once to the type of D. Those of f64 are
// fused. Integers are exact. A GPU cuts bits off while it adds, in an order
// that is not known, so that floating-point results agree within a tolerance.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

static constexpr unsigned columns = 8, mostRows = 16, mostDepth = 64;

namespace {

struct Product {
  unsigned rows = 0, depth = 0;
  Type a, b, c;
  bool saturate = false;

  /// Elements of A and B in a register; a double is one of 64 bits.
  unsigned packed() const { return a.bits == 64 ? 1 : 32 / a.bits; }
  unsigned registersA() const { return rows * depth / (packed() * warpSize); }
  unsigned registersB() const {
    return columns * depth / (packed() * warpSize);
  }
  unsigned elementsC() const { return rows * columns / warpSize; }
  unsigned packedC() const { return c.bits == 16 ? 2 : 1; }
  unsigned registersC() const { return elementsC() / packedC(); }
};

} // namespace

/// Elements as `Number`s, as a product of the type reads them.
template <typename Number> static Number read(uint64_t bits, const Type &type) {
  if (!type.isFloat())
    return Number(extend(bits, type.bits, type.isSigned()));
  if (type.format == &tf32) // the lower bits are not looked at
    return Number(bitCast<float>(uint32_t(bits) & 0xffffe000));
  // Most products are of these, and here is where their time goes.
  if (type.format == &f16)
    return Number(decodeF16(uint16_t(bits)));
  if (type.format == &bf16)
    return Number(decodeBf16(uint16_t(bits)));
  if (type.format == &f32)
    return Number(bitCast<float>(uint32_t(bits)));
  uint64_t mask = maskTrailingOnes<uint64_t>(type.bits);
  return Number(decode(bits & mask, *type.format));
}

static uint64_t write(double value, const Product &product) {
  if (product.c.format == &f32 && !std::isnan(value))
    return bitCast<uint32_t>(float(value));
  return encode(value, *product.c.format);
}
static uint64_t write(int64_t value, const Product &product) {
  if (product.saturate)
    value = std::min(std::max(value, minIntN(32)), maxIntN(32));
  return uint32_t(value);
}

template <typename Number, bool fused = false>
static void multiply(const Product &product, ArrayRef<Frame *> lanes) {
  Number a[mostRows][mostDepth], b[mostDepth][columns];
  Number c[mostRows][columns];
  const unsigned packed = product.packed(), rowBlocks = product.rows / 8;
  const unsigned registersA = product.registersA();
  const unsigned registersB = product.registersB();
  const unsigned packedC = product.packedC(), bitsC = product.c.bits;

  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const unsigned group = lane / 4, thread = lane % 4;
    const uint64_t *source = lanes[lane]->sources;
    for (unsigned r = 0; r < registersA; ++r, ++source)
      for (unsigned e = 0; e < packed; ++e)
        a[group + 8 * (r % rowBlocks)]
         [packed * thread + e + 4 * packed * (r / rowBlocks)] =
             read<Number>(*source >> (e * product.a.bits), product.a);
    for (unsigned r = 0; r < registersB; ++r, ++source)
      for (unsigned e = 0; e < packed; ++e)
        b[packed * thread + e + 4 * packed * r][group] =
            read<Number>(*source >> (e * product.b.bits), product.b);
    for (unsigned i = 0; i < product.elementsC(); ++i)
      c[group + 8 * (i / 2)][2 * thread + i % 2] =
          read<Number>(source[i / packedC] >> (i % packedC * bitsC), product.c);
  }

  for (unsigned row = 0; row < product.rows; ++row) {
    Number sums[columns];
    for (unsigned column = 0; column < columns; ++column)
      sums[column] = c[row][column];
    for (unsigned k = 0; k < product.depth; ++k)
      for (unsigned column = 0; column < columns; ++column)
        if constexpr (fused)
          sums[column] = std::fma(a[row][k], b[k][column], sums[column]);
        else
          sums[column] += a[row][k] * b[k][column];
    for (unsigned column = 0; column < columns; ++column)
      c[row][column] = sums[column];
  }

  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t *result = lanes[lane]->results;
    for (unsigned r = 0; r < product.registersC(); ++r)
      result[r] = 0;
    for (unsigned i = 0; i < product.elementsC(); ++i)
      result[i / packedC] |=
          write(c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2], product)
          << (i % packedC * bitsC);
  }
}

/// Which depths there are for a type of A, of 8 and of 16 rows.
static bool isShape(const Product &product) {
  unsigned bits = product.a.bits, depth = product.depth;
  if (product.a.is(f64))
    return product.rows == 8 ? depth == 4
                             : depth == 4 || depth == 8 || depth == 16;
  if (product.a.isFloat() && bits != 8)
    // m8n8k4 of f16 is of quarters of a warp, with another layout.
    return product.rows == 16 && (depth == 128 / bits || depth == 256 / bits);
  if (product.rows == 8)
    return depth == 128 / bits && !product.a.isFloat();
  return depth == 128 / bits || depth == 256 / bits;
}

static bool areTypes(const Product &product, const Type &d) {
  const Type &a = product.a, &b = product.b, &c = product.c;
  if (a.elements != 1 || b.elements != 1 || c.elements != 1)
    return false;
  if (c.kind != d.kind || c.bits != d.bits || c.format != d.format)
    return false;
  if (!a.isFloat())
    return !b.isFloat() && a.kind != Type::Kind::Bits &&
           b.kind != Type::Kind::Bits && a.bits == b.bits && a.bits <= 8 &&
           c.isSigned() && c.bits == 32;
  if (product.saturate)
    return false;
  if (a.bits == 8)
    return b.isFloat() && b.bits == 8 && (c.is(f16) || c.is(f32));
  if (a.format != b.format)
    return false;
  if (a.is(f16))
    return c.is(f16) || c.is(f32);
  if (a.is(bf16) || a.is(tf32))
    return c.is(f32);
  return a.is(f64) && c.is(f64);
}

/// mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype d, a, b,
/// c
std::optional<Operation>
gatefold::emulator::ptx::findMatrixMultiply(Name name, const Syntax &) {
  if (!name.take("mma") || !name.take("sync") || !name.take("aligned"))
    return std::nullopt;
  static const struct {
    const char *name;
    unsigned rows, depth;
  } shapes[] = {
      {"m8n8k4", 8, 4},     {"m8n8k16", 8, 16},   {"m8n8k32", 8, 32},
      {"m16n8k4", 16, 4},   {"m16n8k8", 16, 8},   {"m16n8k16", 16, 16},
      {"m16n8k32", 16, 32}, {"m16n8k64", 16, 64},
  };
  Product product;
  for (const auto &shape : shapes)
    if (!product.rows && name.take(shape.name)) {
      product.rows = shape.rows;
      product.depth = shape.depth;
    }
  if (!product.rows || !name.take("row") || !name.take("col"))
    return std::nullopt;
  product.saturate = name.take("satfinite");
  std::optional<Type> d = name.takeType(), a = name.takeType();
  std::optional<Type> b = name.takeType(), c = name.takeType();
  if (!d || !a || !b || !c || !name.done())
    return std::nullopt;
  product.a = *a;
  product.b = *b;
  product.c = *c;
  if (!areTypes(product, *d) || !isShape(product))
    return std::nullopt;

  Operation operation;
  operation.results = product.registersC();
  operation.sources =
      product.registersA() + product.registersB() + product.registersC();
  operation.executeWarp = [product](Machine &, ArrayRef<Frame *> lanes) {
    if (product.a.bits == 64)
      multiply<double, true>(product, lanes);
    else if (product.a.isFloat())
      multiply<double>(product, lanes);
    else
      multiply<int64_t>(product, lanes);
    return true;
  };
  return operation;
}
