// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Finding.cpp - What is wrong with a kernel --------------------------===//

#include "runtime/emulator/Finding.h"

using namespace gatefold::emulator;

namespace {
struct Words {
  const char *name, *description;
};
} // namespace

/// In the order of `FindingKind`.
static constexpr Words words[] = {
    {"shared-race", "race on shared memory"},
    {"global-race", "race on global memory"},
    {"uninitialised-read", "read of memory that nobody has written"},
    {"pending-copy", "access to memory of a copy that is under way"},
    {"misaligned", "misaligned access"},
    {"out-of-bounds", "access out of bounds"},
    {"foreign-memory", "access to memory of others"},
    {"deadlock", "deadlock"},
    {"divergent-barrier", "divergent barrier"},
    {"warp-mask", "wrong lanes of a warp"},
    {"barrier", "wrong use of a barrier"},
    {"unfinished-copy", "copy that nobody waits for"},
    {"unknown-instruction", "unknown instruction"},
    {"trap", "trap"},
    {"limit", "limit exceeded"},
};
static_assert(sizeof(words) / sizeof(*words) ==
              static_cast<unsigned>(FindingKind::Limit) + 1);

const char *gatefold::emulator::describe(FindingKind kind) {
  return words[static_cast<unsigned>(kind)].description;
}

const char *gatefold::emulator::nameOf(FindingKind kind) {
  return words[static_cast<unsigned>(kind)].name;
}
