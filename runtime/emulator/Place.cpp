// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Place.cpp - Where an instruction stands in the program's text ------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;
using namespace gatefold::emulator;

Place gatefold::emulator::placeOf(const llvm::Instruction &instruction,
                                  StringRef what) {
  Place place;
  place.instruction = what.str();
  for (const DILocation *at = instruction.getDebugLoc(); at;
       at = at->getInlinedAt()) {
    Place::Frame frame;
    frame.file = at->getFilename().str();
    frame.function = at->getScope()->getSubprogram()->getName().str();
    frame.line = at->getLine();
    frame.column = at->getColumn();
    place.frames.push_back(std::move(frame));
  }
  // Without debug information the function is all that can be said.
  if (place.frames.empty()) {
    Place::Frame frame;
    frame.function = instruction.getFunction()->getName().str();
    place.frames.push_back(std::move(frame));
  }
  return place;
}

Scope gatefold::emulator::scopeOf(StringRef syncScope) {
  if (syncScope == "singlethread")
    return Scope::Thread;
  if (syncScope == "block")
    return Scope::Block;
  if (syncScope == "cluster")
    return Scope::Cluster;
  if (syncScope == "device")
    return Scope::Device;
  return Scope::System;
}

Ordering gatefold::emulator::orderingOf(AtomicOrdering ordering) {
  switch (ordering) {
  case AtomicOrdering::Acquire:
    return Ordering::Acquire;
  case AtomicOrdering::Release:
    return Ordering::Release;
  case AtomicOrdering::AcquireRelease:
  case AtomicOrdering::SequentiallyConsistent:
    return Ordering::AcquireRelease;
  default:
    return Ordering::Relaxed;
  }
}
