// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Hooks.cpp - What a program's code calls ----------------------------===//

#include "runtime/emulator/Hooks.h"
#include "runtime/emulator/Launch.h"
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

static Strand &current() { return *static_cast<Strand *>(Stacks::owner()); }

void hooks::access(uint64_t address, uint32_t site) {
  Strand &strand = current();
  strand.launch->accessSite(strand, address, site);
}

void hooks::atomic(uint64_t address, uint32_t site) {
  Strand &strand = current();
  strand.launch->atomicSite(strand, address, site);
}

void hooks::updated(bool changed) {
  if (changed)
    current().launch->noteChange();
}

void hooks::fence(uint32_t site) {
  Strand &strand = current();
  const Site &order = strand.launch->siteOf(site);
  strand.site = site;
  strand.launch->fence(strand, order.ordering, order.scope);
}

void hooks::fill(uint64_t target, uint8_t value, uint64_t bytes,
                 uint32_t site) {
  Strand &strand = current();
  strand.launch->fill(strand, target, value, bytes, site);
}

void hooks::copy(uint64_t target, uint64_t source, uint64_t bytes,
                 uint32_t targetSite, uint32_t sourceSite) {
  Strand &strand = current();
  strand.launch->copy(strand, target, source, bytes, targetSite, sourceSite);
}

uint64_t hooks::mark() { return current().localUsed; }

uint64_t hooks::allocate(uint64_t bytes, uint64_t alignment, uint32_t site) {
  Strand &strand = current();
  return strand.launch->allocateLocal(strand, bytes, alignment, site);
}

void hooks::leave(uint64_t mark) {
  Strand &strand = current();
  strand.launch->leaveLocal(strand, mark);
}

void hooks::parameter(uint64_t target, const void *source, uint64_t bytes) {
  memcpy(reinterpret_cast<void *>(target), source, bytes);
  current().launch->initialiseLocal(target, bytes);
}

void hooks::step(uint32_t site) {
  Strand &strand = current();
  strand.launch->step(strand, site);
}

void hooks::enter(uint32_t site) {
  if (Stacks::left() >= Stacks::reserved)
    return;
  Strand &strand = current();
  strand.launch->fail(strand, site, FindingKind::Limit,
                      "functions call each other too deeply",
                      "does this recursion end?");
}

void hooks::divisor(bool zero, uint32_t site) {
  if (!zero)
    return;
  Strand &strand = current();
  strand.launch->fail(strand, site, FindingKind::Trap,
                      "an integer is divided by 0",
                      "a GPU goes on with a number that means nothing");
}

void hooks::call(uint64_t function, uint32_t type, uint32_t site) {
  Strand &strand = current();
  const auto &functions = strand.launch->codeOf().functions;
  auto found = functions.find(function);
  if (found == functions.end() || found->second != type)
    strand.launch->fail(strand, site, FindingKind::OutOfBounds,
                        "a call through a pointer that is to no function of "
                        "its type");
}

void hooks::trap(uint32_t site) {
  Strand &strand = current();
  bool isEnd = strand.launch->siteOf(site).place.instruction == "unreachable";
  strand.launch->fail(strand, site, FindingKind::Trap,
                      isEnd ? "the kernel comes to what was promised to be "
                              "unreachable"
                            : "the kernel traps");
}

uint64_t hooks::shared() { return current().block->sharedBegin; }

void hooks::execute(uint32_t instruction, uint32_t site,
                    const void *const *operands, void *result) {
  Strand &strand = current();
  strand.launch->execute(strand, instruction, site, operands, result);
}

void hooks::unknown(uint32_t number, uint32_t site) {
  Strand &strand = current();
  strand.launch->fail(strand, site, FindingKind::UnknownInstruction,
                      "`" + Twine(strand.launch->codeOf().unknown[number]) +
                          "` is not known to the emulator");
}
