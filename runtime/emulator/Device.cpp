// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Device.cpp - A GPU's global memory ---------------------------------===//

#include "runtime/emulator/Arena.h"
#include "runtime/emulator/Emulator.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

/// Address space between two allocations, which takes no memory: an index that
/// is wrong by a row or a few does not fall into the next one.
static constexpr uint64_t gapBytes = 64 << 10;

Expected<std::unique_ptr<Device>> Device::create(uint64_t bytes) {
  Expected<Arena> arena = Arena::create(bytes, /*shared=*/true, /*low=*/false);
  if (!arena)
    return arena.takeError();
  std::unique_ptr<Device> device(new Device());
  device->memory = std::make_unique<Arena>(std::move(*arena));
  device->used = gapBytes;
  return device;
}

Device::~Device() = default;

Expected<uint64_t> Device::allocate(uint64_t bytes, uint64_t alignment,
                                    StringRef name) {
  if (!isPowerOf2_64(alignment) || alignment > memory->bytes())
    return createStringError("`" + name + "` is to be at a multiple of " +
                             Twine(alignment) + ", which is no power of 2");
  uint64_t address = alignTo(memory->begin() + used, alignment);
  if (address % (2 * alignment) == 0)
    address += alignment;
  uint64_t offset = address - memory->begin();
  if (offset > memory->bytes() || bytes > memory->bytes() - offset ||
      gapBytes > memory->bytes() - offset - bytes)
    return createStringError("`" + name + "`, " + Twine(bytes) +
                             " bytes, does not fit into the device's memory");
  memory->set(address, bytes, Allocated);
  allocations[address] = {name.str(), address, bytes};
  used = offset + bytes + gapBytes;
  return address;
}

Error Device::check(uint64_t address, uint64_t bytes) const {
  const Allocation *allocation = nearest(address);
  if (bytes == 0)
    return Error::success();
  if (!allocation || address < allocation->address ||
      address - allocation->address > allocation->bytes ||
      bytes > allocation->bytes - (address - allocation->address))
    return createStringError("not " + Twine(bytes) +
                             " bytes of one allocation of the device");
  return Error::success();
}

Error Device::copyIn(uint64_t address, ArrayRef<uint8_t> bytes) {
  if (Error error = check(address, bytes.size()))
    return error;
  if (bytes.empty())
    return Error::success();
  memcpy(reinterpret_cast<void *>(address), bytes.data(), bytes.size());
  uint8_t *states = memory->states(address);
  for (size_t i = 0; i < bytes.size(); ++i)
    states[i] |= Initialised;
  return Error::success();
}

Error Device::copyOut(uint64_t address, MutableArrayRef<uint8_t> bytes) const {
  if (Error error = check(address, bytes.size()))
    return error;
  if (!bytes.empty())
    memcpy(bytes.data(), reinterpret_cast<void *>(address), bytes.size());
  return Error::success();
}

Error Device::makeReadOnly(uint64_t address, uint64_t bytes) {
  if (Error error = check(address, bytes))
    return error;
  uint8_t *states = memory->states(address);
  for (uint64_t i = 0; i < bytes; ++i)
    states[i] |= ReadOnly;
  return Error::success();
}

Expected<uint64_t> Device::countUninitialised(uint64_t address,
                                              uint64_t bytes) const {
  if (Error error = check(address, bytes))
    return error;
  const uint8_t *states = memory->states(address);
  uint64_t count = 0;
  for (uint64_t i = 0; i < bytes; ++i)
    count += !(states[i] & Initialised);
  return count;
}

const Device::Allocation *Device::nearest(uint64_t address) const {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return next == allocations.end() ? nullptr : &next->second;
  const Allocation &before = std::prev(next)->second;
  if (next == allocations.end())
    return &before;
  uint64_t end = before.address + before.bytes;
  bool nextIsNearer =
      address >= end && next->first - address < address - end + 1;
  return nextIsNearer ? &next->second : &before;
}
