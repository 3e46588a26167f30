// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Fibre.cpp - Many stacks, one thread --------------------------------===//

#include "runtime/emulator/Fibre.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace gatefold::emulator;

#if defined(__APPLE__)
#define SYMBOL "_gatefoldSwitchStack"
#else
#define SYMBOL "gatefoldSwitchStack"
#endif

// What a call preserves is pushed, the stack pointer is stored at `from` and
// replaced by `to`, and what was pushed there is taken off again. A new stack
// looks as if such a call had left it, to return to the first instruction of
// its entry.
#if defined(__x86_64__)
extern "C" void gatefoldSwitchStack(void **from, void *to);
asm(".text\n.globl " SYMBOL "\n" SYMBOL R"(:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

static void *newStack(uint8_t *top, void (*entry)()) {
  // Six registers, the entry, and no address that the entry could return to.
  // The stack pointer is then 8 below a multiple of 16, as after a call.
  uint64_t frame[8] = {0, 0, 0, 0, 0, 0, reinterpret_cast<uint64_t>(entry), 0};
  return memcpy(top - sizeof(frame), frame, sizeof(frame));
}
#elif defined(__aarch64__)
extern "C" void gatefoldSwitchStack(void **from, void *to);
asm(".text\n.globl " SYMBOL "\n" SYMBOL R"(:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");

static void *newStack(uint8_t *top, void (*entry)()) {
  uint64_t frame[20] = {};
  // x30, the address to return to.
  frame[11] = reinterpret_cast<uint64_t>(entry);
  return memcpy(top - sizeof(frame), frame, sizeof(frame));
}
#endif

#ifdef GATEFOLD_FIBRE_UCONTEXT
void gatefold::emulator::switchFibre(Fibre &from, Fibre &to) {
  swapcontext(&from.context, &to.context);
}
#else
void gatefold::emulator::switchFibre(Fibre &from, Fibre &to) {
  gatefoldSwitchStack(&from.stackPointer, to.stackPointer);
}
#endif

Expected<Stacks> Stacks::create(unsigned count) {
  Stacks stacks;
  Expected<Pages> pages = Pages::reserve(uint64_t(count) * bytes, bytes);
  if (!pages)
    return pages.takeError();
  stacks.pages = std::move(*pages);
  for (unsigned i = 0; i < count; ++i)
    if (mprotect(stacks.pages.data() + i * bytes, sysconf(_SC_PAGESIZE),
                 PROT_NONE))
      return createStringError("the system allows no more than " + Twine(i) +
                               " stacks");
  return stacks;
}

void Stacks::start(unsigned index, Fibre &fibre, void (*entry)(), void *owner) {
  uint8_t *low = pages.data() + index * bytes;
  uint8_t *top = low + bytes - ownerOffset;
  memcpy(top, &owner, sizeof(owner));
  // Stacks at the same offset of their pages would share the same few lines of
  // the CPU's caches.
  top -= index % 61 * 320;
#ifdef GATEFOLD_FIBRE_UCONTEXT
  getcontext(&fibre.context);
  fibre.context.uc_stack.ss_sp = low;
  fibre.context.uc_stack.ss_size = top - low;
  fibre.context.uc_link = nullptr;
  makecontext(&fibre.context, entry, 0);
#else
  fibre.stackPointer = newStack(top, entry);
#endif
}
