// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Operation.cpp - The operation of an opcode -------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

std::optional<Operation>
gatefold::emulator::ptx::findOperation(StringRef opcode, const Syntax &syntax) {
  if (opcode.empty() || opcode.back() == '.' ||
      syntax.registers() > maximumSources + maximumResults)
    return std::nullopt;
  Family *families[] = {findFloat,      findApproximation, findComparison,
                        findConversion, findInteger,       findBits,
                        findMove,       findAddress,       findLoadStore,
                        findAtomic,     findFence,         findBlockBarrier,
                        findControl,    findCopy,          findBarrierObject,
                        findWarp,       findMatrixMove,    findMatrixMultiply};
  for (Family *family : families) {
    std::optional<Operation> operation = family(Name(opcode), syntax);
    if (operation &&
        operation->results + operation->sources == syntax.registers() &&
        operation->results <= maximumResults &&
        operation->sources <= maximumSources)
      return operation;
  }
  return std::nullopt;
}

Space gatefold::emulator::ptx::takeSpace(Name &name) {
  if (name.takeOneOf({"shared", "shared::cta", "shared::cluster"}))
    return Space::Shared;
  if (name.take("global"))
    return Space::Global;
  if (name.take("local"))
    return Space::Local;
  // Constant memory is part of global memory here.
  name.take("const");
  return Space::Generic;
}

bool gatefold::emulator::ptx::checkSpace(Machine &machine, Thread &thread,
                                         uint64_t address, Space space) {
  const char *named = nullptr;
  if (space == Space::Shared && !machine.isShared(thread, address))
    named = "shared";
  else if (space == Space::Local && !machine.isLocal(thread, address))
    named = "local";
  else if (space == Space::Global && (machine.isShared(thread, address) ||
                                      machine.isLocal(thread, address)))
    named = "global";
  if (!named)
    return true;
  machine.report(thread, FindingKind::OutOfBounds,
                 Twine("address 0x") + Twine::utohexstr(address) +
                     " is not in " + named +
                     " memory, where the "
                     "instruction looks for it");
  return false;
}
