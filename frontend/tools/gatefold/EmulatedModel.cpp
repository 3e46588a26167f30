// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmulatedModel.cpp - A model whose kernels are emulated -------------===//

#include "frontend/tools/gatefold/EmulatedModel.h"
#include "frontend/tools/gatefold/Messages.h"
#include "passes/gpu/Kernels.h"
#include "passes/support/Entry.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

/// Threads of each block where a kernel leaves it open: few, since every one
/// costs time, and more than a warp.
constexpr int32_t fewThreads = 64;

/// What the runtime calls an error that it does not know; messages are printed
/// already.
constexpr int32_t emulationFault = -1;

/// A memref descriptor as the runtime lays it out.
struct Descriptor {
  const int64_t *words;
  int32_t rank;
  int64_t elementBytes;

  char *first() const {
    return reinterpret_cast<char *>(words[1]) + words[2] * elementBytes;
  }
  /// From the first element to the end of the last one.
  uint64_t bytes() const {
    int64_t last = 0;
    for (int32_t dim = 0; dim < rank; ++dim) {
      if (words[3 + dim] == 0)
        return 0;
      last += (words[3 + dim] - 1) * words[3 + rank + dim];
    }
    return (last + 1) * elementBytes;
  }
};

} // namespace

static KernelLaunch readKernel(mlir::ModuleOp module, StringRef name) {
  KernelLaunch kernel = KernelLaunch::read(module, name);
  if (!kernel.areThreadsExact)
    kernel.threads = std::min(kernel.threads, fewThreads);
  return kernel;
}

EmulatedModel *EmulatedModel::current = nullptr;

EmulatedModel::EmulatedModel(mlir::ModuleOp module,
                             std::unique_ptr<MemoryBuffer> code,
                             const gatefold_description &host, unsigned blocks,
                             emulator::CopyTime copies)
    : code(std::move(code)), host(host), described(host),
      // Without it a run is written for one rank.
      blocks(host.useful_ranks ? blocks : 1), copies(copies) {
  assert(!current && "one emulated model at a time");
  current = this;
  runLaunched = readKernel(module, runKernel);
  prepareLaunched = readKernel(module, prepareKernel);
  described.run = run;
  described.arena_bytes = arenaBytes;
  // Blocks are not the runtime's threads: of those one is enough.
  described.useful_ranks = nullptr;
  if (host.prepare)
    described.prepare = prepare;
}

EmulatedModel::~EmulatedModel() { current = nullptr; }

bool EmulatedModel::fits() const {
  unsigned threads = runLaunched.threads;
  if (described.prepare)
    threads = std::max<unsigned>(threads, prepareLaunched.threads);
  uint64_t most = emulator::Limits().threads, mostBlocks = most / threads;
  if (blocks <= mostBlocks)
    return true;
  fail("--threads " + Twine(blocks) + ": the emulator has room for " +
           Twine(most) + " threads of a GPU at once, and each block has " +
           Twine(threads),
       ("--threads " + Twine(mostBlocks) + " at most").str());
  return false;
}

int64_t EmulatedModel::arenaBytes(const int64_t *symbols, int64_t) {
  return current->runArena =
             current->host.arena_bytes(symbols, current->blocks);
}

int32_t EmulatedModel::run(void *const *arguments, void *, int64_t, int64_t,
                           gatefold_team *) {
  const gatefold_description &host = current->host;
  std::vector<Tensor> tensors;
  auto add = [&](const gatefold_tensor *list, int64_t count, bool isWritten,
                 bool isPacked) {
    for (int64_t i = 0; i < count; ++i)
      tensors.push_back({list + i, isWritten, isPacked});
  };
  add(host.parameters, host.parameter_count, false, true);
  add(host.prepared, host.prepared_count, false, true);
  add(host.inputs, host.input_count, false, false);
  add(host.results, host.result_count, true, false);
  return current->launch(current->runLaunched, current->blocks, tensors,
                         arguments, current->runArena);
}

int32_t EmulatedModel::prepare(void *const *arguments, void *) {
  const gatefold_description &host = current->host;
  std::vector<Tensor> tensors;
  for (int64_t i = 0; i < host.parameter_count; ++i)
    tensors.push_back({host.parameters + i, false, true});
  for (int64_t i = 0; i < host.prepared_count; ++i)
    tensors.push_back({host.prepared + i, true, true});
  return current->launch(current->prepareLaunched, current->blocks, tensors,
                         arguments, host.prepare_arena_bytes());
}

void EmulatedModel::report(const emulator::Finding &finding) {
  found = true;
  std::string place;
  if (!finding.events.empty() && !finding.events.front().place.frames.empty()) {
    const auto &frame = finding.events.front().place.frames.front();
    place = frame.file + ":" + std::to_string(frame.line) + ":" +
            std::to_string(frame.column) + ": ";
  }
  fail(place + finding.message + " [" + emulator::nameOf(finding.kind) + "]",
       finding.hint);
}

int32_t EmulatedModel::launch(const KernelLaunch &kernel, unsigned blocks,
                              ArrayRef<Tensor> tensors, void *const *arguments,
                              int64_t arenaBytes) {
  auto result = tryLaunch(kernel, blocks, tensors, arguments, arenaBytes);
  if (result)
    return *result;
  found = true;
  fail("the emulator cannot launch " + kernel.name + ": " +
           toString(result.takeError()),
       tooLarge ? "smaller dimensions, or fewer blocks: --dim, --threads" : "");
  return emulationFault;
}

Expected<int32_t> EmulatedModel::tryLaunch(const KernelLaunch &kernel,
                                           unsigned blocks,
                                           ArrayRef<Tensor> tensors,
                                           void *const *arguments,
                                           int64_t arenaBytes) {
  auto device = emulator::Device::create();
  if (!device)
    return device.takeError();
  auto program = emulator::Program::load(**device, code->getMemBufferRef());
  if (!program)
    return program.takeError();
  std::vector<emulator::Argument> values;
  std::vector<uint64_t> addresses;
  auto allocate = [&](uint64_t bytes, uint64_t alignment,
                      StringRef name) -> Error {
    auto address =
        (*device)->allocate(std::max<uint64_t>(bytes, 1), alignment, name);
    if (!address) {
      tooLarge = true;
      return address.takeError();
    }
    addresses.push_back(*address);
    return Error::success();
  };
  auto pass = [&](ArrayRef<int64_t> passed, ArrayRef<int64_t> descriptor) {
    for (int64_t word : passed)
      values.push_back(emulator::Argument::of<uint64_t>(
          word == 1 ? addresses.back() : descriptor[word]));
  };

  std::vector<Descriptor> descriptors;
  for (auto [tensor, pointer, passed] :
       zip(tensors, ArrayRef(arguments, tensors.size()), kernel.words)) {
    int64_t elementBytes = divideCeil(tensor.tensor->element.bits, 8);
    int32_t rank = tensor.tensor->rank;
    Descriptor descriptor = {static_cast<const int64_t *>(pointer), rank,
                             elementBytes};
    descriptors.push_back(descriptor);
    bool isRead =
        (!tensor.isWritten || tensor.tensor->in_place) && descriptor.words[1];
    if (Error error = allocate(descriptor.bytes(),
                               tensor.isPacked ? arenaAlignment : elementBytes,
                               tensor.tensor->name))
      return std::move(error);
    if (isRead) {
      ArrayRef bytes(reinterpret_cast<uint8_t *>(descriptor.first()),
                     descriptor.bytes());
      if (Error error = (*device)->copyIn(addresses.back(), bytes))
        return std::move(error);
    }
    if (!tensor.isWritten && descriptor.bytes() != 0)
      if (Error error =
              (*device)->makeReadOnly(addresses.back(), descriptor.bytes()))
        return std::move(error);
    pass(passed, ArrayRef(descriptor.words, 3 + 2 * rank));
  }
  // The arena, of which the size is what is open.
  if (Error error = allocate(arenaBytes, arenaAlignment, "the arena"))
    return std::move(error);
  pass(kernel.words.back(), {0, 0, 0, arenaBytes, 1});
  if (Error error = allocate(TeamWords * 4, 8, "the team's memory"))
    return std::move(error);
  std::vector<uint8_t> team(TeamWords * 4);
  if (Error error = (*device)->copyIn(addresses.back(), team))
    return std::move(error);
  pass({1}, {});

  emulator::LaunchOptions options;
  options.grid = {blocks, 1, 1};
  options.block = {static_cast<uint32_t>(kernel.threads), 1, 1};
  options.cooperative = true;
  options.copies = copies;
  options.dynamicSharedBytes = kernel.sharedBytes;
  auto result = (*program)->launch(kernel.name, values, options);
  if (!result)
    return result.takeError();
  for (const emulator::Finding &finding : result->findings)
    report(finding);
  if (!result->findings.empty() || !result->finished)
    return emulationFault;
  if (Error error = (*device)->copyOut(addresses.back(), team))
    return std::move(error);
  int32_t status;
  memcpy(&status, team.data() + TeamStatus * 4, sizeof(status));
  for (auto [tensor, descriptor, address] :
       zip(tensors, descriptors, addresses)) {
    if (!tensor.isWritten || status != GATEFOLD_RUN_OK)
      continue;
    MutableArrayRef bytes(reinterpret_cast<uint8_t *>(descriptor.first()),
                          descriptor.bytes());
    if (Error error = (*device)->copyOut(address, bytes))
      return std::move(error);
    auto unwritten = (*device)->countUninitialised(address, descriptor.bytes());
    if (!unwritten)
      return unwritten.takeError();
    if (*unwritten != 0) {
      found = true;
      fail(Twine("of `") + tensor.tensor->name + "` " + Twine(*unwritten) +
           " bytes were never written");
      return emulationFault;
    }
  }
  return status;
}

} // namespace gatefold::tool
