// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchStuck.cpp - Who waits where, when nobody can go on -----------===//

#include "runtime/emulator/Launch.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;
using namespace gatefold::emulator;

namespace {
/// Threads that wait at one place.
struct Group {
  const Strand *first;
  unsigned count = 0;
};
} // namespace

static std::string whereOf(const Place &place) {
  if (place.frames.empty())
    return "an unknown place";
  const Place::Frame &frame = place.frames.front();
  if (frame.line == 0)
    return "`" + frame.function + "`";
  return frame.file + ":" + std::to_string(frame.line) + ":" +
         std::to_string(frame.column);
}

static std::string threadsText(unsigned count, const char *verb) {
  return std::to_string(count) + (count == 1 ? " thread " : " threads ") +
         verb + (count == 1 ? "s" : "");
}

/// What the lanes of a warp did to keep an instruction from happening.
static std::optional<std::pair<FindingKind, std::string>>
faultOfWarp(const Strand &strand) {
  for (const Strand &other : strand.block->threads) {
    if (other.warp != strand.warp || other.lane == strand.lane)
      continue;
    bool awaited = strand.mask >> other.lane & 1;
    if (!awaited)
      continue;
    std::string lanes = "lanes " + std::to_string(strand.lane) + " and " +
                        std::to_string(other.lane) + " of a warp";
    if (other.status == Strand::Status::Ended)
      return {{FindingKind::WarpMask,
               "lane " + std::to_string(other.lane) +
                   " has ended, and other lanes of its warp wait for it"}};
    if (other.status == Strand::Status::Warp && other.site == strand.site &&
        other.mask != strand.mask)
      return {{FindingKind::WarpMask,
               lanes + " execute one instruction with the masks 0x" +
                   utohexstr(strand.mask) + " and 0x" + utohexstr(other.mask)}};
    if (other.status != Strand::Status::Ready && other.site != strand.site)
      return {{FindingKind::DivergentBarrier,
               lanes + " wait at different instructions"}};
  }
  return std::nullopt;
}

/// What those that wait need.
static std::string hintFor(const std::set<Strand::Status> &ways,
                           bool isOrdinaryGrid) {
  using Status = Strand::Status;
  // Those that wait at barriers wait for whoever is in such a loop.
  if (ways.count(Status::Ready))
    return std::string("a loop that waits ends once another thread writes what "
                       "it looks at: gives a lock back, raises a flag") +
           (isOrdinaryGrid ? "; blocks of an ordinary grid cannot wait for "
                             "each other, a cooperative one's can"
                           : "");
  std::string hint;
  auto add = [&](Status way, StringRef text) {
    if (ways.count(way))
      hint += (hint.empty() ? "" : "; ") + text.str();
  };
  add(Status::Warp, "all lanes of its mask must come to an instruction");
  add(Status::Barrier, "all threads that a barrier is for must come to it");
  add(Status::Phase, "a phase of an mbarrier takes as many arrivals as "
                     "`mbarrier.init` said, and the bytes that it expects");
  return hint;
}

bool Launch::reportStuck() {
  using Status = Strand::Status;
  std::map<std::pair<Status, uint32_t>, Group> groups;
  const Strand *atWarp = nullptr;
  unsigned endedCount = 0;
  for (const Strand &strand : strands) {
    if (strand.status == Status::Ended) {
      ++endedCount;
      continue;
    }
    Group &group = groups[{strand.status, strand.site}];
    if (!group.count++)
      group.first = &strand;
    if (strand.status == Status::Warp && !atWarp)
      atWarp = &strand;
  }
  FindingKind kind = FindingKind::Deadlock;
  std::string message;
  if (atWarp)
    if (auto fault = faultOfWarp(*atWarp)) {
      kind = fault->first;
      message = fault->second + "; ";
    }
  if (message.empty())
    message = stuck ? "nothing changes any more: " : "nobody can go on: ";

  std::vector<Event> events;
  std::set<Status> ways;
  StringRef separator = "";
  for (const auto &[key, group] : groups) {
    const Site &site = code.sites[key.second];
    message += separator.str();
    separator = ", ";
    std::string at = whereOf(site.place) + " (" + site.place.instruction;
    if (key.first == Status::Barrier)
      at += ", barrier " + std::to_string(group.first->barrier);
    at += ")";
    message += key.first == Status::Ready
                   ? threadsText(group.count, "look") +
                         " at the same memory again and again at " + at
                   : threadsText(group.count, "wait") + " at " + at;
    events.push_back(eventOf(*group.first));
    ways.insert(key.first);
  }
  if (endedCount)
    message += ", " + std::to_string(endedCount) +
               (endedCount == 1 ? " has ended" : " have ended");
  // The first group is the one of the thread that the finding is at.
  if (groups.empty())
    return false;
  Strand first;
  const Strand &at = *groups.begin()->second.first;
  first.site = at.site;
  first.blockIndex = at.blockIndex;
  first.threadIndex = at.threadIndex;
  std::string hint;
  if (kind == FindingKind::DivergentBarrier)
    hint = "the condition around them must be the same for all threads of a "
           "warp";
  else if (kind == FindingKind::Deadlock)
    hint = hintFor(ways, !options.cooperative && options.grid.count() > 1);
  report(first, kind, message, hint, ArrayRef(events).drop_front());
  return true;
}
