// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Barrier.cpp - Barriers of a block, and what ends a thread ----------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions": bar,
// barrier, barrier.cluster, griddepcontrol; "Control Flow Instructions" and
// "Miscellaneous Instructions": exit, trap, nanosleep.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

static Operation makeWaiting(unsigned results, unsigned sources,
                             std::function<bool(Machine &, Frame &)> execute) {
  Operation operation = makeEffect(results, sources, std::move(execute));
  operation.waits = true;
  return operation;
}

/// The threads of a cluster of one block meet where they wait; what they do
/// between arriving and waiting is ordered, too, unlike on a GPU.
static std::optional<Operation> findClusterBarrier(Name name) {
  bool arrives = name.take("arrive");
  if (!arrives && !name.take("wait"))
    return std::nullopt;
  if (arrives)
    name.takeOneOf({"release", "relaxed"});
  else
    name.take("acquire");
  bool aligned = name.take("aligned");
  if (!name.done())
    return std::nullopt;
  if (arrives)
    return makeNothing(0);
  return makeWaiting(0, 0, [aligned](Machine &machine, Frame &frame) {
    return machine.blockBarrier(*frame.thread, clusterBarrier, 0, aligned);
  });
}

/// red{.popc,.and,.or}{.aligned}{.u32,.pred} d, a{, b}, c
static std::optional<Operation> findReduction(Name name, bool counted) {
  std::optional<StringRef> which = name.takeOneOf({"popc", "and", "or"});
  if (!which)
    return std::nullopt;
  name.take("aligned");
  if (!name.take(*which == "popc" ? "u32" : "pred") || !name.done())
    return std::nullopt;
  auto reduction = *which == "popc"  ? Machine::Reduction::Count
                   : *which == "and" ? Machine::Reduction::And
                                     : Machine::Reduction::Or;
  return makeWaiting(1, counted ? 3 : 2, [=](Machine &machine, Frame &frame) {
    std::optional<uint32_t> result = machine.blockReduce(
        *frame.thread, frame.word(0), counted ? frame.word(1) : 0,
        frame.predicate(counted ? 2 : 1), reduction);
    frame.results[0] = result.value_or(0);
    return result.has_value();
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findBlockBarrier(Name name, const Syntax &syntax) {
  // `bar` is a `barrier` that all threads of a warp come to together.
  bool aligned = name.take("bar");
  if (!aligned && !name.take("barrier"))
    return std::nullopt;
  if (!aligned && name.take("cluster"))
    return findClusterBarrier(name);
  name.take("cta");
  if (name.take("red"))
    return findReduction(name, syntax.operands() == 4);
  bool arrives = name.take("arrive");
  if (!arrives && !name.take("sync"))
    return std::nullopt;
  aligned |= name.take("aligned");
  bool counted = syntax.operands() == 2;
  if (!name.done() || (arrives && !counted))
    return std::nullopt;
  if (arrives)
    return makeEffect(0, 2, [aligned](Machine &machine, Frame &frame) {
      return machine.blockArrive(*frame.thread, frame.word(0), frame.word(1),
                                 aligned);
    });
  return makeWaiting(0, counted ? 2 : 1, [=](Machine &machine, Frame &frame) {
    return machine.blockBarrier(*frame.thread, frame.word(0),
                                counted ? frame.word(1) : 0, aligned);
  });
}

std::optional<Operation> gatefold::emulator::ptx::findControl(Name name,
                                                              const Syntax &) {
  if (name.take("nanosleep")) {
    if (!name.take("u32") || !name.done())
      return std::nullopt;
    return makeWaiting(0, 1, [](Machine &machine, Frame &frame) {
      machine.pause(*frame.thread);
      return true;
    });
  }
  if (name.take("griddepcontrol")) {
    // Grids run one after the other.
    if (!name.takeOneOf({"launch_dependents", "wait"}) || !name.done())
      return std::nullopt;
    return makeNothing(0);
  }
  bool traps = name.take("trap");
  if ((!traps && !name.take("exit")) || !name.done())
    return std::nullopt;
  return makeWaiting(0, 0, [traps](Machine &machine, Frame &frame) {
    if (traps)
      machine.report(*frame.thread, FindingKind::Trap, "the kernel traps");
    machine.exit(*frame.thread);
    return false;
  });
}
