// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MemoryTest.cpp - Memory, copies, barriers, registers ---------------===//

#include "Harness.h"
#include "llvm/IR/DerivedTypes.h"

using namespace gatefold::emulator;
using namespace gatefold::emulator::test;

/// What a text of operands asks of the machine.
static std::string logOf(const char *text, const char *constraints,
                         const Words &operands) {
  Subject subject = Subject::assembly(text, constraints);
  check(subject.known(), std::string(text) + ": " + subject.unknown, __FILE__,
        __LINE__);
  subject.run(operands);
  return subject.machine.log;
}
static std::string logOf(const std::string &name, const Words &operands) {
  Subject subject = Subject::intrinsic("llvm.nvvm." + name);
  subject.run(operands);
  return subject.machine.log;
}

static void testLoads() {
  const uint64_t a = sharedBase;
  Subject load = Subject::assembly(
      "ld.shared.v4.u32 {$0, $1, $2, $3}, [$4+16];", "=r,=r,=r,=r,l");
  for (unsigned index = 0; index < 4; ++index)
    load.machine.at<uint32_t>(16 + 4 * index) = 7 + index;
  Words loaded = load.run({a});
  CHECK_EQUAL(loaded.at(0), 7);
  CHECK_EQUAL(loaded.at(3), 10);
  load.run({a + 4});
  CHECK_EQUAL(load.machine.reports.at(0), "lane 0: misaligned");
  load.machine.reports.clear();
  CHECK_EQUAL(load.run1({64}), 0);
  CHECK_EQUAL(load.machine.reports.at(0),
              "lane 0: address 0x50 is not in shared memory, where the "
              "instruction looks for it");
  // Signs go on into a wider register.
  Subject narrow = Subject::assembly("ld.shared.s8 $0, [$1];", "=r,l");
  narrow.machine.at<int8_t>(0) = -3;
  CHECK_EQUAL(narrow.run1({a}), uint32_t(-3));
  Subject store =
      Subject::assembly("st.shared.v2.f32 [$0+-8], {$1, $2};", "l,r,r");
  store.run({a + 8, 5, 6});
  CHECK_EQUAL(store.machine.at<uint64_t>(0), uint64_t(6) << 32 | 5);
  // Orders and scopes (Instruction.h): acquire 1, release 2; block 2, device 4,
  // system 5.
  CHECK_EQUAL(
      logOf("ld.acquire.gpu.global.u32 $0, [$1];", "=r,l", {a + sharedBytes}),
      "atomic 10 1 4");
  CHECK_EQUAL(logOf("st.release.cta.shared::cta.b32 [$0], $1;", "l,r", {a, 1}),
              "atomic 01 2 2");
  CHECK_EQUAL(logOf("ld.volatile.shared.u32 $0, [$1];", "=r,l", {a}),
              "atomic 10 0 5");
}

static void testAtomics() {
  auto update = [](const char *operation, uint32_t before, Words operands) {
    std::string text = "atom.shared." + std::string(operation) + " $0, [$1]";
    std::string constraints = "=r,l";
    for (size_t index = 1; index <= operands.size(); ++index) {
      text += ", $" + std::to_string(index + 1);
      constraints += ",r";
    }
    Subject subject = Subject::assembly(text + ";", constraints);
    check(subject.known(), text + ": " + subject.unknown, __FILE__, __LINE__);
    subject.machine.at<uint32_t>(0) = before;
    operands.insert(operands.begin(), sharedBase);
    CHECK_EQUAL(subject.run1(operands), before);
    return subject.machine.at<uint32_t>(0);
  };
  CHECK_EQUAL(update("add.u32", 5, {7}), 12);
  CHECK_EQUAL(update("min.s32", 5, {0xffffffff}), 0xffffffff);
  CHECK_EQUAL(update("min.u32", 5, {0xffffffff}), 5);
  CHECK_EQUAL(update("max.u32", 5, {0xffffffff}), 0xffffffff);
  CHECK_EQUAL(update("inc.u32", 5, {5}), 0);
  CHECK_EQUAL(update("inc.u32", 4, {5}), 5);
  CHECK_EQUAL(update("dec.u32", 0, {5}), 5);
  CHECK_EQUAL(update("exch.b32", 5, {9}), 9);
  CHECK_EQUAL(update("cas.b32", 5, {5, 8}), 8);
  CHECK_EQUAL(update("cas.b32", 5, {6, 8}), 5);
  CHECK_EQUAL(update("xor.b32", 5, {6}), 3);
  CHECK_EQUAL(update("add.f32", 0x3f800000, {0x40000000}), 0x40400000);
  CHECK_EQUAL(update("add.noftz.f16x2", 0x3c003c00, {0x4000bc00}), 0x42000000);
  CHECK_EQUAL(logOf("red.release.gpu.global.add.u32 [$0], 1;", "l",
                    {sharedBase + sharedBytes}),
              "atomic 11 2 4");
}

static void testCopies() {
  const uint64_t to = sharedBase, from = sharedBase + sharedBytes;
  CHECK_EQUAL(logOf("cp.async.cg.shared.global.16", {to, from}),
              "copy 100000 110000 16 16");
  CHECK_EQUAL(logOf("cp.async.ca.shared.global.8.s", {to, from, 3}),
              "copy 100000 110000 8 3");
  // 32 bits hold an address of shared memory.
  CHECK_EQUAL(logOf("cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r",
                    {to, from, 0}),
              "copy 100000 110000 16 0");
  CHECK_EQUAL(logOf("cp.async.ca.shared.global.L2::128B [$0], [$1], 4, $2;",
                    "r,l,b", {to, from, 1}),
              "copy 100000 110000 4 0");
  CHECK_EQUAL(logOf("@$2 cp.async.ca.shared.global [$0], [$1], 4;", "r,l,b",
                    {to, from, 0}),
              "");
  Subject longer =
      Subject::intrinsic("llvm.nvvm.cp.async.ca.shared.global.8.s");
  longer.run({to, from, 9});
  CHECK_EQUAL(longer.machine.reports.at(0),
              "lane 0: cp.async of 8 bytes takes 9 of its source");
  CHECK_EQUAL(logOf("cp.async.commit.group", {}), "commit");
  CHECK_EQUAL(logOf("cp.async.wait.group", {2}), "wait 2");
  CHECK_EQUAL(logOf("cp.async.wait.all", {}), "wait all");
  CHECK_EQUAL(logOf("cp.async.mbarrier.arrive.noinc.shared", {to}),
              "arrive after copies 1");
  CHECK_EQUAL(logOf("mbarrier.init.shared", {to, 32}), "init 32");
  CHECK_EQUAL(logOf("mbarrier.arrive.shared", {to}), "arrive 1 0");
  CHECK_EQUAL(logOf("mbarrier.arrive.drop.noComplete.shared", {to, 3}),
              "arrive 3 0 drop");
  CHECK_EQUAL(logOf("mbarrier.test.wait.shared", {to, 9}), "test 9");
  CHECK_EQUAL(logOf("mbarrier.try.wait.parity.scope.cta.space.cta", {to, 1}),
              "parity 1 waits");
  CHECK_EQUAL(logOf("mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;", "r,r",
                    {to, 256}),
              "arrive 1 256");
}

static void testBarriers() {
  CHECK_EQUAL(logOf("barrier.cta.sync.aligned.all", {0}),
              "barrier 0 0 aligned");
  CHECK_EQUAL(logOf("barrier.cta.sync.count", {1, 64}), "barrier 1 64");
  CHECK_EQUAL(logOf("barrier.cta.arrive.aligned.count", {1, 64}),
              "arrive 1 64");
  CHECK_EQUAL(logOf("barrier.cta.red.popc.aligned.all", {0, 1}),
              "reduce 0 0 1 0");
  CHECK_EQUAL(logOf("barrier.cta.red.or.count", {2, 32, 0}), "reduce 2 32 0 2");
  CHECK_EQUAL(logOf("bar.arrive $0, 64;", "r", {3}), "arrive 3 64");
  CHECK_EQUAL(logOf("bar.sync 0;", "", {}), "barrier 0 0 aligned");
  CHECK_EQUAL(logOf("barrier.cluster.arrive.aligned", {}), "");
  CHECK_EQUAL(logOf("barrier.cluster.wait.aligned", {}),
              "barrier 16 0 aligned");
  CHECK_EQUAL(logOf("membar.gl", {}), "fence 3 4");
  CHECK_EQUAL(logOf("fence.sc.cluster", {}), "fence 3 3");
  CHECK_EQUAL(logOf("fence.acquire.gpu;", "", {}), "fence 1 4");
  CHECK_EQUAL(logOf("fence.proxy.async.shared_cta", {}), "");
  CHECK_EQUAL(logOf("nanosleep", {10}), "pause");
  CHECK_EQUAL(logOf("exit", {}), "exit");
  Subject trap = Subject::assembly("trap;", "");
  trap.run({});
  CHECK_EQUAL(trap.machine.log, "exit");
  CHECK_EQUAL(trap.machine.reports.at(0), "lane 0: the kernel traps");
}

static void testRegisters() {
  auto value = [](const std::string &name) {
    Subject subject = Subject::intrinsic("llvm.nvvm.read.ptx.sreg." + name);
    Thread &thread = subject.threads[0];
    thread.threadIndex = {5, 1, 2};
    thread.blockSize = {6, 7, 3};
    thread.blockIndex = {11, 12, 13};
    thread.gridSize = {21, 22, 23};
    thread.lane = 31;
    thread.warp = 3;
    thread.dynamicSharedBytes = 100;
    thread.staticSharedBytes = 11;
    return subject.run1({});
  };
  CHECK_EQUAL(value("tid.x"), 5);
  CHECK_EQUAL(value("ntid.y"), 7);
  CHECK_EQUAL(value("ctaid.z"), 13);
  CHECK_EQUAL(value("nctaid.x"), 21);
  CHECK_EQUAL(value("laneid"), 31);
  CHECK_EQUAL(value("warpid"), 3);
  CHECK_EQUAL(value("nwarpid"), 4);
  CHECK_EQUAL(value("warpsize"), 32);
  CHECK_EQUAL(value("lanemask.eq"), 0x80000000);
  CHECK_EQUAL(value("lanemask.lt"), 0x7fffffff);
  CHECK_EQUAL(value("lanemask.le"), 0xffffffff);
  CHECK_EQUAL(value("lanemask.ge"), 0x80000000);
  CHECK_EQUAL(value("lanemask.gt"), 0);
  CHECK_EQUAL(value("dynamic_smem_size"), 100);
  CHECK_EQUAL(value("total_smem_size"), 111);
  CHECK_EQUAL(value("cluster.nctarank"), 1);
  CHECK_EQUAL(value("clusterid.y"), 12);
  Subject clock = Subject::intrinsic("llvm.nvvm.read.ptx.sreg.clock64");
  uint64_t first = clock.run1({});
  CHECK(clock.run1({}) > first);
  CHECK_EQUAL(
      Subject::intrinsic("llvm.nvvm.isspacep.shared").run1({sharedBase}), 1);
  CHECK_EQUAL(
      Subject::intrinsic("llvm.nvvm.isspacep.global").run1({sharedBase}), 0);
  CHECK_EQUAL(Subject::intrinsic("llvm.nvvm.mapa").run1({sharedBase, 0}),
              sharedBase);
}

void test::testMemory() {
  testLoads();
  testAtomics();
  testCopies();
  testBarriers();
  testRegisters();
}
