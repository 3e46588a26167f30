// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Shadow.cpp - Who touched a byte last -------------------------------===//

#include "runtime/emulator/Shadow.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace llvm;
using namespace gatefold::emulator;

bool Shadow::happenedBefore(const Touch &touch, uint32_t warp, uint32_t time,
                            uint32_t lanes) const {
  if (warp == touch.warp)
    lanes &= ~(uint32_t(1) << touch.lane);
  if (!lanes)
    return true;
  if (!touch.moment.known)
    return false;
  uint32_t block = warp / warpsPerBlock;
  const Times *times = touch.moment.known->find(block);
  if (!times)
    return false;
  if (times->least >= time)
    return true;
  uint32_t first = (warp - block * warpsPerBlock) * warpSize;
  for (; lanes; lanes &= lanes - 1)
    if (times->of[first + countr_zero(lanes)] < time)
      return false;
  return true;
}

Shadow::Record &Shadow::recordOf(Cell &cell) {
  if (!cell.record) {
    records.emplace_back();
    cell.record = records.size();
  }
  return records[cell.record - 1];
}

Shadow::Record &Shadow::split(Cell &cell) {
  Record &record = recordOf(cell);
  if (record.split)
    return record;
  record.split = true;
  // `recordOf` may move nothing: a deque keeps its elements where they are.
  for (Cell &byte : record.bytes) {
    byte = cell;
    byte.record = 0;
    if (!record.reads.empty() || !record.atomics.empty()) {
      Record &copy = recordOf(byte);
      copy.reads = record.reads;
      copy.atomics = record.atomics;
    }
  }
  return record;
}

std::optional<Rival> Shadow::touch(Arena &arena, uint64_t address,
                                   uint64_t bytes, const Touch &access) {
  std::optional<Rival> rival;
  auto visit = [&](Cell &cell) {
    std::optional<Rival> found =
        access.atomic ? touchAtomic(cell, access) : touch(cell, access);
    if (found && !rival)
      rival = found;
  };
  uint64_t end = address + bytes;
  while (address < end) {
    Cell &cell = *arena.cell(address);
    uint64_t next = (address & ~uint64_t(cellBytes - 1)) + cellBytes;
    bool isSplit = cell.record && records[cell.record - 1].split;
    if (!isSplit && next - address == cellBytes && next <= end) {
      visit(cell);
    } else {
      Record &record = split(cell);
      for (; address < std::min(next, end); ++address)
        visit(record.bytes[address & (cellBytes - 1)]);
    }
    address = next;
  }
  return rival;
}

/// The lowest lane other than the thread itself.
static uint32_t laneOf(const Touch &touch, uint32_t warp, uint32_t lanes) {
  if (warp == touch.warp)
    lanes &= ~(uint32_t(1) << touch.lane);
  return lanes ? countr_zero(lanes) : 0;
}

/// The first entry that did not happen before an access that conflicts with it.
/// `atomics`: the entries are atomic accesses.
std::optional<Rival> Shadow::conflict(const Touch &touch,
                                      ArrayRef<Entry> entries,
                                      bool atomics) const {
  for (const Entry &entry : entries) {
    if (!touch.writes && !entry.writes)
      continue;
    if (atomics && touch.atomic) {
      bool sameBlock = entry.warp / warpsPerBlock == touch.moment.block;
      bool narrow = entry.blockOnly || touch.scope < Scope::Device;
      if (sameBlock || !narrow)
        continue;
    }
    if (!happenedBefore(touch, entry.warp, entry.time, entry.lanes))
      return Rival{entry.warp, laneOf(touch, entry.warp, entry.lanes),
                   entry.site, entry.writes, atomics};
  }
  return std::nullopt;
}

void Shadow::note(SmallVectorImpl<Entry> &entries, const Touch &touch,
                  const Entry &entry) {
  // A lane's later access takes the place of its earlier one.
  for (Entry &old : reverse(entries)) {
    if (old.warp != entry.warp || old.writes != entry.writes ||
        old.blockOnly != entry.blockOnly)
      continue;
    if (old.time == entry.time) {
      old.lanes |= entry.lanes;
      old.site = entry.site;
      return;
    }
    old.lanes &= ~entry.lanes;
  }
  // What this access covers, no later one can race with alone.
  erase_if(entries, [&](const Entry &old) {
    return old.lanes == 0 ||
           (old.writes == entry.writes && old.blockOnly == entry.blockOnly &&
            happenedBefore(touch, old.warp, old.time, old.lanes));
  });
  if (entries.size() >= mostEntries)
    entries.erase(entries.begin());
  entries.push_back(entry);
}

void Shadow::noteRead(Cell &cell, const Touch &touch) {
  uint32_t bit = uint32_t(1) << touch.lane;
  Entry now = {touch.warp, touch.moment.time, bit, touch.site, false, false};
  if (cell.readClock == now.time && cell.readWarp == now.warp) {
    cell.readLanes |= bit;
    cell.readSite = touch.site;
    return;
  }
  bool covered =
      !cell.readClock ||
      happenedBefore(touch, cell.readWarp, cell.readClock, cell.readLanes);
  if (!covered) {
    // The cell holds the warp that read last; others are in the record.
    Record &record = recordOf(cell);
    Entry old = {cell.readWarp, cell.readClock, cell.readLanes,
                 cell.readSite, false,          false};
    if (old.warp == now.warp)
      old.lanes &= ~bit;
    for (Entry &entry : record.reads)
      if (entry.warp == now.warp && entry.time == now.time) {
        now.lanes |= entry.lanes;
        entry = old;
        old.lanes = 0;
        break;
      }
    if (old.lanes)
      note(record.reads, touch, old);
  }
  cell.readWarp = now.warp;
  cell.readClock = now.time;
  cell.readLanes = now.lanes;
  cell.readSite = now.site;
}

/// The write that the cell holds, if it did not happen before an access.
std::optional<Rival> Shadow::lastWrite(const Cell &cell,
                                       const Touch &touch) const {
  uint32_t warp = cell.writer / warpSize, lane = cell.writer % warpSize;
  if (!cell.writeClock ||
      happenedBefore(touch, warp, cell.writeClock, uint32_t(1) << lane))
    return std::nullopt;
  return Rival{warp, lane, cell.writeSite, true, false};
}

/// The same of the reads that the cell holds, for an access that writes.
std::optional<Rival> Shadow::lastReads(const Cell &cell,
                                       const Touch &touch) const {
  if (!cell.readClock)
    return std::nullopt;
  return conflict(touch,
                  Entry{cell.readWarp, cell.readClock, cell.readLanes,
                        cell.readSite, false, false},
                  /*atomics=*/false);
}

std::optional<Rival> Shadow::touch(Cell &cell, const Touch &touch) {
  std::optional<Rival> rival = lastWrite(cell, touch);
  Record *record = cell.record ? &records[cell.record - 1] : nullptr;
  if (record && !rival && !record->atomics.empty())
    rival = conflict(touch, record->atomics, true);
  if (!touch.writes) {
    noteRead(cell, touch);
    return rival;
  }
  if (!rival)
    rival = lastReads(cell, touch);
  if (!rival && record)
    rival = conflict(touch, record->reads, false);
  // All that was noted happened before this write or has been reported.
  if (record) {
    record->reads.clear();
    record->atomics.clear();
  }
  cell.readClock = 0;
  cell.writer = touch.warp * warpSize + touch.lane;
  cell.writeClock = touch.moment.time;
  cell.writeSite = touch.site;
  return rival;
}

std::optional<Rival> Shadow::touchAtomic(Cell &cell, const Touch &touch) {
  std::optional<Rival> rival = lastWrite(cell, touch);
  if (!rival && touch.writes)
    rival = lastReads(cell, touch);
  Record &record = recordOf(cell);
  if (!rival && touch.writes)
    rival = conflict(touch, record.reads, false);
  if (!rival)
    rival = conflict(touch, record.atomics, true);
  note(record.atomics, touch,
       {touch.warp, touch.moment.time, uint32_t(1) << touch.lane, touch.site,
        touch.writes, touch.scope < Scope::Device});
  return rival;
}
