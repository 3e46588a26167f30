// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Warp.cpp - What the threads of a warp do together ------------------===//
//
// PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync,
// bar.warp.sync. Those without `.sync`, and activemask, are of whatever threads
// happen to be active, which no program can rely on: they are not known.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/instructions/Operation.h"

using namespace llvm;
using namespace gatefold::emulator;
using namespace gatefold::emulator::ptx;

using Lanes = ArrayRef<Frame *>;

template <typename Function>
static Operation makeWarp(unsigned results, unsigned sources, unsigned mask,
                          Function function) {
  Operation operation;
  operation.results = results;
  operation.sources = sources;
  operation.mask = mask;
  operation.executeWarp = function;
  return operation;
}

/// shfl.sync{.up,.down,.bfly,.idx}.b32 d{|p}, a, b, c, mask
static std::optional<Operation> findShuffle(Name name, const Syntax &syntax) {
  std::optional<StringRef> mode = name.takeOneOf({"up", "down", "bfly", "idx"});
  if (!mode || !name.take("b32") || !name.done())
    return std::nullopt;
  char kind = mode->front();
  bool pair = syntax.pair;
  return makeWarp(
      pair ? 2 : 1, 4, 3, [kind, pair](Machine &machine, Lanes lanes) {
        for (unsigned lane = 0; lane < warpSize; ++lane) {
          Frame *frame = lanes[lane];
          if (!frame)
            continue;
          int distance = frame->word(1) & 31, bound = frame->word(2) & 31;
          int segment = frame->word(2) >> 8 & 31, self = int(lane);
          // For `up` the last lane is the segment's first.
          int last = (self & segment) | (bound & ~segment);
          int from = kind == 'u'   ? self - distance
                     : kind == 'd' ? self + distance
                     : kind == 'b' ? self ^ distance
                                   : (self & segment) | (distance & ~segment);
          bool inside = kind == 'u' ? from >= last : from <= last;
          if (!inside)
            from = self;
          if (!lanes[from]) {
            machine.report(*frame->thread, FindingKind::WarpMask,
                           Twine("a shuffle reads from lane ") + Twine(from) +
                               ", which is not in the mask");
            from = self;
          }
          frame->results[0] = lanes[from]->sources[0];
          if (pair)
            frame->results[1] = inside;
        }
        return true;
      });
}

/// vote.sync{.all,.any,.uni}.pred d, a, mask; vote.sync.ballot.b32
static std::optional<Operation> findVote(Name name) {
  std::optional<StringRef> mode =
      name.takeOneOf({"all", "any", "uni", "ballot"});
  if (!mode || !name.take(*mode == "ballot" ? "b32" : "pred") || !name.done())
    return std::nullopt;
  char kind = mode->front(), second = (*mode)[1];
  return makeWarp(1, 2, 1, [kind, second](Machine &, Lanes lanes) {
    uint64_t votes = 0, mask = 0;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (lanes[lane]) {
        mask |= uint64_t(1) << lane;
        votes |= uint64_t(lanes[lane]->predicate(0)) << lane;
      }
    uint64_t result = kind == 'b'                    ? votes
                      : kind == 'u'                  ? !votes || votes == mask
                      : kind == 'a' && second == 'l' ? votes == mask
                                                     : votes != 0;
    for (Frame *frame : lanes)
      if (frame)
        frame->results[0] = result;
    return true;
  });
}

/// match{.any,.all}.sync{.b32,.b64} d{|p}, a, mask
static std::optional<Operation> findMatch(Name name, const Syntax &syntax) {
  std::optional<StringRef> mode = name.takeOneOf({"any", "all"});
  if (!mode || !name.take("sync"))
    return std::nullopt;
  bool wide = name.take("b64"), all = *mode == "all", pair = syntax.pair;
  if ((!wide && !name.take("b32")) || !name.done() || (pair && !all))
    return std::nullopt;
  uint64_t bits = wide ? ~uint64_t(0) : 0xffffffff;
  return makeWarp(pair ? 2 : 1, 2, 1, [=](Machine &, Lanes lanes) {
    uint32_t mask = 0;
    bool same = true;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      if (!lanes[lane])
        continue;
      uint32_t equal = 0;
      for (unsigned other = 0; other < warpSize; ++other)
        if (lanes[other] &&
            ((lanes[lane]->sources[0] ^ lanes[other]->sources[0]) & bits) == 0)
          equal |= uint32_t(1) << other;
        else if (lanes[other])
          same = false;
      mask |= uint32_t(1) << lane;
      lanes[lane]->results[0] = equal;
    }
    for (Frame *frame : lanes)
      if (frame && all) {
        frame->results[0] = same ? mask : 0;
        frame->results[1] = same;
      }
    return true;
  });
}

/// The larger or the smaller of two f32, as bits.
static uint32_t extreme(uint32_t a, uint32_t b, bool largest, bool keepsNaN) {
  float x = bitCast<float>(a), y = bitCast<float>(b);
  if (std::isnan(x) || std::isnan(y)) {
    if (keepsNaN || (std::isnan(x) && std::isnan(y)))
      return uint32_t(f32.notANumber);
    return std::isnan(x) ? b : a;
  }
  bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return less != largest ? a : b;
}

/// redux.sync.op.type d, a, mask
static std::optional<Operation> findReduce(Name name) {
  std::optional<StringRef> which =
      name.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  bool absolute = name.take("abs"), keepsNaN = name.take("NaN");
  std::optional<Type> type = name.takeType();
  if (!which || !type || !name.done() || type->registerBits() != 32)
    return std::nullopt;
  bool isFloat = type->is(f32), isBits = type->kind == Type::Kind::Bits;
  bool extremes = *which == "min" || *which == "max", adds = *which == "add";
  if (isFloat ? !extremes
              : absolute || keepsNaN || isBits == (extremes || adds) ||
                    (!isBits && !type->isInteger()))
    return std::nullopt;
  bool largest = *which == "max", isSigned = type->isSigned();
  char kind = which->front();
  return makeWarp(1, 2, 1, [=](Machine &, Lanes lanes) {
    std::optional<uint32_t> result;
    for (Frame *frame : lanes) {
      if (!frame)
        continue;
      uint32_t value = frame->word(0);
      if (absolute)
        value &= 0x7fffffff;
      if (!result) {
        result = value;
        continue;
      }
      uint32_t before = *result;
      if (isFloat)
        result = extreme(before, value, largest, keepsNaN);
      else if (extremes && isSigned)
        result = (int32_t(value) < int32_t(before)) != largest ? value : before;
      else if (extremes)
        result = (value < before) != largest ? value : before;
      else
        result = adds          ? before + value
                 : kind == 'a' ? before & value
                 : kind == 'o' ? before | value
                               : before ^ value;
    }
    for (Frame *frame : lanes)
      if (frame)
        frame->results[0] = *result;
    return true;
  });
}

std::optional<Operation>
gatefold::emulator::ptx::findWarp(Name name, const Syntax &syntax) {
  if (name.take("shfl"))
    return name.take("sync") ? findShuffle(name, syntax) : std::nullopt;
  if (name.take("vote"))
    return name.take("sync") ? findVote(name) : std::nullopt;
  if (name.take("match"))
    return findMatch(name, syntax);
  if (name.take("redux"))
    return name.take("sync") ? findReduce(name) : std::nullopt;
  if (name.take("elect")) {
    if (!name.take("sync") || !name.done() || !syntax.pair)
      return std::nullopt;
    // PTX leaves open which lane; here it is the first.
    return makeWarp(2, 1, 0, [](Machine &, Lanes lanes) {
      std::optional<unsigned> leader;
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        if (!lanes[lane])
          continue;
        bool first = !leader;
        if (first)
          leader = lane;
        lanes[lane]->results[0] = *leader;
        lanes[lane]->results[1] = first;
      }
      return true;
    });
  }
  if (name.take("bar")) {
    if (!name.take("warp") || !name.take("sync") || !name.done())
      return std::nullopt;
    return makeWarp(0, 1, 0, [](Machine &machine, Lanes lanes) {
      SmallVector<Thread *, warpSize> threads;
      for (Frame *frame : lanes)
        if (frame)
          threads.push_back(frame->thread);
      machine.joinWarp(threads);
      return true;
    });
  }
  return std::nullopt;
}
