// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeGpu.cpp - memory, modules, launches and streams of the GPU for tests.

#include "FakeGpu.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace fake;
using namespace gatefold;

/// Added to the emulator's addresses: no address of a process is so large.
static constexpr uint64_t bias = uint64_t(1) << 56;

Gpu &Gpu::get() {
  // Never destroyed: models may outlive what the library ends with.
  static Gpu *gpu = new Gpu();
  return *gpu;
}

Settings Settings::fromEnvironment() {
  Settings settings;
  const char *text = getenv("GATEFOLD_FAKE_GPU");
  std::istringstream words(text ? text : "");
  std::string word;
  std::map<std::string, int *> places = {
      {"count", &settings.count},
      {"capability", &settings.capability},
      {"multiprocessors", &settings.multiprocessors},
      {"blocks", &settings.blocks},
      {"cooperative", &settings.cooperative},
      {"version", &settings.version},
      {"initialise", &settings.initialise}};
  while (words >> word) {
    size_t equals = word.find('=');
    auto place = places.find(word.substr(0, equals));
    if (equals == std::string::npos || place == places.end())
      Gpu::get().complain("GATEFOLD_FAKE_GPU: " + word);
    else
      *place->second = atoi(word.c_str() + equals + 1);
  }
  return settings;
}

std::string Gpu::leaks() const {
  std::string text;
  for (auto &[address, allocation] : allocations)
    if (allocation.isLive && !allocation.isPinned)
      text += std::to_string(allocation.bytes) + " bytes are not freed\n";
  if (!modules.empty())
    text += std::to_string(modules.size()) + " modules are not unloaded\n";
  if (contexts)
    text += std::to_string(contexts) + " contexts are not released\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

emulator::Device &Gpu::device() {
  if (!memory)
    memory = llvm::cantFail(emulator::Device::create());
  return *memory;
}

int Gpu::allocate(uint64_t &address, uint64_t bytes, bool isPinned) {
  if (bytes == 0) {
    complain("an allocation of no bytes");
    return InvalidValue;
  }
  auto found = device().allocate(bytes, 256, "device memory");
  if (!found) {
    llvm::consumeError(found.takeError());
    return OutOfMemory;
  }
  allocations[*found] = {bytes, isPinned, true};
  address = *found + (isPinned ? 0 : bias);
  return Success;
}

const std::pair<const uint64_t, Gpu::Allocation> *
Gpu::find(uint64_t address) const {
  bool isPinned = address < bias;
  uint64_t place = isPinned ? address : address - bias;
  auto next = allocations.upper_bound(place);
  if (next == allocations.begin())
    return nullptr;
  auto &entry = *std::prev(next);
  bool isInside = place - entry.first <= entry.second.bytes;
  return isInside && entry.second.isPinned == isPinned ? &entry : nullptr;
}

int Gpu::free(uint64_t address, bool isPinned) {
  auto *entry = find(address);
  if (!entry || entry->second.isPinned != isPinned || !entry->second.isLive ||
      entry->first != (isPinned ? address : address - bias)) {
    complain("what is freed is no allocation");
    return InvalidValue;
  }
  allocations[entry->first].isLive = false;
  return Success;
}

bool Gpu::isOfGpu(uint64_t address) const { return address >= bias; }

bool Gpu::isPinned(uint64_t address) const {
  auto *entry = find(address);
  return entry && entry->second.isPinned;
}

uint64_t Gpu::translate(uint64_t address, uint64_t bytes, const char *what) {
  auto *entry = find(address);
  if (!entry) {
    complain(std::string(what) + ": an address that is not the GPU's");
    return 0;
  }
  uint64_t place = isOfGpu(address) ? address - bias : address;
  if (!entry->second.isLive)
    complain(std::string(what) + ": memory that is freed");
  else if (bytes > entry->second.bytes - (place - entry->first))
    complain(std::string(what) + ": beyond the end of an allocation");
  else
    return place;
  return 0;
}

int Gpu::copyIn(uint64_t to, const void *from, uint64_t bytes) {
  uint64_t place = translate(to, bytes, "copy to the GPU");
  if (place == 0)
    return InvalidValue;
  llvm::cantFail(device().copyIn(
      place, {static_cast<const uint8_t *>(from), size_t(bytes)}));
  return Success;
}

int Gpu::copyOut(void *to, uint64_t from, uint64_t bytes) {
  uint64_t place = translate(from, bytes, "copy from the GPU");
  if (place == 0)
    return InvalidValue;
  llvm::cantFail(
      device().copyOut(place, {static_cast<uint8_t *>(to), size_t(bytes)}));
  return Success;
}

int Gpu::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  std::vector<uint8_t> between(bytes);
  if (int result = copyOut(between.data(), from, bytes))
    return result;
  return copyIn(to, between.data(), bytes);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

/// The kernels that stand for an image: LLVM IR as text stands for itself, the
/// runtime's own PTX for the file that it is made from, and anything else for
/// the file that GATEFOLD_FAKE_KERNELS names.
static llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>
findCode(const char *image) {
  if (!strncmp(image, "; LLVM", 6))
    return llvm::MemoryBuffer::getMemBufferCopy(image, "image");
  if (!strncmp(image, "//", 2) && strstr(image, "gatefold_check_kernel"))
    return llvm::MemoryBuffer::getFile(GATEFOLD_CHECK_VALUES);
  const char *file = getenv("GATEFOLD_FAKE_KERNELS");
  return llvm::MemoryBuffer::getFile(file ? file : "GATEFOLD_FAKE_KERNELS");
}

int Gpu::load(Module *&module, const char *image) {
  // What tests ask for in place of code.
  if (!strcmp(image, "no binary"))
    return NoBinaryForGpu;
  if (!strcmp(image, "new ptx"))
    return UnsupportedPtxVersion;
  auto code = findCode(image);
  if (!code) {
    complain("no code for an image: " + code.getError().message());
    return InvalidValue;
  }
  auto program = emulator::Program::load(device(), (*code)->getMemBufferRef());
  if (!program) {
    complain("no program: " + llvm::toString(program.takeError()));
    return InvalidValue;
  }
  modules.push_back({std::move(*program)});
  module = &modules.back();
  return Success;
}

int Gpu::launch(const Function &function, unsigned grid, unsigned block,
                unsigned sharedBytes, bool isCooperative, Stream *stream,
                void *const *parameters) {
  const emulator::Kernel &kernel = *function.kernel;
  std::string name = "launch of " + kernel.name;
  if (isCooperative &&
      grid > unsigned(settings.multiprocessors * settings.blocks)) {
    complain(name + ": more blocks than are resident");
    return LaunchTooLarge;
  }
  if (sharedBytes > function.sharedBytes) {
    complain(name + ": more shared memory than was asked for");
    return InvalidValue;
  }
  std::vector<emulator::Argument> arguments;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const emulator::Parameter &parameter = kernel.parameters[i];
    emulator::Argument argument;
    argument.bytes.resize(parameter.bytes);
    memcpy(argument.bytes.data(), parameters[i], parameter.bytes);
    if (llvm::StringRef(parameter.type).starts_with("ptr")) {
      uint64_t address;
      memcpy(&address, argument.bytes.data(), sizeof(address));
      if (address)
        address = translate(address, 0, name.c_str());
      memcpy(argument.bytes.data(), &address, sizeof(address));
    }
    arguments.push_back(std::move(argument));
  }
  emulator::LaunchOptions options;
  options.grid = {grid, 1, 1};
  options.block = {block, 1, 1};
  options.dynamicSharedBytes = sharedBytes;
  options.cooperative = isCooperative;
  enqueue(*stream, [=] { return execute(function, arguments, options); });
  return Success;
}

int Gpu::execute(const Function &function,
                 std::vector<emulator::Argument> arguments,
                 const emulator::LaunchOptions &options) {
  // The host may have written pinned memory.
  for (auto &[address, allocation] : allocations)
    if (allocation.isPinned && allocation.isLive) {
      std::vector<uint8_t> bytes(allocation.bytes);
      memcpy(bytes.data(), reinterpret_cast<void *>(address), bytes.size());
      llvm::cantFail(device().copyIn(address, bytes));
    }
  auto result = function.module->program->launch(function.kernel->name,
                                                 arguments, options);
  if (!result) {
    complain(llvm::toString(result.takeError()));
    return InvalidValue;
  }
  for (const emulator::Finding &finding : result->findings)
    complain(function.kernel->name + ": " + finding.message);
  return result->finished ? Success : IllegalAddress;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void Gpu::enqueue(Stream &stream, Work work) {
  if (stream.capture)
    stream.capture->work.push_back(std::move(work));
  else
    stream.pending.push_back(std::move(work));
}

int Gpu::drain(Stream &stream) {
  while (!stream.pending.empty()) {
    Work work = std::move(stream.pending.front());
    stream.pending.pop_front();
    if (int result = work())
      fault = result;
  }
  return fault;
}

/// The default stream waits for all others, and they for it.
int Gpu::flush(Stream &stream) {
  if (&stream == &defaultStream)
    for (Stream &each : streams)
      drain(each);
  drain(defaultStream);
  return drain(stream);
}

bool Gpu::isCapturing() const {
  for (const Stream &stream : streams)
    if (stream.capture)
      return true;
  return false;
}

int Gpu::refuseInCapture(const char *what) {
  if (!isCapturing())
    return Success;
  complain(std::string(what) + " while a stream captures");
  for (Stream &stream : streams)
    stream.isBroken |= stream.capture != nullptr;
  return CaptureUnsupported;
}
