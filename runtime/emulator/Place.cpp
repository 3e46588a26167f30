// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Place.cpp - Where an instruction stands in the program's text ------===//

#include "runtime/emulator/Retarget.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;
using namespace gatefold::emulator;

/// The place of an instruction. LLVM gives one that it has made of several the
/// line 0: then that of the nearest before it in its block, else behind it.
static const DILocation *findLocation(const llvm::Instruction &instruction) {
  const DILocation *own = instruction.getDebugLoc();
  if (!own || own->getLine() != 0)
    return own;
  auto isKnown = [](const llvm::Instruction &near) {
    const DILocation *at = near.getDebugLoc();
    return at && at->getLine() != 0;
  };
  const BasicBlock &block = *instruction.getParent();
  auto before = std::find_if(std::next(instruction.getReverseIterator()),
                             block.rend(), isKnown);
  if (before != block.rend())
    return before->getDebugLoc();
  auto behind =
      std::find_if(std::next(instruction.getIterator()), block.end(), isKnown);
  return behind != block.end() ? behind->getDebugLoc().get() : own;
}

Place gatefold::emulator::placeOf(const llvm::Instruction &instruction,
                                  StringRef what) {
  Place place;
  place.instruction = what.str();
  for (const DILocation *at = findLocation(instruction); at;
       at = at->getInlinedAt()) {
    // Of a function the text is known at least, and where it begins.
    const DISubprogram *function = at->getScope()->getSubprogram();
    Place::Frame frame;
    frame.file = at->getFilename().str();
    frame.function = function->getName().str();
    frame.line = at->getLine();
    frame.column = at->getColumn();
    if (frame.line == 0) {
      frame.file = function->getFilename().str();
      frame.line = function->getLine();
      frame.column = 1;
    }
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
