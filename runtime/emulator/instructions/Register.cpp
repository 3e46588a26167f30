// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Register.cpp - Special registers -----------------------------------===//
//
// PTX ISA, "Special Registers". A cluster is one block. The grid runs on one
// multiprocessor, whose clocks count reads of clocks.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

using Value = uint64_t(Machine &, const Thread &);

static uint64_t zero(Machine &, const Thread &) { return 0; }
static uint64_t one(Machine &, const Thread &) { return 1; }
static uint64_t clockOf(Machine &machine, const Thread &) {
  return machine.clock();
}

static std::optional<std::function<Value>> findExtent(StringRef name) {
  static const struct {
    const char *name;
    Extent Thread::*extent;
  } extents[] = {
      {"tid", &Thread::threadIndex},      {"ntid", &Thread::blockSize},
      {"ctaid", &Thread::blockIndex},     {"nctaid", &Thread::gridSize},
      {"clusterid", &Thread::blockIndex}, {"nclusterid", &Thread::gridSize},
  };
  static const struct {
    const char *name;
    uint32_t Extent::*member;
  } dimensions[] = {{"x", &Extent::x}, {"y", &Extent::y}, {"z", &Extent::z}};
  auto [register_, dimension] = name.split('.');
  for (const auto &each : dimensions) {
    if (dimension != each.name)
      continue;
    for (const auto &extent : extents)
      if (register_ == extent.name)
        return [whole = extent.extent, member = each.member](
                   Machine &, const Thread &thread) -> uint64_t {
          return thread.*whole.*member;
        };
    if (register_ == "cluster_ctaid")
      return zero;
    if (register_ == "cluster_nctaid")
      return one;
  }
  return std::nullopt;
}

std::optional<std::function<Value>>
gatefold::emulator::ptx::findRegister(StringRef name) {
  if (!name.consume_front("%"))
    return std::nullopt;
  static const struct {
    const char *name;
    Value *value;
  } registers[] = {
      {"laneid", [](Machine &, const Thread &t) -> uint64_t { return t.lane; }},
      {"warpid", [](Machine &, const Thread &t) -> uint64_t { return t.warp; }},
      {"nwarpid",
       [](Machine &, const Thread &t) -> uint64_t {
         return (t.blockSize.count() + warpSize - 1) / warpSize;
       }},
      {"lanemask_eq",
       [](Machine &, const Thread &t) { return uint64_t(1) << t.lane; }},
      {"lanemask_lt",
       [](Machine &, const Thread &t) { return (uint64_t(1) << t.lane) - 1; }},
      {"lanemask_le",
       [](Machine &, const Thread &t) { return (uint64_t(2) << t.lane) - 1; }},
      {"lanemask_ge",
       [](Machine &, const Thread &t) {
         return (uint64_t(1) << warpSize) - (uint64_t(1) << t.lane);
       }},
      {"lanemask_gt",
       [](Machine &, const Thread &t) {
         return (uint64_t(1) << warpSize) - (uint64_t(2) << t.lane);
       }},
      {"dynamic_smem_size",
       [](Machine &, const Thread &t) -> uint64_t {
         return t.dynamicSharedBytes;
       }},
      {"total_smem_size",
       [](Machine &, const Thread &t) -> uint64_t {
         return uint64_t(t.dynamicSharedBytes) + t.staticSharedBytes;
       }},
      {"smid", zero},
      {"nsmid", one},
      {"gridid", zero},
      {"is_explicit_cluster", zero},
      {"cluster_ctarank", zero},
      {"cluster_nctarank", one},
      {"clock", clockOf},
      {"clock64", clockOf},
      {"globaltimer", clockOf},
      {"globaltimer_lo", clockOf},
  };
  for (const auto &each : registers)
    if (name == each.name)
      return each.value;
  return findExtent(name);
}
