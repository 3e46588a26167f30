// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Comparison.cpp - Comparisons and selections ------------------------===//
//
// PTX ISA, "Comparison and Selection Instructions": setp, selp, slct.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

/// Which of the four outcomes of a comparison are true.
enum : unsigned { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

} // namespace

static std::optional<unsigned> takeOutcomes(Name &name) {
  static const struct {
    const char *name;
    unsigned outcomes;
  } comparisons[] = {
      {"eq", Equal},
      {"ne", Less | Greater},
      {"lt", Less},
      {"le", Less | Equal},
      {"gt", Greater},
      {"ge", Greater | Equal},
      {"lo", Less},
      {"ls", Less | Equal},
      {"hi", Greater},
      {"hs", Greater | Equal},
      {"equ", Equal | Unordered},
      {"neu", Less | Greater | Unordered},
      {"ltu", Less | Unordered},
      {"leu", Less | Equal | Unordered},
      {"gtu", Greater | Unordered},
      {"geu", Greater | Equal | Unordered},
      {"num", Less | Equal | Greater},
      {"nan", Unordered},
  };
  for (const auto &comparison : comparisons)
    if (name.take(comparison.name))
      return comparison.outcomes;
  return std::nullopt;
}

template <typename Value> static unsigned outcome(Value a, Value b) {
  return a < b ? Less : a == b ? Equal : a > b ? Greater : Unordered;
}

static unsigned compare(const Frame &frame, const Type &type, bool ftz) {
  if (type.isFloat()) {
    uint64_t mask =
        type.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << type.bits) - 1;
    double a = decode(frame.sources[0] & mask, *type.format);
    double b = decode(frame.sources[1] & mask, *type.format);
    if (ftz) {
      double smallest = std::ldexp(1.0, 1 - int(type.format->bias()));
      a = std::fabs(a) < smallest ? 0 : a;
      b = std::fabs(b) < smallest ? 0 : b;
    }
    return outcome(a, b);
  }
  int64_t a = extend(frame.sources[0], type.bits, type.isSigned());
  int64_t b = extend(frame.sources[1], type.bits, type.isSigned());
  return type.isSigned() ? outcome(a, b) : outcome(uint64_t(a), uint64_t(b));
}

/// setp.compare{.and,.or,.xor}{.ftz}.type p{|q}, a, b{, {!}c}
static std::optional<Operation> findSetPredicate(Name name,
                                                 const Syntax &syntax) {
  std::optional<unsigned> outcomes = takeOutcomes(name);
  std::optional<StringRef> joined = name.takeOneOf({"and", "or", "xor"});
  bool ftz = name.take("ftz");
  std::optional<Type> type = name.takeType();
  if (!outcomes || !type || !name.done() || type->elements != 1 ||
      type->bits < 16 || type->format == &tf32 || (ftz && type->bits == 64))
    return std::nullopt;
  // Bits are equal or not; only floating-point numbers may have no order.
  bool ordersBits = type->kind == Type::Kind::Bits && *outcomes != Equal &&
                    *outcomes != (Less | Greater);
  if (ordersBits || (!type->isFloat() && (*outcomes & Unordered)))
    return std::nullopt;
  char join = joined ? joined->front() : 0;
  Operation operation;
  operation.results = syntax.pair ? 2 : 1;
  operation.sources = join ? 3 : 2;
  operation.execute = [=, outcomes = *outcomes, type = *type,
                       pair = syntax.pair](Machine &, Frame &frame) {
    bool holds = compare(frame, type, ftz) & outcomes;
    auto combine = [&](bool value) {
      bool other = join && frame.predicate(2);
      return join == 'a'   ? value && other
             : join == 'o' ? value || other
             : join == 'x' ? value != other
                           : value;
    };
    frame.results[0] = combine(holds);
    if (pair)
      frame.results[1] = combine(!holds);
    return true;
  };
  return operation;
}

std::optional<Operation>
gatefold::emulator::ptx::findComparison(Name name, const Syntax &syntax) {
  if (name.take("setp"))
    return findSetPredicate(name, syntax);
  if (name.take("selp")) {
    std::optional<Type> type = name.takeType();
    if (!type || type->bits < 16 || type->elements != 1 || !name.done())
      return std::nullopt;
    return makePure(3, [](const Frame &frame) {
      return frame.predicate(2) ? frame.sources[0] : frame.sources[1];
    });
  }
  if (name.take("slct")) {
    bool ftz = name.take("ftz");
    std::optional<Type> type = name.takeType(), of = name.takeType();
    if (!type || !of || type->bits < 16 || !name.done())
      return std::nullopt;
    if (of->is(f32))
      return makePure(3, [ftz](const Frame &frame) {
        float c = ftz ? flush(frame.real(2)) : frame.real(2);
        return c >= 0 ? frame.sources[0] : frame.sources[1];
      });
    if (of->isSigned() && of->bits == 32 && !ftz)
      return makePure(3, [](const Frame &frame) {
        return int32_t(frame.word(2)) >= 0 ? frame.sources[0]
                                           : frame.sources[1];
      });
  }
  return std::nullopt;
}
