// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WarpTest.cpp - Shuffles, votes, matches, reductions ----------------===//

#include "Harness.h"
#include <cstring>

using namespace gatefold::emulator;
using namespace gatefold::emulator::test;

static uint64_t bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return word;
}

/// Lane l holds 100 + l.
static std::vector<Words> shuffle(Subject &subject, uint32_t mask,
                                  uint32_t distance, uint32_t clamp) {
  std::vector<Words> operands;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    operands.push_back({mask, 100 + lane, distance, clamp});
  return subject.runWarp(operands, mask);
}

static void testShuffles() {
  Subject across = Subject::intrinsic("llvm.nvvm.shfl.sync.bfly.i32");
  CHECK(across.get().group == Instruction::Group::Warp);
  CHECK(across.get().maskOperand == 0u);
  Subject down = Subject::intrinsic("llvm.nvvm.shfl.sync.down.i32p");
  Subject up = Subject::intrinsic("llvm.nvvm.shfl.sync.up.i32p");
  Subject index = Subject::intrinsic("llvm.nvvm.shfl.sync.idx.f32p");
  auto crossed = shuffle(across, ~0u, 5, 31);
  auto downwards = shuffle(down, ~0u, 3, 31);
  auto upwards = shuffle(up, ~0u, 3, 0);
  auto indexed = shuffle(index, ~0u, 7, 31);
  // Segments of 8: bits 12 to 8 keep a lane's upper bits.
  const uint32_t segments = 24 << 8;
  auto downSegment = shuffle(down, ~0u, 3, segments | 31);
  auto upSegment = shuffle(up, ~0u, 3, segments);
  auto indexSegment = shuffle(index, ~0u, 9, segments | 31);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    CHECK_EQUAL(crossed[lane].at(0), 100 + (lane ^ 5));
    CHECK_EQUAL(downwards[lane].at(0), 100 + (lane < 29 ? lane + 3 : lane));
    CHECK_EQUAL(downwards[lane].at(1), lane < 29);
    CHECK_EQUAL(upwards[lane].at(0), 100 + (lane >= 3 ? lane - 3 : lane));
    CHECK_EQUAL(upwards[lane].at(1), lane >= 3);
    CHECK_EQUAL(indexed[lane].at(0), 107);
    CHECK_EQUAL(indexed[lane].at(1), 1);
    unsigned within = lane % 8, first = lane - within;
    CHECK_EQUAL(downSegment[lane].at(0), 100 + (within < 5 ? lane + 3 : lane));
    CHECK_EQUAL(downSegment[lane].at(1), within < 5);
    CHECK_EQUAL(upSegment[lane].at(0), 100 + (within >= 3 ? lane - 3 : lane));
    CHECK_EQUAL(upSegment[lane].at(1), within >= 3);
    CHECK_EQUAL(indexSegment[lane].at(0), 100 + first + 1);
  }
  CHECK(across.machine.reports.empty());
  // Lane 3 reads from lane 2, which does not take part.
  auto partial = shuffle(across, 0xfffffffb, 1, 31);
  CHECK_EQUAL(partial[4].at(0), 105);
  CHECK(partial[2].empty());
  CHECK_EQUAL(across.machine.reports.at(0),
              "lane 3: a shuffle reads from lane 2, which is not in the mask");
}

static void testVotes() {
  auto vote = [](const char *name, uint32_t votes, uint32_t mask) {
    Subject subject =
        Subject::intrinsic(std::string("llvm.nvvm.vote.") + name + ".sync");
    std::vector<Words> operands;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      operands.push_back({mask, votes >> lane & 1});
    return subject.runWarp(operands, mask).at(1).at(0);
  };
  CHECK_EQUAL(vote("ballot", 0xf0f0f0f3, 0xff), 0xf3);
  CHECK_EQUAL(vote("all", 0xff, 0xff), 1);
  CHECK_EQUAL(vote("all", 0xff, 0x1ff), 0);
  CHECK_EQUAL(vote("any", 0x100, 0xff), 0);
  CHECK_EQUAL(vote("any", 0x100, 0x1ff), 1);
  CHECK_EQUAL(vote("uni", 0xff, 0xff), 1);
  CHECK_EQUAL(vote("uni", 0, 0xff), 1);
  CHECK_EQUAL(vote("uni", 0xf, 0xff), 0);

  auto values = [](const std::string &name, uint32_t mask, auto value) {
    Subject subject = Subject::intrinsic("llvm.nvvm." + name);
    bool masksFirst = name.find("match") == 0;
    std::vector<Words> operands;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      operands.push_back(masksFirst ? Words{mask, value(lane)}
                                    : Words{value(lane), mask});
    return subject.runWarp(operands, mask).at(4);
  };
  auto third = [](unsigned lane) -> uint64_t { return lane % 3; };
  CHECK_EQUAL(values("match.any.sync.i32", ~0u, third).at(0), 0x92492492);
  CHECK_EQUAL(values("match.any.sync.i64", 0xff, third).at(0), 0x92);
  CHECK_EQUAL(values("match.all.sync.i32p", ~0u, third).at(1), 0);
  CHECK_EQUAL(values("match.all.sync.i32p", 0x12, third).at(0), 0x12);
  CHECK_EQUAL(values("match.all.sync.i32p", 0x12, third).at(1), 1);

  auto number = [](unsigned lane) -> uint64_t { return uint32_t(lane - 5); };
  CHECK_EQUAL(values("redux.sync.add", ~0u, number).at(0), 496 - 160);
  CHECK_EQUAL(values("redux.sync.min", ~0u, number).at(0), uint32_t(-5));
  CHECK_EQUAL(values("redux.sync.umin", ~0u, number).at(0), 0);
  CHECK_EQUAL(values("redux.sync.umax", 0xfff0, number).at(0), 0xffffffff);
  CHECK_EQUAL(values("redux.sync.max", ~0u, number).at(0), 26);
  CHECK_EQUAL(values("redux.sync.and", 0x70, third).at(0), 0);
  CHECK_EQUAL(values("redux.sync.or", 0x70, third).at(0), 3);
  CHECK_EQUAL(values("redux.sync.xor", 0x30, third).at(0), 3);
  auto real = [](unsigned lane) {
    return bits(lane == 4 ? -90.0f : float(lane));
  };
  CHECK_EQUAL(values("redux.sync.fmin", ~0u, real).at(0), bits(-90.0f));
  CHECK_EQUAL(values("redux.sync.fmax.abs", ~0u, real).at(0), bits(90.0f));

  Subject elect = Subject::intrinsic("llvm.nvvm.elect.sync");
  std::vector<Words> masks(warpSize, {0xf8});
  auto elected = elect.runWarp(masks, 0xf8);
  CHECK_EQUAL(elected[3].at(0), 3);
  CHECK_EQUAL(elected[3].at(1), 1);
  CHECK_EQUAL(elected[4].at(1), 0);
  Subject join = Subject::intrinsic("llvm.nvvm.bar.warp.sync");
  join.runWarp(masks, 0xf8);
  CHECK_EQUAL(join.machine.log, "join 5");
  CHECK(join.get().meetsAnywhere);
}

void test::testWarp() {
  testShuffles();
  testVotes();
  // The threads of these are not known.
  for (const char *text : {"activemask.b32 $0;", "vote.ballot.b32 $0, 1;"}) {
    Subject subject = Subject::assembly(text, "=r");
    CHECK(!subject.known());
    CHECK_EQUAL(subject.unknown, std::string(text));
  }
}
