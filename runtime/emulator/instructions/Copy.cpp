// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Copy.cpp - Asynchronous copies and barrier objects -----------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy"
// (cp.async, not cp.async.bulk) and "Parallel Synchronization and Communication
// Instructions: mbarrier".
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

//===- cp.async ----------------------------------------------------------===//

/// cp.async.{ca,cg}.shared.global{.hints} [to], [from], bytes
///     {, bytes of the source | whether to ignore it}{, cache policy}
static std::optional<Operation> findCopyOne(Name name, const Syntax &syntax) {
  bool throughL2 = name.take("cg");
  if (!throughL2 && !name.take("ca"))
    return std::nullopt;
  if (!name.takeOneOf({"shared", "shared::cta"}) || !name.take("global"))
    return std::nullopt;
  bool policy = name.take("L2::cache_hint");
  name.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  unsigned sources = syntax.operands(), fixed = 3 + policy;
  if (!name.done() || sources < fixed || sources > fixed + 1)
    return std::nullopt;
  bool limited = sources == fixed + 1;
  bool ignores = limited && syntax.predicates[3];
  return makeEffect(0, sources, [=](Machine &machine, Frame &frame) {
    Thread &thread = *frame.thread;
    unsigned bytes = frame.word(2);
    bool sized = bytes == 16 || (!throughL2 && (bytes == 4 || bytes == 8));
    if (!sized) {
      machine.report(thread, FindingKind::UnknownInstruction,
                     Twine("cp.async of ") + Twine(bytes) + " bytes");
      return false;
    }
    unsigned sourceBytes = !limited  ? bytes
                           : ignores ? (frame.predicate(3) ? 0 : bytes)
                                     : frame.word(3);
    if (sourceBytes > bytes) {
      machine.report(thread, FindingKind::OutOfBounds,
                     Twine("cp.async of ") + Twine(bytes) + " bytes takes " +
                         Twine(sourceBytes) + " of its source");
      return false;
    }
    return checkSpace(machine, thread, frame.sources[0], Space::Shared) &&
           (sourceBytes == 0 ||
            checkSpace(machine, thread, frame.sources[1], Space::Global)) &&
           machine.copyAsync(thread, frame.sources[0], frame.sources[1], bytes,
                             sourceBytes);
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findCopy(Name name, const Syntax &syntax) {
  if (!name.take("cp") || !name.take("async"))
    return std::nullopt;
  if (name.take("commit_group")) {
    if (!name.done())
      return std::nullopt;
    return makeEffect(0, 0, [](Machine &machine, Frame &frame) {
      machine.commitCopies(*frame.thread);
      return true;
    });
  }
  if (name.take("wait_group") || name.take("wait_all")) {
    if (!name.done() || syntax.operands() > 1)
      return std::nullopt;
    bool all = syntax.operands() == 0;
    return makeEffect(0, all ? 0 : 1, [all](Machine &machine, Frame &frame) {
      return all ? machine.waitAllCopies(*frame.thread)
                 : machine.waitCopies(*frame.thread, frame.word(0));
    });
  }
  if (name.take("mbarrier")) {
    if (!name.take("arrive"))
      return std::nullopt;
    bool noIncrement = name.take("noinc");
    Space space = takeSpace(name);
    if (!name.take("b64") || !name.done())
      return std::nullopt;
    return makeEffect(0, 1, [=](Machine &machine, Frame &frame) {
      return checkSpace(machine, *frame.thread, frame.sources[0], space) &&
             machine.arriveAfterCopies(*frame.thread, frame.sources[0],
                                       noIncrement);
    });
  }
  return findCopyOne(name, syntax);
}

//===- mbarrier ----------------------------------------------------------===//

/// `{.space}.b64` and nothing else.
static std::optional<Space> takeObject(Name &name) {
  Space space = takeSpace(name);
  if ((space != Space::Generic && space != Space::Shared) ||
      !name.take("b64") || !name.done())
    return std::nullopt;
  return space;
}

/// arrive, arrive_drop{.noComplete,.expect_tx}{.release}{.scope}{.space}.b64
///     state, [a]{, count or bytes}
static std::optional<Operation> findArrive(Name name, bool drops,
                                           const Syntax &syntax) {
  bool expects = name.take("expect_tx");
  bool incomplete = !expects && name.take("noComplete");
  // A relaxed one orders nothing, which the machine does not distinguish.
  name.take("release");
  name.takeScope();
  std::optional<Space> space = takeObject(name);
  unsigned sources = syntax.operands() - 1;
  if (!space || sources < 1 || sources > 2 ||
      ((expects || incomplete) && sources != 2))
    return std::nullopt;
  return makeEffect(
      1, sources, [=, space = *space](Machine &machine, Frame &frame) {
        if (!checkSpace(machine, *frame.thread, frame.sources[0], space))
          return false;
        uint32_t number = sources == 2 ? frame.word(1) : 1;
        std::optional<uint64_t> state = machine.mbarrierArrive(
            *frame.thread, frame.sources[0], expects ? 1 : number,
            expects ? number : 0, drops);
        frame.results[0] = state.value_or(0);
        return state.has_value();
      });
}

/// test_wait, try_wait{.parity}{.acquire}{.scope}{.space}.b64
///     p, [a], state or parity{, time}
static std::optional<Operation> findTest(Name name, bool waits,
                                         const Syntax &syntax) {
  bool parity = name.take("parity");
  name.take("acquire");
  name.takeScope();
  std::optional<Space> space = takeObject(name);
  bool timed = waits && syntax.operands() == 4;
  if (!space)
    return std::nullopt;
  Operation operation = makeEffect(
      1, timed ? 3 : 2, [=, space = *space](Machine &machine, Frame &frame) {
        Thread &thread = *frame.thread;
        uint64_t address = frame.sources[0];
        if (!checkSpace(machine, thread, address, space))
          return false;
        std::optional<bool> complete =
            parity ? machine.mbarrierTestParity(thread, address, frame.word(1),
                                                waits)
                   : machine.mbarrierTest(thread, address, frame.sources[1],
                                          waits);
        frame.results[0] = complete.value_or(false);
        return complete.has_value();
      });
  operation.waits = true;
  return operation;
}

std::optional<Operation>
gatefold::emulator::ptx::findBarrierObject(Name name, const Syntax &syntax) {
  if (!name.take("mbarrier") || syntax.operands() == 0)
    return std::nullopt;
  if (name.take("init")) {
    std::optional<Space> space = takeObject(name);
    if (!space)
      return std::nullopt;
    return makeEffect(0, 2, [space = *space](Machine &machine, Frame &frame) {
      return checkSpace(machine, *frame.thread, frame.sources[0], space) &&
             machine.mbarrierInit(*frame.thread, frame.sources[0],
                                  frame.word(1));
    });
  }
  if (name.take("inval")) {
    std::optional<Space> space = takeObject(name);
    if (!space)
      return std::nullopt;
    return makeEffect(0, 1, [space = *space](Machine &machine, Frame &frame) {
      return checkSpace(machine, *frame.thread, frame.sources[0], space) &&
             machine.mbarrierInvalidate(*frame.thread, frame.sources[0]);
    });
  }
  if (name.take("expect_tx")) {
    name.take("relaxed");
    name.takeScope();
    std::optional<Space> space = takeObject(name);
    if (!space)
      return std::nullopt;
    return makeEffect(0, 2, [space = *space](Machine &machine, Frame &frame) {
      return checkSpace(machine, *frame.thread, frame.sources[0], space) &&
             machine.mbarrierExpect(*frame.thread, frame.sources[0],
                                    frame.word(1));
    });
  }
  if (name.take("arrive"))
    return findArrive(name, false, syntax);
  if (name.take("arrive_drop"))
    return findArrive(name, true, syntax);
  if (name.take("test_wait"))
    return findTest(name, false, syntax);
  if (name.take("try_wait"))
    return findTest(name, true, syntax);
  return std::nullopt;
}
