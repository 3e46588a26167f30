// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Harness.h - Instructions on a machine of the test's own --*- C++ -*-===//
//
// The machine has 64 KiB of shared memory and notes what it is asked to do; the
// instruction gets words for operands and gives words for results.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_EMULATOR_INSTRUCTIONS_HARNESS_H
#define TEST_EMULATOR_INSTRUCTIONS_HARNESS_H

#include "runtime/emulator/Instruction.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/LLVMContext.h"
#include <string>
#include <vector>

namespace gatefold::emulator::test {

using Words = std::vector<uint64_t>;

void check(bool holds, const std::string &what, const char *file, int line);
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(got, wanted)                                               \
  checkEqual((got), (wanted), #got, __FILE__, __LINE__)
void checkEqual(uint64_t got, uint64_t wanted, const char *what,
                const char *file, int line);
void checkEqual(const std::string &got, const std::string &wanted,
                const char *what, const char *file, int line);

inline constexpr uint64_t sharedBase = 0x100000, sharedBytes = 65536;

class FakeMachine final : public Machine {
public:
  std::vector<uint8_t> memory = std::vector<uint8_t>(2 * sharedBytes);
  std::string log;
  std::vector<std::string> reports;
  bool complete = true;

  template <typename T> T &at(uint64_t offset) {
    return *reinterpret_cast<T *>(memory.data() + offset);
  }

  void *access(Thread &, uint64_t address, unsigned bytes, unsigned alignment,
               AccessKind) override;
  void *accessAtomic(Thread &, uint64_t address, unsigned bytes, bool reads,
                     bool writes, Ordering ordering, Scope scope) override;
  void fence(Thread &, Ordering ordering, Scope scope) override;
  void joinWarp(llvm::ArrayRef<Thread *> threads) override;
  bool isShared(Thread &, uint64_t address) override {
    return address - sharedBase < sharedBytes;
  }
  bool isLocal(Thread &, uint64_t) override { return false; }
  bool blockBarrier(Thread &, unsigned, unsigned, bool) override;
  bool blockArrive(Thread &, unsigned, unsigned, bool) override;
  std::optional<uint32_t> blockReduce(Thread &, unsigned, unsigned, bool,
                                      Reduction) override;
  void pause(Thread &) override;
  void exit(Thread &) override { note("exit"); }
  bool copyAsync(Thread &, uint64_t, uint64_t, unsigned, unsigned) override;
  void commitCopies(Thread &) override { note("commit"); }
  bool waitCopies(Thread &, unsigned groups) override;
  bool waitAllCopies(Thread &) override;
  bool arriveAfterCopies(Thread &, uint64_t, bool) override;
  bool mbarrierInit(Thread &, uint64_t, uint32_t) override;
  bool mbarrierInvalidate(Thread &, uint64_t) override;
  std::optional<uint64_t> mbarrierArrive(Thread &, uint64_t, uint32_t, uint32_t,
                                         bool) override;
  bool mbarrierExpect(Thread &, uint64_t, uint32_t) override;
  std::optional<bool> mbarrierTest(Thread &, uint64_t, uint64_t, bool) override;
  std::optional<bool> mbarrierTestParity(Thread &, uint64_t, uint32_t,
                                         bool) override;
  uint64_t clock() override { return ++ticks; }
  uint32_t print(Thread &, uint64_t, uint64_t) override { return 0; }
  void report(Thread &thread, FindingKind kind,
              const llvm::Twine &message) override;

private:
  void note(const llvm::Twine &event);
  uint64_t ticks = 0;
};

/// An instruction that a test executes.
class Subject {
public:
  /// By an intrinsic's name and, where it is overloaded, its types (f32).
  static Subject intrinsic(llvm::StringRef name,
                           llvm::ArrayRef<llvm::Type *> types = {});
  /// Of text whose results and operands have the types that its constraints
  /// stand for: `b` i1, `h` i16, `r` i32, `l` i64.
  static Subject assembly(llvm::StringRef text, llvm::StringRef constraints);

  bool known() const { return instruction.has_value(); }
  const Instruction &get() const { return *instruction; }
  std::string unknown;

  /// One thread.
  Words run(const Words &operands);
  uint64_t run1(const Words &operands) { return run(operands).at(0); }
  /// The lanes of a mask; results of others are empty.
  std::vector<Words> runWarp(const std::vector<Words> &operands,
                             uint32_t mask = ~0u);

  FakeMachine machine;
  Thread threads[warpSize];

private:
  Subject();
  std::optional<Instruction> instruction;
  llvm::FunctionType *type = nullptr;
};

llvm::LLVMContext &context();

/// The parts of the test.
void testNumbers();
void testApproximations();
void testIntegers();
void testWarp();
void testMatrices();
void testAssembly();
void testMemory();

} // namespace gatefold::emulator::test

#endif // TEST_EMULATOR_INSTRUCTIONS_HARNESS_H
