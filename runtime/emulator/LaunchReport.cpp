// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchReport.cpp - What is said of a fault -------------------------===//

#include "runtime/emulator/Launch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace gatefold::emulator;

static std::string textOf(const Extent &extent) {
  return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) +
         ", " + std::to_string(extent.z) + ")";
}

std::string Launch::describe(const Strand &strand) {
  return textOf(strand.threadIndex);
}

static void set(uint32_t (&numbers)[3], const Extent &extent) {
  numbers[0] = extent.x;
  numbers[1] = extent.y;
  numbers[2] = extent.z;
}

Event Launch::eventOf(const Strand &strand) const {
  Event event;
  if (strand.site < code.sites.size())
    event.place = code.sites[strand.site].place;
  set(event.block, strand.blockIndex);
  set(event.thread, strand.threadIndex);
  return event;
}

Event Launch::eventOf(const Rival &rival) const {
  Event event;
  event.place = code.sites[rival.site].place;
  uint64_t block = rival.warp / warpsPerBlock;
  uint64_t thread = (rival.warp % warpsPerBlock) * warpSize + rival.lane;
  auto indexIn = [](uint64_t number, const Extent &size) {
    return Extent{uint32_t(number % size.x), uint32_t(number / size.x % size.y),
                  uint32_t(number / size.x / size.y)};
  };
  set(event.block, indexIn(block, options.grid));
  set(event.thread, indexIn(thread, options.block));
  return event;
}

static std::string bytesOf(uint64_t offset, StringRef name) {
  return ("byte " + Twine(offset) + " of `" + name + "`").str();
}

std::string Launch::nameOf(const Strand &strand, uint64_t address) const {
  if (sharedArena.contains(address)) {
    uint64_t offset = (address - sharedArena.begin()) % windowBytes;
    for (const SharedVariable &variable : code.sharedVariables)
      if (offset - variable.offset < variable.bytes)
        return bytesOf(offset - variable.offset, variable.name);
    if (offset - code.dynamicSharedOffset < options.dynamicSharedBytes)
      return "byte " + std::to_string(offset - code.dynamicSharedOffset) +
             " of dynamic shared memory";
    return "byte " + std::to_string(offset) + " of shared memory";
  }
  if (localArena.contains(address)) {
    for (const LocalVariable &variable : strand.locals)
      if (address - variable.address < variable.bytes)
        return bytesOf(address - variable.address,
                       code.sites[variable.site].place.instruction);
    return "local memory";
  }
  const Device::Allocation *allocation = device.nearest(address);
  if (allocation && address - allocation->address < allocation->bytes)
    return bytesOf(address - allocation->address, allocation->name);
  return "address 0x" + utohexstr(address);
}

/// How far an address is from `bytes` bytes at `begin`; of one of them, and of
/// the one behind them, 0.
static uint64_t distance(uint64_t address, uint64_t begin, uint64_t bytes) {
  if (address < begin)
    return begin - address;
  return address - begin < bytes ? 0 : address - begin - bytes;
}

/// "4 bytes behind the end of `x` (512 bytes)", for what is nearest. An access
/// that begins within it goes beyond its end.
static std::string placeText(uint64_t address, uint64_t begin, uint64_t bytes,
                             const Twine &name) {
  if (address >= begin && address - begin < bytes)
    return "from byte " + std::to_string(address - begin) + " of " +
           name.str() + " on, which has " + std::to_string(bytes);
  std::string whole = name.str() + " (" + std::to_string(bytes) + " bytes)";
  uint64_t far = distance(address, begin, bytes);
  if (far == 0)
    return "at the end of " + whole;
  return std::to_string(far) + " bytes " +
         (address < begin ? "before the begin of " : "behind the end of ") +
         whole;
}

void Launch::outOfBounds(Strand &strand, uint64_t address, const Use &use) {
  std::string where;
  uint64_t nearest = ~uint64_t(0);
  auto consider = [&](uint64_t begin, uint64_t bytes, const Twine &name) {
    uint64_t far = distance(address, begin, bytes);
    if (far >= nearest)
      return;
    nearest = far;
    where = placeText(address, begin, bytes, name);
  };
  bool isShared = sharedArena.contains(address);
  bool isLocal = localArena.contains(address);
  bool isElsewhere = false;
  if (isShared) {
    uint64_t begin = strand.block->sharedBegin;
    for (const SharedVariable &variable : code.sharedVariables)
      consider(begin + variable.offset, variable.bytes,
               "`" + variable.name + "`");
    if (code.usesDynamicShared)
      consider(begin + code.dynamicSharedOffset, options.dynamicSharedBytes,
               "dynamic shared memory");
  } else if (isLocal) {
    for (const LocalVariable &variable : strand.locals)
      consider(variable.address, variable.bytes,
               "`" + code.sites[variable.site].place.instruction + "`");
  } else if (const Device::Allocation *allocation = device.nearest(address)) {
    if (device.arena().contains(address) || address >> 16)
      consider(allocation->address, allocation->bytes,
               "`" + allocation->name + "`");
  }
  Arena *arena = arenaOf(address);
  isElsewhere = arena && arena->containsAll(address, use.bytes) &&
                (*arena->states(address) & Allocated);
  std::string message = "thread " + describe(strand) +
                        (use.writes ? " writes " : " reads ") +
                        std::to_string(use.bytes) + " bytes ";
  if (isElsewhere)
    message += "of " + nameOf(strand, address) +
               " through a pointer of another address space";
  else if (address < 1 << 16)
    message += "through a null pointer, address " + std::to_string(address);
  else if (where.empty())
    message += "at 0x" + utohexstr(address) + ", where there is no memory";
  else
    message += where;
  report(strand, FindingKind::OutOfBounds, message,
         isElsewhere ? "a pointer of shared memory holds nothing else" : "");
  ended = true;
}

void Launch::reportRace(Strand &strand, uint64_t address, const Use &use,
                        const Rival &rival, bool isShared) {
  FindingKind kind =
      isShared ? FindingKind::SharedRace : FindingKind::GlobalRace;
  if (countAgain(strand, kind, rival.site))
    return;
  auto verb = [](bool reads, bool writes, bool atomic) {
    return std::string(atomic ? "atomically " : "") + (reads && writes
                                                           ? "updates"
                                                       : writes ? "writes"
                                                                : "reads");
  };
  Event other = eventOf(rival);
  bool sameBlock = rival.warp / warpsPerBlock == strand.block->number;
  std::string who =
      "thread " + textOf({other.thread[0], other.thread[1], other.thread[2]});
  if (!sameBlock)
    who +=
        " of block " + textOf({other.block[0], other.block[1], other.block[2]});
  std::string self = "thread " + describe(strand);
  if (!sameBlock)
    self += " of block " + textOf(strand.blockIndex);
  bool one = use.bytes == 1;
  std::string message =
      self + " " + verb(use.reads, use.writes, use.atomic) + " ";
  if (!one)
    message += std::to_string(use.bytes) + " bytes from ";
  message += nameOf(strand, address) + (one ? ", which " : " on, ") + who +
             " " + verb(!rival.writes, rival.writes, rival.atomic) +
             (one ? "" : " some of them") + ", and nothing orders the two";
  StringRef hint;
  if (use.atomic && rival.atomic)
    hint = "atomic accesses of a block's scope have no effect on other blocks";
  else if (!sameBlock && options.cooperative)
    hint = "a barrier of the grid: a fence of the device's scope before it "
           "signals and after it has waited; `atomicrmw` alone orders nothing";
  else if (!sameBlock)
    hint = "blocks of a grid have no order; each may write its own part, or "
           "another launch may read";
  else if (rival.warp == strand.gridWarp)
    hint = use.writes && rival.writes
               ? "one lane should write, or each its own place"
               : "`bar.warp.sync`, or a barrier, between the two";
  else
    hint = "a barrier between the two";
  report(strand, kind, message, hint, other, rival.site);
}

/// Whether this was found before; then it is counted once more.
bool Launch::countAgain(const Strand &strand, FindingKind kind,
                        uint32_t otherSite) {
  auto found = findingNumbers.find({kind, strand.site, otherSite});
  if (found == findingNumbers.end())
    return false;
  ++result.findings[found->second].count;
  return true;
}

void Launch::report(Strand &strand, FindingKind kind, const Twine &message,
                    StringRef hint, ArrayRef<Event> others,
                    uint32_t otherSite) {
  if (countAgain(strand, kind, otherSite))
    return;
  findingNumbers[{kind, strand.site, otherSite}] = result.findings.size();
  Finding finding;
  finding.kind = kind;
  finding.message = message.str();
  finding.hint = hint.str();
  finding.events.push_back(eventOf(strand));
  append_range(finding.events, others);
  result.findings.push_back(std::move(finding));
  if (result.findings.size() >= options.limits.findings)
    ended = true;
}

/// Kinds after which the kernel's state means nothing.
static bool isFatal(FindingKind kind) {
  switch (kind) {
  case FindingKind::Misaligned:
  case FindingKind::OutOfBounds:
  case FindingKind::Deadlock:
  case FindingKind::UnknownInstruction:
  case FindingKind::Trap:
  case FindingKind::Limit:
    return true;
  default:
    return false;
  }
}

void Launch::report(Thread &thread, FindingKind kind, const Twine &message) {
  report(strandOf(thread), kind, message, "");
  if (isFatal(kind))
    ended = true;
}

void Launch::fail(Strand &strand, uint32_t site, FindingKind kind,
                  const Twine &message, StringRef hint) {
  strand.site = site;
  report(strand, kind, message, hint);
  ended = true;
  abandon(strand);
}
