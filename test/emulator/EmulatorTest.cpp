// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmulatorTest.cpp - The emulator as a library -----------------------===//
//
// What the program does not reach: several launches on one device, limits, and
// errors of the interface. Prints what fails; the exit status is how much did.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Emulator.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace gatefold::emulator;

/// How often the shadow disagrees with its reference.
int testShadow();
/// How many intrinsics end in more than a finding.
int testArithmetic();

static int failures = 0;

static void check(bool holds, const char *what, int line) {
  if (holds)
    return;
  ++failures;
  errs() << "EmulatorTest.cpp:" << line << ": " << what << "\n";
}
#define CHECK(condition) check(condition, #condition, __LINE__)

/// The message of an error; of none: empty.
static std::string messageOf(Error error) { return toString(std::move(error)); }
template <typename T> static std::string messageOf(Expected<T> value) {
  return value ? std::string() : toString(value.takeError());
}

static bool contains(StringRef text, StringRef part) {
  return text.contains(part);
}

static const char *const text = R"(
target triple = "nvptx64-nvidia-cuda"

@calls = internal addrspace(1) global i32 10

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; x[thread] = start + thread
define ptx_kernel void @write(ptr addrspace(1) %x, i32 %start) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %value = add i32 %start, %thread
  %place = getelementptr i32, ptr addrspace(1) %x, i32 %thread
  store i32 %value, ptr addrspace(1) %place
  ret void
}

; x[3 - thread] is doubled: what another thread wrote, in another launch.
define ptx_kernel void @double(ptr addrspace(1) %x) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %turned = sub i32 3, %thread
  %place = getelementptr i32, ptr addrspace(1) %x, i32 %turned
  %value = load i32, ptr addrspace(1) %place
  %both = shl i32 %value, 1
  store i32 %both, ptr addrspace(1) %place
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}

define ptx_kernel void @count() {
  %value = load i32, ptr addrspace(1) @calls
  %more = add i32 %value, 1
  store i32 %more, ptr addrspace(1) @calls
  ret void
}

define ptx_kernel void @copy_count(ptr addrspace(1) %x) {
  %value = load i32, ptr addrspace(1) @calls
  store i32 %value, ptr addrspace(1) %x
  ret void
}

; All threads of all blocks race with each other, at three places.
define ptx_kernel void @races(ptr addrspace(1) %x) {
  store i32 1, ptr addrspace(1) %x
  %second = getelementptr i32, ptr addrspace(1) %x, i32 1
  store i32 2, ptr addrspace(1) %second
  %third = getelementptr i32, ptr addrspace(1) %x, i32 2
  store i32 3, ptr addrspace(1) %third
  ret void
}
)";

static std::vector<int32_t> read(Device &device, uint64_t address,
                                 size_t count) {
  std::vector<int32_t> values(count, -1);
  CHECK(messageOf(device.copyOut(
            address, MutableArrayRef(reinterpret_cast<uint8_t *>(values.data()),
                                     count * sizeof(int32_t)))) == "");
  return values;
}

static void testLaunches(Device &device, Program &program) {
  uint64_t x = cantFail(device.allocate(16, 256, "x"));
  LaunchOptions options;
  options.block = {4, 1, 1};
  CHECK(cantFail(device.countUninitialised(x, 16)) == 16);

  // What one launch wrote the next one reads, with no race between them.
  auto first = program.launch(
      "write", {Argument::of(x), Argument::of(int32_t(5))}, options);
  CHECK(first && first->findings.empty() && first->finished);
  CHECK(cantFail(device.countUninitialised(x, 16)) == 0);
  auto second = program.launch("double", {Argument::of(x)}, options);
  CHECK(second && second->findings.empty());
  CHECK((read(device, x, 4) == std::vector<int32_t>{10, 12, 14, 16}));
  CHECK(second->statistics.barriers == 1);
  CHECK(second->statistics.threads == 4);
  CHECK(second->statistics.globalBytesRead == 16);
  CHECK(second->statistics.globalBytesWritten == 16);

  // Variables of the device live on.
  options.block = {1, 1, 1};
  for (int i = 0; i < 3; ++i)
    CHECK(program.launch("count", {}, options)->finished);
  CHECK(program.launch("copy_count", {Argument::of(x)}, options)->finished);
  CHECK(read(device, x, 1)[0] == 13);

  // A launch that ended early leaves a device that can be used.
  auto wild = program.launch("copy_count", {Argument::of(x + 16)}, options);
  CHECK(wild && !wild->finished &&
        wild->findings.back().kind == FindingKind::OutOfBounds);
  CHECK(program.launch("copy_count", {Argument::of(x)}, options)->finished);
}

static void testFindings(Device &device, Program &program) {
  uint64_t x = cantFail(device.allocate(12, 256, "three"));
  LaunchOptions options;
  options.grid = {3, 1, 1};
  options.block = {2, 1, 1};
  auto all = program.launch("races", {Argument::of(x)}, options);
  CHECK(all && all->finished && all->findings.size() == 3);
  uint64_t count = 0;
  for (const Finding &finding : all->findings) {
    CHECK(finding.kind == FindingKind::GlobalRace);
    CHECK(finding.events.size() == 2);
    count += finding.count;
  }
  CHECK(count == 3 * 5);
  options.limits.findings = 1;
  auto one = program.launch("races", {Argument::of(x)}, options);
  CHECK(one && !one->finished && one->findings.size() == 1);

  CHECK(messageOf(device.makeReadOnly(x, 12)) == "");
  auto constant = program.launch("races", {Argument::of(x)}, options);
  CHECK(constant &&
        constant->findings.front().kind == FindingKind::ForeignMemory);
}

static void testErrors(Device &device, Program &program) {
  LaunchOptions options;
  options.grid = {0, 1, 1};
  CHECK(contains(messageOf(program.launch("count", {}, options)),
                 "the grid is (0, 1, 1)"));
  options.grid = {0x7fffffff, 65535, 65535};
  CHECK(contains(messageOf(program.launch("count", {}, options)),
                 "too many to number"));
  options.grid = {1, 1, 1};
  options.block = {32, 32, 2};
  CHECK(contains(messageOf(program.launch("count", {}, options)),
                 "2048 threads"));
  options.block = {1, 1, 1};
  options.dynamicSharedBytes = uint64_t(1) << 40;
  CHECK(contains(messageOf(program.launch("count", {}, options)),
                 "dynamic shared memory"));

  CHECK(contains(messageOf(device.allocate(~uint64_t(0), 256, "all")),
                 "does not fit"));
  CHECK(contains(messageOf(device.allocate(8, 3, "odd")), "no power of 2"));
  uint64_t x = cantFail(device.allocate(8, 8, "x"));
  CHECK(x % 8 == 0 && x % 16 != 0);
  std::vector<uint8_t> bytes(9);
  CHECK(contains(messageOf(device.copyIn(x, bytes)), "not 9 bytes"));
  CHECK(contains(messageOf(device.copyOut(x + 4, bytes)), "not 9 bytes"));
  CHECK(contains(messageOf(device.copyIn(0, bytes)), "not 9 bytes"));
  CHECK(contains(messageOf(device.countUninitialised(x, 9)), "not 9 bytes"));
}

int main() {
  auto device = Device::create();
  if (!device) {
    errs() << toString(device.takeError()) << "\n";
    return 1;
  }
  auto program = Program::load(**device, MemoryBufferRef(text, "test"));
  if (!program) {
    errs() << toString(program.takeError()) << "\n";
    return 1;
  }
  CHECK((*program)->kernels().size() == 5);
  CHECK((*program)->kernels()[0].parameters[1].bytes == 4);
  testLaunches(**device, **program);
  testFindings(**device, **program);
  testErrors(**device, **program);
  CHECK(testShadow() == 0);
  CHECK(testArithmetic() == 0);
  return failures;
}
