// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Atomic.cpp - Atomic operations and fences --------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions": atom,
// red, membar, fence.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

/// What memory holds afterwards, from before and the operands.
using Update = std::function<uint64_t(uint64_t before, uint64_t b, uint64_t c)>;

static Update findIntegerUpdate(StringRef which, const Type &type) {
  unsigned bits = type.bits;
  if (which == "add")
    return [](uint64_t before, uint64_t b, uint64_t) { return before + b; };
  if ((which == "min" || which == "max") && type.isSigned())
    return [bits, largest = which == "max"](uint64_t before, uint64_t b,
                                            uint64_t) {
      bool less = extend(b, bits, true) < extend(before, bits, true);
      return less != largest ? b : before;
    };
  if (which == "min" || which == "max")
    return [bits, largest = which == "max"](uint64_t before, uint64_t b,
                                            uint64_t) {
      bool less = uint64_t(extend(b, bits, false)) < before;
      return less != largest ? b : before;
    };
  if (type.isSigned() || bits != 32)
    return nullptr;
  if (which == "inc")
    return [](uint64_t before, uint64_t b, uint64_t) {
      return before >= uint32_t(b) ? 0 : before + 1;
    };
  if (which == "dec")
    return [](uint64_t before, uint64_t b, uint64_t) {
      return before == 0 || before > uint32_t(b) ? uint32_t(b) : before - 1;
    };
  return nullptr;
}

static Update findBitsUpdate(StringRef which, const Type &type) {
  if (which == "cas")
    return [bits = type.bits](uint64_t before, uint64_t b, uint64_t c) {
      return before == uint64_t(extend(b, bits, false)) ? c : before;
    };
  if (which == "exch")
    return [](uint64_t, uint64_t b, uint64_t) { return b; };
  if (type.bits < 32)
    return nullptr;
  if (which == "and")
    return [](uint64_t before, uint64_t b, uint64_t) { return before & b; };
  if (which == "or")
    return [](uint64_t before, uint64_t b, uint64_t) { return before | b; };
  if (which == "xor")
    return [](uint64_t before, uint64_t b, uint64_t) { return before ^ b; };
  return nullptr;
}

/// add of floating-point numbers. In f32 a global one flushes and a shared one
/// does not; those of 16 bits are `.noftz`.
static Update findFloatUpdate(StringRef which, const Type &type, Space space) {
  if (which != "add" || type.bits < 16)
    return nullptr;
  if (type.is(f64))
    return [](uint64_t before, uint64_t b, uint64_t) {
      return bitCast<uint64_t>(bitCast<double>(before) + bitCast<double>(b));
    };
  const Format *format = type.format;
  bool ftz = type.is(f32) && space == Space::Global;
  return [=, bits = type.bits, elements = type.elements](uint64_t before,
                                                         uint64_t b, uint64_t) {
    uint64_t result = 0, mask = (uint64_t(1) << bits) - 1;
    for (unsigned shift = 0; shift < bits * elements; shift += bits) {
      double x = decode(before >> shift & mask, *format);
      double y = decode(b >> shift & mask, *format);
      if (ftz) {
        x = flush(float(x));
        y = flush(float(y));
      }
      uint64_t sum = encode(x + y, *format);
      if (ftz)
        sum = bitCast<uint32_t>(flush(bitCast<float>(uint32_t(sum))));
      result |= sum << shift;
    }
    return result;
  };
}

/// atom, red{.sem}{.scope}{.space}.op{.noftz}.type {d,} [a], b{, c}
static std::optional<Operation> findUpdate(Name name, bool returns) {
  Ordering ordering = Ordering::Relaxed;
  if (returns && name.take("acquire"))
    ordering = Ordering::Acquire;
  else if (name.take("release"))
    ordering = Ordering::Release;
  else if (name.take("acq_rel"))
    ordering = Ordering::AcquireRelease;
  else
    name.take("relaxed");
  Scope scope = name.takeScope().value_or(Scope::Device);
  Space space = takeSpace(name);
  std::optional<StringRef> which = name.takeOneOf(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  bool keepsSmall = name.take("noftz");
  std::optional<Type> type = name.takeType();
  if (!which || !type || !name.done() || type->registerBits() < 16)
    return std::nullopt;
  if (!returns && (*which == "exch" || *which == "cas"))
    return std::nullopt;
  if (keepsSmall != (type->isFloat() && type->bits == 16))
    return std::nullopt;
  Update update =
      type->isFloat() ? findFloatUpdate(*which, *type, space)
      : type->isInteger() && type->bits >= 32 ? findIntegerUpdate(*which, *type)
      : type->kind == Type::Kind::Bits        ? findBitsUpdate(*which, *type)
                                              : nullptr;
  if (!update)
    return std::nullopt;
  unsigned bytes = type->registerBits() / 8;
  bool compares = *which == "cas";
  return makeEffect(
      returns, compares ? 3 : 2, [=](Machine &machine, Frame &frame) {
        uint64_t address = frame.sources[0];
        if (!checkSpace(machine, *frame.thread, address, space))
          return false;
        void *memory = machine.accessAtomic(*frame.thread, address, bytes, true,
                                            true, ordering, scope);
        if (!memory)
          return false;
        uint64_t before = 0;
        memcpy(&before, memory, bytes);
        uint64_t after =
            update(before, frame.sources[1], compares ? frame.sources[2] : 0);
        memcpy(memory, &after, bytes);
        frame.results[0] = before;
        return true;
      });
}

static Operation makeFence(Ordering ordering, Scope scope) {
  return makeEffect(0, 0, [=](Machine &machine, Frame &frame) {
    machine.fence(*frame.thread, ordering, scope);
    return true;
  });
}

std::optional<Operation> gatefold::emulator::ptx::findAtomic(Name name,
                                                             const Syntax &) {
  if (name.take("atom"))
    return findUpdate(name, true);
  if (name.take("red"))
    return findUpdate(name, false);
  return std::nullopt;
}

std::optional<Operation> gatefold::emulator::ptx::findFence(Name name,
                                                            const Syntax &) {
  if (name.take("membar")) {
    std::optional<StringRef> level = name.takeOneOf({"cta", "gl", "sys"});
    if (!level || !name.done())
      return std::nullopt;
    return makeFence(Ordering::AcquireRelease, *level == "cta" ? Scope::Block
                                               : *level == "gl"
                                                   ? Scope::Device
                                                   : Scope::System);
  }
  if (!name.take("fence"))
    return std::nullopt;
  if (name.take("proxy")) {
    // Every access that is known here is of the generic proxy.
    if (name.take("async"))
      name.takeOneOf({"global", "shared::cta", "shared::cluster"});
    else if (!name.take("alias"))
      return std::nullopt;
    return name.done() ? std::optional(makeNothing(0)) : std::nullopt;
  }
  if (name.take("mbarrier_init"))
    return name.take("release") && name.take("cluster") && name.done()
               ? std::optional(makeFence(Ordering::Release, Scope::Cluster))
               : std::nullopt;
  Ordering ordering = Ordering::AcquireRelease;
  if (name.take("acquire"))
    ordering = Ordering::Acquire;
  else if (name.take("release"))
    ordering = Ordering::Release;
  else if (!name.take("sc") && !name.take("acq_rel"))
    return std::nullopt;
  std::optional<Scope> scope = name.takeScope();
  if (!scope || !name.done())
    return std::nullopt;
  return makeFence(ordering, *scope);
}
