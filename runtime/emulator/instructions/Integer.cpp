// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Integer.cpp - Integer arithmetic -----------------------------------===//
//
// PTX ISA, "Integer Arithmetic Instructions": add, sub, mul, mad, mul24, mad24,
// div, rem, abs, neg, min, max, sad, dp4a, dp2a.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

/// A source as a number of the type.
struct Integers {
  const Frame &frame;
  Type type;
  int64_t operator[](unsigned index) const {
    return extend(frame.sources[index], type.bits, type.isSigned());
  }
  uint64_t natural(unsigned index) const { return uint64_t((*this)[index]); }
};

} // namespace

__extension__ typedef __int128 Wide;

static Wide product(const Integers &integers) {
  return integers.type.isSigned()
             ? Wide(integers[0]) * Wide(integers[1])
             : Wide((unsigned __int128)integers.natural(0) *
                    (unsigned __int128)integers.natural(1));
}

/// mul, mad{.lo,.hi,.wide}{.sat}: the lower or upper half of the product or all
/// of it, plus, in mad, a number.
static std::optional<Operation> findProduct(Name name, bool adds) {
  std::optional<StringRef> part = name.takeOneOf({"lo", "hi", "wide"});
  std::optional<Type> type = name.takeType();
  if (!part || !type || !type->isInteger() || !name.done() ||
      (*part == "wide" && type->bits == 64))
    return std::nullopt;
  unsigned shift = *part == "hi" ? type->bits : 0;
  return makePure(adds ? 3 : 2, [=, type = *type](const Frame &frame) {
    uint64_t result = uint64_t(product({frame, type}) >> shift);
    return adds ? result + frame.sources[2] : result;
  });
}

/// mul24, mad24{.lo,.hi}: of 24 bits; the lower 32 of 48 bits or the upper.
static std::optional<Operation> findProduct24(Name name, bool adds) {
  std::optional<StringRef> part = name.takeOneOf({"lo", "hi"});
  std::optional<Type> type = name.takeType();
  if (!part || !type || !type->isInteger() || type->bits != 32 || !name.done())
    return std::nullopt;
  unsigned shift = *part == "hi" ? 16 : 0;
  return makePure(adds ? 3 : 2, [=, type = *type](const Frame &frame) {
    int64_t a = extend(frame.sources[0], 24, type.isSigned());
    int64_t b = extend(frame.sources[1], 24, type.isSigned());
    uint64_t result = uint64_t((a * b) >> shift);
    return adds ? result + frame.sources[2] : result;
  });
}

/// div, rem.type
static std::optional<Operation> findDivision(Name name, bool remainder) {
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || !name.done())
    return std::nullopt;
  return makeEffect(1, 2, [=, type = *type](Machine &machine, Frame &frame) {
    Integers integers{frame, type};
    if (integers[1] == 0) {
      machine.report(*frame.thread, FindingKind::Trap, "division by 0");
      frame.results[0] = ~uint64_t(0);
    } else if (!type.isSigned()) {
      uint64_t a = integers.natural(0), b = integers.natural(1);
      frame.results[0] = remainder ? a % b : a / b;
    } else if (integers[1] == -1) {
      // The smallest number has no opposite.
      frame.results[0] = remainder ? 0 : -integers.natural(0);
    } else {
      frame.results[0] = uint64_t(remainder ? integers[0] % integers[1]
                                            : integers[0] / integers[1]);
    }
    return true;
  });
}

/// dp4a.atype.btype: the sum of the products of four bytes.
/// dp2a{.lo,.hi}.atype.btype: of two halves and two bytes.
static std::optional<Operation> findDot(Name name, bool bytes) {
  std::optional<StringRef> part;
  if (!bytes && !(part = name.takeOneOf({"lo", "hi"})))
    return std::nullopt;
  std::optional<Type> a = name.takeType(), b = name.takeType();
  if (!a || !b || !a->isInteger() || !b->isInteger() || a->bits != 32 ||
      b->bits != 32 || !name.done())
    return std::nullopt;
  unsigned count = bytes ? 4 : 2, width = bytes ? 8 : 16;
  unsigned first = part && *part == "hi" ? 2 : 0;
  bool signedA = a->isSigned(), signedB = b->isSigned();
  return makePure(3, [=](const Frame &frame) {
    int64_t sum = int32_t(frame.word(2));
    for (unsigned i = 0; i < count; ++i)
      sum += extend(frame.word(0) >> (i * width), width, signedA) *
             extend(frame.word(1) >> ((first + i) * 8), 8, signedB);
    return uint64_t(sum);
  });
}

/// Two numbers of the same type to one.
template <typename Function>
static std::optional<Operation> findBinary(Name name, Function function) {
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || !name.done())
    return std::nullopt;
  return makePure(2, [=, type = *type](const Frame &frame) {
    return function(Integers{frame, type});
  });
}

/// add, sub{.sat}: `sat` keeps the sum within an s32.
static std::optional<Operation> findSum(Name name, bool negates) {
  bool saturates = name.take("sat");
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || !name.done() ||
      (saturates && !(type->isSigned() && type->bits == 32)))
    return std::nullopt;
  return makePure(2, [=](const Frame &frame) {
    if (!saturates)
      return negates ? frame.sources[0] - frame.sources[1]
                     : frame.sources[0] + frame.sources[1];
    int64_t a = int32_t(frame.word(0)), b = int32_t(frame.word(1));
    int64_t sum = negates ? a - b : a + b;
    return uint64_t(std::min(std::max(sum, minIntN(32)), maxIntN(32)));
  });
}

static std::optional<Operation> findExtreme(Name name, bool largest) {
  return findBinary(name, [largest](const Integers &integers) {
    bool less = integers.type.isSigned()
                    ? integers[0] < integers[1]
                    : integers.natural(0) < integers.natural(1);
    return integers.natural(less != largest ? 0 : 1);
  });
}

/// abs, neg.type
static std::optional<Operation> findSign(Name name, bool negates) {
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || !type->isSigned() || !name.done())
    return std::nullopt;
  return makePure(1, [=, type = *type](const Frame &frame) {
    Integers integers{frame, type};
    return negates || integers[0] < 0 ? -integers.natural(0)
                                      : integers.natural(0);
  });
}

/// sad.type d, a, b, c: c + |a - b|
static std::optional<Operation> findDifference(Name name) {
  std::optional<Type> type = name.takeType();
  if (!type || !type->isInteger() || !name.done())
    return std::nullopt;
  return makePure(3, [type = *type](const Frame &frame) {
    Integers integers{frame, type};
    bool less = type.isSigned() ? integers[0] < integers[1]
                                : integers.natural(0) < integers.natural(1);
    uint64_t difference = integers.natural(1) - integers.natural(0);
    return frame.sources[2] + (less ? difference : -difference);
  });
}

std::optional<Operation> gatefold::emulator::ptx::findInteger(Name name,
                                                              const Syntax &) {
  if (name.take("add"))
    return findSum(name, false);
  if (name.take("sub"))
    return findSum(name, true);
  if (name.take("mul"))
    return findProduct(name, false);
  if (name.take("mad"))
    return findProduct(name, true);
  if (name.take("mul24"))
    return findProduct24(name, false);
  if (name.take("mad24"))
    return findProduct24(name, true);
  if (name.take("div"))
    return findDivision(name, false);
  if (name.take("rem"))
    return findDivision(name, true);
  if (name.take("min"))
    return findExtreme(name, false);
  if (name.take("max"))
    return findExtreme(name, true);
  if (name.take("abs"))
    return findSign(name, false);
  if (name.take("neg"))
    return findSign(name, true);
  if (name.take("sad"))
    return findDifference(name);
  if (name.take("dp4a"))
    return findDot(name, true);
  if (name.take("dp2a"))
    return findDot(name, false);
  return std::nullopt;
}
