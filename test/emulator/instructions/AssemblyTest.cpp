// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblyTest.cpp - Texts of PTX ------------------------------------===//

#include "Harness.h"

using namespace gatefold::emulator;
using namespace gatefold::emulator::test;

static void testTexts() {
  // Declarations, predicates, comments, packing, shadowed names.
  Subject text = Subject::assembly(R"({
      .reg .pred %p<2>; .reg .b32 t; // of this text
      setp.lt.s32 %p0|%p1, $1, $2;
      @%p0 mov.b32 t, 1; @!%p0 mov.b32 t, 2;
      { .reg .b32 t; mov.b32 t, 77; }
      mad.lo.s32 $0, t, 10, $1; /* and on */
    })",
                                   "=r,r,r");
  CHECK_EQUAL(text.unknown, std::string());
  CHECK_EQUAL(text.run1({3, 4}), 13);
  CHECK_EQUAL(text.run1({5, 4}), 25);
  CHECK_EQUAL(text.run1({uint32_t(-1), 4}), 9);
  Subject pack = Subject::assembly("mov.b64 $0, {$1, $2};", "=l,r,r");
  CHECK_EQUAL(pack.run1({1, 2}), uint64_t(2) << 32 | 1);
  Subject halves = Subject::assembly("mov.b32 {$0, $1}, $2;", "=h,=h,r");
  CHECK_EQUAL(halves.run({0x12345678}).at(1), 0x1234);
  Subject tied = Subject::assembly("add.s32 $0, $0, 5;", "=r,0");
  CHECK_EQUAL(tied.run1({7}), 12);
  Subject special = Subject::assembly("mov.u32 $0, %laneid;", "=r");
  special.threads[0].lane = 9;
  CHECK_EQUAL(special.run1({}), 9);
  CHECK_EQUAL(special.get().name, std::string("mov.u32 %laneid"));
  Subject real = Subject::assembly("add.f32 $0, 0f3F800000, 0f40000000;", "=r");
  CHECK_EQUAL(real.run1({}), 0x40400000);
  Subject sum = Subject::assembly("add.rn.sat.ftz.f32 $0, $1, $1;", "=r,r");
  CHECK_EQUAL(sum.run1({0x40000000}), 0x3f800000);
  CHECK_EQUAL(sum.run1({1}), 0);
  Subject empty = Subject::assembly("", "~{memory}");
  CHECK(empty.known());
  Subject joined = Subject::assembly(
      "{.reg .pred q; setp.ne.s32 q, $3, 0; setp.gt.and.s32 $0, $1, $2, !q;}",
      "=b,r,r,r");
  CHECK_EQUAL(joined.run1({2, 1, 0}), 1);
  CHECK_EQUAL(joined.run1({2, 1, 1}), 0);
  CHECK_EQUAL(joined.run1({1, 2, 0}), 0);
}

/// A loop waits: the test fails once, and the thread lets others run.
static void testLoop() {
  Subject wait = Subject::assembly(R"({
      .reg .pred P1;
      LAB_WAIT:
      mbarrier.try_wait.parity.b64 P1, [$0], $1, $2;
      @P1 bra.uni DONE;
      bra.uni LAB_WAIT;
      DONE:
    })",
                                   "r,r,r");
  CHECK_EQUAL(wait.unknown, std::string());
  wait.machine.complete = false;
  wait.run({sharedBase, 1, 100});
  CHECK_EQUAL(wait.machine.log, "parity 1 waits; pause; parity 1 waits");
}

static void testWarpTexts() {
  Subject elect = Subject::assembly(
      "{.reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 $0, 1, 0, p;}",
      "=r");
  CHECK(elect.get().group == Instruction::Group::Warp);
  CHECK(!elect.get().maskOperand);
  auto elected = elect.runWarp(std::vector<Words>(warpSize));
  CHECK_EQUAL(elected[0].at(0), 1);
  CHECK_EQUAL(elected[1].at(0), 0);
  Subject sum = Subject::assembly("{.reg .b32 t; shfl.sync.bfly.b32 t, $1, 1, "
                                  "31, $2; add.s32 $0, $1, t;}",
                                  "=r,r,r");
  CHECK(sum.get().maskOperand == 1u);
  std::vector<Words> operands;
  for (uint64_t lane = 0; lane < warpSize; ++lane)
    operands.push_back({lane, 0xffffffff});
  CHECK_EQUAL(sum.runWarp(operands)[6].at(0), 13);
}

/// Unknown is what is not all known, by its text.
static void testUnknown() {
  const struct {
    const char *text, *constraints, *unknown;
  } texts[] = {
      {"setmaxnreg.inc.sync.aligned.u32 240;", "",
       "setmaxnreg.inc.sync.aligned.u32 240;"},
      {"mov.b32 $0, 1; wgmma.fence.sync.aligned; mov.b32 $0, 2;", "=r",
       "wgmma.fence.sync.aligned;"},
      {"add.rn.nearly.f32 $0, $1, $1;", "=r,r",
       "add.rn.nearly.f32 $0, $1, $1;"},
      {"add.s32 $0, $1;", "=r,r", "add.s32 $0, $1;"},
      {"mov.b32 $0, other;", "=r", "mov.b32 $0, other; (operand `other`)"},
      {"mov.b32 $0, $7;", "=r", "mov.b32 $0, $7; (operand `$7`)"},
      {"mov.b32 $0, 1.5;", "=r", "mov.b32 $0, 1.5; (constant `1.5`)"},
      {"bra NOWHERE;", "", "(a branch to `NOWHERE`)"},
      {"{ mov.b32 $0, 1;", "=r", "(a brace that is not closed)"},
      {"}", "", "} (a brace that is not opened)"},
      {"@$1 shfl.sync.idx.b32 $0, $0, 0, 31, -1;", "=r,b",
       "@$1 shfl.sync.idx.b32 $0, $0, 0, 31, -1; (a predicate on an "
       "instruction of a warp)"},
      {"ld.shared.b32 $0, [$1, $1];", "=r,r",
       "ld.shared.b32 $0, [$1, $1]; (an address that is more than a register "
       "and an offset)"},
      {"mov.b32 $0, {", "=r", "mov.b32 $0, { (operand ``)"},
      {"/* no end", "", ""},
  };
  for (const auto &text : texts) {
    Subject subject = Subject::assembly(text.text, text.constraints);
    CHECK_EQUAL(subject.unknown, std::string(text.unknown));
    CHECK(subject.known() == (*text.unknown == 0));
  }
  Subject mixed = Subject::assembly(
      "shfl.sync.idx.b32 $0, $0, 0, 31, -1; bar.sync 0;", "=r");
  CHECK(!mixed.known());
  Subject masked =
      Subject::assembly("shfl.sync.idx.b32 $0, $0, 0, 31, 0xff;", "=r");
  CHECK(!masked.known());
  Subject indirect = Subject::assembly("mov.b32 $0, 1;", "=*m");
  CHECK(!indirect.known());
}

void test::testAssembly() {
  testTexts();
  testLoop();
  testWarpTexts();
  testUnknown();
}
