// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Hooks.h - What a program's code calls --------------------*- C++ -*-===//
//
// See Retarget.h for where each is called. They run on the stack of a thread of
// the kernel, which is how they know whose they are.
//
//===----------------------------------------------------------------------===//

#ifndef RUNTIME_EMULATOR_HOOKS_H
#define RUNTIME_EMULATOR_HOOKS_H

#include <cstdint>

namespace gatefold::emulator::hooks {

void access(uint64_t address, uint32_t site);
void atomic(uint64_t address, uint32_t site);
void updated(bool changed);
void fence(uint32_t site);
void fill(uint64_t target, uint8_t value, uint64_t bytes, uint32_t site);
void copy(uint64_t target, uint64_t source, uint64_t bytes, uint32_t targetSite,
          uint32_t sourceSite);
uint64_t mark();
uint64_t allocate(uint64_t bytes, uint64_t alignment, uint32_t site);
void leave(uint64_t mark);
void parameter(uint64_t target, const void *source, uint64_t bytes);
void step(uint32_t site);
void enter(uint32_t site);
void divisor(bool zero, uint32_t site);
void call(uint64_t function, uint32_t type, uint32_t site);
void trap(uint32_t site);
uint64_t shared();
void execute(uint32_t instruction, uint32_t site, const void *const *operands,
             void *result);
void unknown(uint32_t number, uint32_t site);

} // namespace gatefold::emulator::hooks

#endif // RUNTIME_EMULATOR_HOOKS_H
