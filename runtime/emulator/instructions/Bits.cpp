// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Bits.cpp - Bits and bytes of integers ------------------------------===//
//
// PTX ISA, "Logic and Shift Instructions" (and, or, xor, not, cnot, lop3, shl,
// shr, shf), the ones on bits of "Integer Arithmetic Instructions" (popc, clz,
// bfind, brev, bfe, bfi, bmsk, szext, fns), and prmt.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

static uint64_t ones(unsigned count) {
  return maskTrailingOnes<uint64_t>(std::min(count, 64u));
}

//===- Logic -------------------------------------------------------------===//

static std::optional<Operation> findLogic(Name name) {
  std::optional<StringRef> which =
      name.takeOneOf({"and", "or", "xor", "not", "cnot", "lop3"});
  std::optional<Type> type = name.takeType();
  if (!which || !type || !name.done())
    return std::nullopt;
  bool predicate = type->kind == Type::Kind::Predicate;
  if (!predicate && (type->kind != Type::Kind::Bits || type->bits < 16))
    return std::nullopt;
  if (*which == "and")
    return makePure(2, [](const Frame &frame) {
      return frame.sources[0] & frame.sources[1];
    });
  if (*which == "or")
    return makePure(2, [](const Frame &frame) {
      return frame.sources[0] | frame.sources[1];
    });
  if (*which == "xor")
    return makePure(2, [](const Frame &frame) {
      return frame.sources[0] ^ frame.sources[1];
    });
  if (*which == "not")
    return makePure(1, [](const Frame &frame) { return ~frame.sources[0]; });
  if (*which == "cnot" && !predicate)
    return makePure(1, [bits = type->bits](const Frame &frame) {
      return uint64_t((frame.sources[0] & ones(bits)) == 0);
    });
  if (*which == "lop3" && type->bits == 32)
    return makePure(4, [](const Frame &frame) {
      uint64_t result = 0;
      for (unsigned bit = 0; bit < 32; ++bit) {
        unsigned row = (frame.word(0) >> bit & 1) << 2 |
                       (frame.word(1) >> bit & 1) << 1 |
                       (frame.word(2) >> bit & 1);
        result |= uint64_t(frame.word(3) >> row & 1) << bit;
      }
      return result;
    });
  return std::nullopt;
}

//===- Shifts ------------------------------------------------------------===//

/// shl, shr: a shift by more than the width is one by the width.
static std::optional<Operation> findShift(Name name, bool left) {
  std::optional<Type> type = name.takeType();
  if (!type || type->isFloat() || type->bits < 16 || !name.done() ||
      (left && type->kind != Type::Kind::Bits))
    return std::nullopt;
  return makePure(2, [=, type = *type](const Frame &frame) {
    unsigned amount = std::min(frame.word(1), type.bits);
    if (left)
      return amount == 64 ? 0 : frame.sources[0] << amount;
    int64_t value = extend(frame.sources[0], type.bits, type.isSigned());
    if (type.isSigned())
      return uint64_t(value >> std::min(amount, 63u));
    return amount == 64 ? 0 : uint64_t(value) >> amount;
  });
}

/// shf{.l,.r}{.clamp,.wrap}.b32 d, a, b, c: of the 64 bits b:a.
static std::optional<Operation> findFunnel(Name name) {
  std::optional<StringRef> direction = name.takeOneOf({"l", "r"});
  std::optional<StringRef> mode = name.takeOneOf({"clamp", "wrap"});
  if (!direction || !mode || !name.take("b32") || !name.done())
    return std::nullopt;
  bool left = *direction == "l", clamps = *mode == "clamp";
  return makePure(3, [=](const Frame &frame) {
    uint64_t both = uint64_t(frame.word(1)) << 32 | frame.word(0);
    unsigned amount =
        clamps ? std::min(frame.word(2), 32u) : frame.word(2) & 31;
    return left ? both << amount >> 32 : both >> amount;
  });
}

//===- Counting, finding, fields -----------------------------------------===//

static std::optional<Operation> findCount(Name name) {
  std::optional<StringRef> which = name.takeOneOf({"popc", "clz", "brev"});
  std::optional<Type> type = name.takeType();
  if (!which || !type || !name.done() || type->kind != Type::Kind::Bits ||
      type->bits < 32)
    return std::nullopt;
  unsigned bits = type->bits;
  if (*which == "popc")
    return makePure(1, [bits](const Frame &frame) {
      return uint64_t(popcount(frame.sources[0] & ones(bits)));
    });
  if (*which == "clz")
    return makePure(1, [bits](const Frame &frame) {
      return uint64_t(countl_zero(frame.sources[0] & ones(bits))) - (64 - bits);
    });
  return makePure(1, [bits](const Frame &frame) {
    return reverseBits(frame.sources[0]) >> (64 - bits);
  });
}

/// bfind{.shiftamt}.type: the place of the highest bit that is not the sign, or
/// how far to shift it to the top.
static std::optional<Operation> findHighest(Name name) {
  bool distance = name.take("shiftamt");
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || type->bits < 32 || !name.done())
    return std::nullopt;
  return makePure(1, [=, type = *type](const Frame &frame) {
    int64_t value = extend(frame.sources[0], type.bits, type.isSigned());
    if (type.isSigned() && value < 0)
      value = ~value;
    if (value == 0)
      return uint64_t(0xffffffff);
    unsigned place = 63 - countl_zero(uint64_t(value));
    return uint64_t(distance ? type.bits - 1 - place : place);
  });
}

/// bfe.type d, a, b, c: c bits from bit b, the sign beyond.
static std::optional<Operation> findExtract(Name name) {
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || type->bits < 32 || !name.done())
    return std::nullopt;
  return makePure(3, [type = *type](const Frame &frame) {
    unsigned start = frame.word(1) & 0xff, length = frame.word(2) & 0xff;
    uint64_t value = frame.sources[0] & ones(type.bits);
    uint64_t field = start < 64 ? value >> start & ones(length) : 0;
    if (!type.isSigned() || length == 0)
      return field;
    unsigned signBit = std::min(start + length - 1, type.bits - 1);
    if (value >> signBit & 1) {
      unsigned kept =
          start < type.bits ? std::min(length, type.bits - start) : 0;
      field |= ~ones(kept);
    }
    return field;
  });
}

/// bfi.type f, a, b, c, d: b with d bits from bit c those of a.
static std::optional<Operation> findInsert(Name name) {
  std::optional<Type> type = name.takeType();
  if (!type || type->kind != Type::Kind::Bits || type->bits < 32 ||
      !name.done())
    return std::nullopt;
  return makePure(4, [](const Frame &frame) {
    unsigned start = frame.word(2) & 0xff, length = frame.word(3) & 0xff;
    uint64_t field = start < 64 ? ones(length) << start : 0;
    uint64_t value = start < 64 ? frame.sources[0] << start : 0;
    return (frame.sources[1] & ~field) | (value & field);
  });
}

/// bmsk{.clamp,.wrap}.b32 d, a, b: b ones from bit a.
static std::optional<Operation> findMask(Name name) {
  std::optional<StringRef> mode = name.takeOneOf({"clamp", "wrap"});
  if (!mode || !name.take("b32") || !name.done())
    return std::nullopt;
  bool clamps = *mode == "clamp";
  return makePure(2, [clamps](const Frame &frame) {
    uint32_t start = frame.word(0), length = frame.word(1);
    if (!clamps) {
      start &= 31;
      length &= 31;
    }
    return start < 32 ? ones(std::min(length, 32u)) << start : 0;
  });
}

/// szext{.clamp,.wrap}.type d, a, b: a number of b bits, extended.
static std::optional<Operation> findExtend(Name name) {
  std::optional<StringRef> mode = name.takeOneOf({"clamp", "wrap"});
  std::optional<Type> type = name.takeType();
  if (!mode || !type || !type->isInteger() || type->bits != 32 || !name.done())
    return std::nullopt;
  bool clamps = *mode == "clamp", isSigned = type->isSigned();
  return makePure(2, [=](const Frame &frame) {
    unsigned bits = clamps ? std::min(frame.word(1), 32u) : frame.word(1) & 31;
    return bits ? uint64_t(extend(frame.sources[0], bits, isSigned)) : 0;
  });
}

/// fns.b32 d, mask, base, offset: the offset-th set bit from a base, downwards
/// if negative.
static std::optional<Operation> findNthSet(Name name) {
  if (!name.take("b32") || !name.done())
    return std::nullopt;
  return makePure(3, [](const Frame &frame) {
    uint32_t mask = frame.word(0);
    int64_t place = frame.word(1), offset = int32_t(frame.word(2));
    int64_t step = offset < 0 ? -1 : 1;
    int64_t left = std::max<int64_t>(std::abs(offset), 1);
    for (; place >= 0 && place < 32; place += step) {
      if ((mask >> place & 1) && --left == 0)
        return uint64_t(place);
      if (offset == 0)
        break;
    }
    return uint64_t(0xffffffff);
  });
}

//===- Bytes -------------------------------------------------------------===//

/// prmt.b32{.mode} d, a, b, c: each byte one of the eight of b:a.
static std::optional<Operation> findPermute(Name name) {
  if (!name.take("b32"))
    return std::nullopt;
  // Which bytes, for each of the lowest two bits of c.
  static const struct {
    const char *name;
    uint16_t selectors[4];
  } modes[] = {
      {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
      {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
      {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
      {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
      {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
      {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
  };
  const uint16_t *selectors = nullptr;
  for (const auto &mode : modes)
    if (!selectors && name.take(mode.name))
      selectors = mode.selectors;
  if (!name.done())
    return std::nullopt;
  return makePure(3, [selectors](const Frame &frame) {
    uint64_t both = uint64_t(frame.word(1)) << 32 | frame.word(0), result = 0;
    unsigned selector =
        selectors ? selectors[frame.word(2) & 3] : frame.word(2);
    for (unsigned byte = 0; byte < 4; ++byte) {
      unsigned choice = selector >> (4 * byte) & 15;
      uint64_t value = both >> (8 * (choice & 7)) & 0xff;
      if (choice & 8) // its sign, eight times
        value = value & 0x80 ? 0xff : 0;
      result |= value << (8 * byte);
    }
    return result;
  });
}

std::optional<Operation> gatefold::emulator::ptx::findBits(Name name,
                                                           const Syntax &) {
  if (std::optional<Operation> operation = findLogic(name))
    return operation;
  if (std::optional<Operation> operation = findCount(name))
    return operation;
  if (name.take("shl"))
    return findShift(name, true);
  if (name.take("shr"))
    return findShift(name, false);
  if (name.take("shf"))
    return findFunnel(name);
  if (name.take("bfind"))
    return findHighest(name);
  if (name.take("bfe"))
    return findExtract(name);
  if (name.take("bfi"))
    return findInsert(name);
  if (name.take("bmsk"))
    return findMask(name);
  if (name.take("szext"))
    return findExtend(name);
  if (name.take("fns"))
    return findNthSet(name);
  if (name.take("prmt"))
    return findPermute(name);
  return std::nullopt;
}
