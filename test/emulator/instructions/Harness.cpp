// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Harness.cpp - Instructions on a machine of the test's own ----------===//

#include "Harness.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Intrinsics.h"
#include <cstdio>
#include <cstring>

using namespace gatefold::emulator;
using namespace gatefold::emulator::test;

static int checks, failures;

void test::check(bool holds, const std::string &what, const char *file,
                 int line) {
  ++checks;
  if (holds)
    return;
  ++failures;
  std::printf("%s:%d: not so: %s\n", file, line, what.c_str());
}

void test::checkEqual(uint64_t got, uint64_t wanted, const char *what,
                      const char *file, int line) {
  ++checks;
  if (got == wanted)
    return;
  ++failures;
  std::printf("%s:%d: %s is 0x%llx, wanted 0x%llx\n", file, line, what,
              (unsigned long long)got, (unsigned long long)wanted);
}

void test::checkEqual(const std::string &got, const std::string &wanted,
                      const char *what, const char *file, int line) {
  ++checks;
  if (got == wanted)
    return;
  ++failures;
  std::printf("%s:%d: %s is\n  %s\nwanted\n  %s\n", file, line, what,
              got.c_str(), wanted.c_str());
}

llvm::LLVMContext &test::context() {
  static llvm::LLVMContext context;
  return context;
}

//===- The machine --------------------------------------------------------===//

void FakeMachine::note(const llvm::Twine &event) {
  if (!log.empty())
    log += "; ";
  log += event.str();
}

void FakeMachine::report(Thread &thread, FindingKind,
                         const llvm::Twine &message) {
  reports.push_back("lane " + std::to_string(thread.lane) + ": " +
                    message.str());
}

void *FakeMachine::access(Thread &thread, uint64_t address, unsigned bytes,
                          unsigned alignment, AccessKind) {
  if (address % alignment) {
    report(thread, FindingKind::Misaligned, "misaligned");
    return nullptr;
  }
  if (address < sharedBase || address + bytes > sharedBase + memory.size()) {
    report(thread, FindingKind::OutOfBounds, "out of bounds");
    return nullptr;
  }
  return memory.data() + (address - sharedBase);
}

void *FakeMachine::accessAtomic(Thread &thread, uint64_t address,
                                unsigned bytes, bool reads, bool writes,
                                Ordering ordering, Scope scope) {
  note("atomic " + llvm::Twine(reads) + llvm::Twine(writes) + " " +
       llvm::Twine(int(ordering)) + " " + llvm::Twine(int(scope)));
  return access(thread, address, bytes, bytes, AccessKind::Write);
}

void FakeMachine::fence(Thread &, Ordering ordering, Scope scope) {
  note("fence " + llvm::Twine(int(ordering)) + " " + llvm::Twine(int(scope)));
}
void FakeMachine::joinWarp(llvm::ArrayRef<Thread *> threads) {
  note("join " + llvm::Twine(threads.size()));
}
bool FakeMachine::blockBarrier(Thread &, unsigned id, unsigned count,
                               bool aligned) {
  note("barrier " + llvm::Twine(id) + " " + llvm::Twine(count) +
       (aligned ? " aligned" : ""));
  return true;
}
bool FakeMachine::blockArrive(Thread &, unsigned id, unsigned count, bool) {
  note("arrive " + llvm::Twine(id) + " " + llvm::Twine(count));
  return true;
}
std::optional<uint32_t> FakeMachine::blockReduce(Thread &, unsigned id,
                                                 unsigned count, bool predicate,
                                                 Reduction reduction) {
  note("reduce " + llvm::Twine(id) + " " + llvm::Twine(count) + " " +
       llvm::Twine(predicate) + " " + llvm::Twine(int(reduction)));
  return 1;
}
void FakeMachine::pause(Thread &) {
  note("pause");
  complete = true;
}
bool FakeMachine::copyAsync(Thread &, uint64_t destination, uint64_t source,
                            unsigned bytes, unsigned sourceBytes) {
  note("copy " + llvm::Twine::utohexstr(destination) + " " +
       llvm::Twine::utohexstr(source) + " " + llvm::Twine(bytes) + " " +
       llvm::Twine(sourceBytes));
  return true;
}
bool FakeMachine::waitCopies(Thread &, unsigned groups) {
  note("wait " + llvm::Twine(groups));
  return true;
}
bool FakeMachine::waitAllCopies(Thread &) {
  note("wait all");
  return true;
}
bool FakeMachine::arriveAfterCopies(Thread &, uint64_t, bool noIncrement) {
  note("arrive after copies " + llvm::Twine(noIncrement));
  return true;
}
bool FakeMachine::mbarrierInit(Thread &, uint64_t, uint32_t count) {
  note("init " + llvm::Twine(count));
  return true;
}
bool FakeMachine::mbarrierInvalidate(Thread &, uint64_t) {
  note("inval");
  return true;
}
std::optional<uint64_t> FakeMachine::mbarrierArrive(Thread &, uint64_t,
                                                    uint32_t count,
                                                    uint32_t bytes,
                                                    bool drops) {
  note("arrive " + llvm::Twine(count) + " " + llvm::Twine(bytes) +
       (drops ? " drop" : ""));
  return 7;
}
bool FakeMachine::mbarrierExpect(Thread &, uint64_t, uint32_t bytes) {
  note("expect " + llvm::Twine(bytes));
  return true;
}
std::optional<bool> FakeMachine::mbarrierTest(Thread &, uint64_t,
                                              uint64_t state, bool waits) {
  note("test " + llvm::Twine(state) + (waits ? " waits" : ""));
  return complete;
}
std::optional<bool> FakeMachine::mbarrierTestParity(Thread &, uint64_t,
                                                    uint32_t parity,
                                                    bool waits) {
  note("parity " + llvm::Twine(parity) + (waits ? " waits" : ""));
  return complete;
}

//===- The instruction ----------------------------------------------------===//

Subject::Subject() {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    threads[lane].lane = threads[lane].threadIndex.x = lane;
    threads[lane].blockSize.x = warpSize;
  }
}

Subject Subject::intrinsic(llvm::StringRef name,
                           llvm::ArrayRef<llvm::Type *> types) {
  Subject subject;
  auto id = llvm::Intrinsic::lookupIntrinsicID(name);
  check(id != llvm::Intrinsic::not_intrinsic, name.str() + " is an intrinsic",
        __FILE__, __LINE__);
  llvm::Type *real = llvm::Type::getFloatTy(context());
  if (llvm::Intrinsic::isOverloaded(id) && types.empty())
    types = real;
  subject.type = llvm::Intrinsic::getType(context(), id, types);
  subject.instruction = findIntrinsic(name, subject.type);
  check(subject.known(), name.str() + " is known", __FILE__, __LINE__);
  return subject;
}

Subject Subject::assembly(llvm::StringRef text, llvm::StringRef constraints) {
  Subject subject;
  llvm::SmallVector<llvm::Type *, 8> results, operands;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  constraints.split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    if (part.starts_with("~"))
      continue;
    bool result = part.consume_front("=");
    llvm::Type *type = part == "b"   ? llvm::Type::getInt1Ty(context())
                       : part == "h" ? llvm::Type::getInt16Ty(context())
                       : part == "l" ? llvm::Type::getInt64Ty(context())
                                     : llvm::Type::getInt32Ty(context());
    (result ? results : operands).push_back(type);
  }
  llvm::Type *result = results.empty() ? llvm::Type::getVoidTy(context())
                       : results.size() == 1
                           ? results[0]
                           : llvm::StructType::get(context(), results);
  subject.type = llvm::FunctionType::get(result, operands, false);
  subject.instruction =
      findAssembly(text, constraints, subject.type, subject.unknown);
  return subject;
}

static unsigned bytesOf(llvm::Type *type) {
  return type->isPointerTy()
             ? 8
             : std::max<unsigned>(type->getPrimitiveSizeInBits() / 8, 1);
}

std::vector<Words> Subject::runWarp(const std::vector<Words> &operands,
                                    uint32_t mask) {
  std::vector<Words> results(operands.size());
  if (!known())
    return results;
  llvm::SmallVector<llvm::Type *, 8> types;
  if (auto *aggregate = llvm::dyn_cast<llvm::StructType>(type->getReturnType()))
    types.assign(aggregate->element_begin(), aggregate->element_end());
  else if (!type->getReturnType()->isVoidTy())
    types.push_back(type->getReturnType());

  std::vector<std::vector<const void *>> pointers(operands.size());
  std::vector<std::vector<uint8_t>> memory(operands.size());
  std::vector<Lane> lanes(operands.size());
  std::vector<Lane *> active(operands.size());
  for (size_t lane = 0; lane < operands.size(); ++lane) {
    if (!(mask >> lane & 1))
      continue;
    for (const uint64_t &word : operands[lane])
      pointers[lane].push_back(&word);
    memory[lane].assign(128, 0xee);
    lanes[lane] = {&threads[lane], pointers[lane], memory[lane].data()};
    active[lane] = &lanes[lane];
  }
  instruction->execute(machine, active);
  for (size_t lane = 0; lane < operands.size(); ++lane) {
    unsigned offset = 0;
    for (llvm::Type *each : types) {
      unsigned bytes = bytesOf(each);
      offset = (offset + bytes - 1) / bytes * bytes;
      uint64_t word = 0;
      if (active[lane]) {
        std::memcpy(&word, memory[lane].data() + offset, bytes);
        results[lane].push_back(word);
      }
      offset += bytes;
    }
  }
  return results;
}

Words Subject::run(const Words &operands) {
  Words result = runWarp({operands}, 1).front();
  result.resize(std::max<size_t>(result.size(), 1));
  return result;
}

int main() {
  testNumbers();
  testApproximations();
  testIntegers();
  testWarp();
  testMatrices();
  testAssembly();
  testMemory();
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures ? 1 : 0;
}
