// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Move.cpp - Registers to registers, and addresses -------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions": mov with packing and
// unpacking, cvta, isspacep, mapa, getctarank, createpolicy, prefetch,
// applypriority.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

std::optional<Operation>
gatefold::emulator::ptx::findMove(Name name, const Syntax &syntax) {
  if (!name.take("mov"))
    return std::nullopt;
  std::optional<Type> type = name.takeType();
  if (!type || !name.done() || syntax.operands() != 2)
    return std::nullopt;
  unsigned to = syntax.elements[0], from = syntax.elements[1];
  if (to == 1 && from == 1)
    return makePure(1, [](const Frame &frame) { return frame.sources[0]; });
  // mov.b64 d, {low, high} and mov.b64 {low, high}, a
  if (type->kind != Type::Kind::Bits || (to != 1 && from != 1) ||
      type->bits % (to * from) || type->bits / (to * from) < 8 || syntax.pair)
    return std::nullopt;
  unsigned width = type->bits / (to * from);
  uint64_t mask = (uint64_t(1) << width) - 1;
  if (to == 1)
    return makePure(from, [=](const Frame &frame) {
      uint64_t result = 0;
      for (unsigned index = 0; index < from; ++index)
        result |= (frame.sources[index] & mask) << (index * width);
      return result;
    });
  return makeEffect(to, 1, [=](Machine &, Frame &frame) {
    for (unsigned index = 0; index < to; ++index)
      frame.results[index] = frame.sources[0] >> (index * width) & mask;
    return true;
  });
}

/// isspacep.space p, a
static std::optional<Operation> findIsInSpace(Name name) {
  std::optional<StringRef> space = name.takeOneOf(
      {"shared", "shared::cta", "shared::cluster", "global", "local", "const"});
  if (!space || !name.done())
    return std::nullopt;
  bool shared = space->starts_with("shared"), local = *space == "local";
  bool global = *space == "global";
  return makeEffect(1, 1, [=](Machine &machine, Frame &frame) {
    uint64_t address = frame.sources[0];
    bool isShared = machine.isShared(*frame.thread, address);
    bool isLocal = machine.isLocal(*frame.thread, address);
    frame.results[0] = shared   ? isShared
                       : local  ? isLocal
                       : global ? !isShared && !isLocal
                                : false;
    return true;
  });
}

/// mapa{.space}.type d, a, rank: the cluster has the block of rank 0 only.
static std::optional<Operation> findMap(Name name) {
  name.take("shared::cluster");
  if (!name.takeOneOf({"u32", "u64"}) || !name.done())
    return std::nullopt;
  return makeEffect(1, 2, [](Machine &machine, Frame &frame) {
    if (frame.word(1) != 0)
      machine.report(*frame.thread, FindingKind::OutOfBounds,
                     Twine("a cluster of one block has none of rank ") +
                         Twine(frame.word(1)));
    frame.results[0] = frame.sources[0];
    return frame.word(1) == 0;
  });
}

/// Instructions on caches, without effect on what a program computes.
static std::optional<Operation> findCacheHint(Name name, const Syntax &syntax) {
  if (name.take("createpolicy")) {
    // No instruction looks into a policy.
    if (!name.take("fractional") ||
        !name.takeOneOf({"L2::evict_last", "L2::evict_normal",
                         "L2::evict_first", "L2::evict_unchanged"}))
      return std::nullopt;
    name.takeOneOf({"L2::evict_first", "L2::evict_unchanged"});
    if (!name.take("b64") || !name.done() || syntax.operands() > 2)
      return std::nullopt;
    return makePure(syntax.operands() - 1,
                    [](const Frame &) { return uint64_t(0); });
  }
  if (name.take("applypriority")) {
    name.take("global");
    if (!name.take("L2::evict_normal") || !name.done())
      return std::nullopt;
    return makeNothing(2);
  }
  if (name.take("prefetchu"))
    return name.take("L1") && name.done() ? std::optional(makeNothing(1))
                                          : std::nullopt;
  if (!name.take("prefetch"))
    return std::nullopt;
  name.takeOneOf({"global", "local"});
  if (!name.takeOneOf({"L1", "L2", "L2::evict_last", "L2::evict_normal"}) ||
      !name.done())
    return std::nullopt;
  return makeNothing(1);
}

std::optional<Operation>
gatefold::emulator::ptx::findAddress(Name name, const Syntax &syntax) {
  if (syntax.operands() == 0)
    return std::nullopt;
  if (name.take("cvta")) {
    // All spaces have the same addresses here.
    name.take("to");
    if (!name.takeOneOf({"shared", "shared::cta", "shared::cluster", "global",
                         "local", "const"}) ||
        !name.takeOneOf({"u32", "u64"}) || !name.done())
      return std::nullopt;
    return makePure(1, [](const Frame &frame) { return frame.sources[0]; });
  }
  if (name.take("isspacep"))
    return findIsInSpace(name);
  if (name.take("mapa"))
    return findMap(name);
  if (name.take("getctarank")) {
    name.take("shared::cluster");
    if (!name.takeOneOf({"u32", "u64"}) || !name.done())
      return std::nullopt;
    return makePure(1, [](const Frame &) { return uint64_t(0); });
  }
  return findCacheHint(name, syntax);
}
