// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Memory.cpp - Loads and stores --------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions": ld, ld.global.nc, ldu,
// st. Hints on caches are read and have no effect.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

namespace {

struct Transfer {
  Space space = Space::Generic;
  Type type;
  unsigned elements = 1;
  /// Others may access the same memory at the same time.
  bool atomic = false;
  Ordering ordering = Ordering::Relaxed;
  Scope scope = Scope::System;

  unsigned bytes() const { return type.registerBits() / 8; }
};

} // namespace

/// `.level::hint`s; whether one of them needs a further operand.
static bool takeHints(Name &name) {
  name.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  name.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                  "L1::evict_last", "L1::no_allocate"});
  bool policy = name.take("L2::cache_hint");
  name.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  return policy;
}

/// The rest of the name after `ld` or `st`; none if it is not known. `policy`:
/// a cache policy follows as the last operand.
static std::optional<Transfer> takeTransfer(Name &name, bool load,
                                            bool &policy) {
  Transfer transfer;
  if (name.take("volatile") || name.take("relaxed")) {
    transfer.atomic = true;
  } else if (name.take(load ? "acquire" : "release")) {
    transfer.atomic = true;
    transfer.ordering = load ? Ordering::Acquire : Ordering::Release;
  } else {
    name.take("weak");
  }
  if (transfer.atomic)
    transfer.scope = name.takeScope().value_or(Scope::System);
  transfer.space = takeSpace(name);
  if (load)
    name.take("nc");
  policy = takeHints(name);
  if (std::optional<StringRef> vector = name.takeOneOf({"v2", "v4", "v8"}))
    transfer.elements = vector->back() - '0';
  std::optional<Type> type = name.takeType();
  if (!type || !name.done() || type->bits < 8 || type->format == &tf32 ||
      (type->isFloat() && type->bits < 16))
    return std::nullopt;
  transfer.type = *type;
  return transfer;
}

/// The elements of a vector one by one where they are atomic: PTX promises no
/// more.
static bool load(Machine &machine, Frame &frame, const Transfer &transfer) {
  unsigned bytes = transfer.bytes();
  uint64_t address = frame.sources[0];
  Thread &thread = *frame.thread;
  if (!checkSpace(machine, thread, address, transfer.space))
    return false;
  const char *memory = nullptr;
  if (!transfer.atomic) {
    unsigned all = bytes * transfer.elements;
    memory = static_cast<const char *>(
        machine.access(thread, address, all, all, AccessKind::Read));
    if (!memory)
      return false;
  }
  for (unsigned index = 0; index < transfer.elements; ++index) {
    const char *element = memory + index * bytes;
    if (transfer.atomic)
      element = static_cast<const char *>(
          machine.accessAtomic(thread, address + index * bytes, bytes, true,
                               false, transfer.ordering, transfer.scope));
    if (!element)
      return false;
    uint64_t word = 0;
    memcpy(&word, element, bytes);
    // To a wider register: its sign goes on.
    frame.results[index] =
        uint64_t(extend(word, bytes * 8, transfer.type.isSigned()));
  }
  return true;
}

static bool store(Machine &machine, Frame &frame, const Transfer &transfer) {
  unsigned bytes = transfer.bytes();
  uint64_t address = frame.sources[0];
  Thread &thread = *frame.thread;
  if (!checkSpace(machine, thread, address, transfer.space))
    return false;
  char *memory = nullptr;
  if (!transfer.atomic) {
    unsigned all = bytes * transfer.elements;
    memory = static_cast<char *>(
        machine.access(thread, address, all, all, AccessKind::Write));
    if (!memory)
      return false;
  }
  for (unsigned index = 0; index < transfer.elements; ++index) {
    char *element = memory + index * bytes;
    if (transfer.atomic)
      element = static_cast<char *>(
          machine.accessAtomic(thread, address + index * bytes, bytes, false,
                               true, transfer.ordering, transfer.scope));
    if (!element)
      return false;
    memcpy(element, &frame.sources[1 + index], bytes);
  }
  return true;
}

std::optional<Operation>
gatefold::emulator::ptx::findLoadStore(Name name, const Syntax &syntax) {
  bool uniform = name.take("ldu");
  bool loads = uniform || name.take("ld");
  if (!loads && !name.take("st"))
    return std::nullopt;
  bool policy = false;
  std::optional<Transfer> transfer = takeTransfer(name, loads, policy);
  if (!transfer || (uniform && transfer->atomic))
    return std::nullopt;
  // A vector in braces is one operand.
  unsigned value = loads ? 0 : 1;
  unsigned elements = transfer->elements;
  if (syntax.operands() <= value || (syntax.elements[value] != elements &&
                                     syntax.registers() != elements + 1))
    return std::nullopt;
  if (loads)
    return makeEffect(elements, 1 + policy,
                      [transfer = *transfer](Machine &machine, Frame &frame) {
                        return load(machine, frame, transfer);
                      });
  return makeEffect(0, 1 + elements + policy,
                    [transfer = *transfer](Machine &machine, Frame &frame) {
                      return store(machine, frame, transfer);
                    });
}
