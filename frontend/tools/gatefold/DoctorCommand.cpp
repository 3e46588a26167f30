// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DoctorCommand.cpp - gatefold doctor --------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/CudaDriver.h"
#include "frontend/tools/gatefold/Messages.h"
#include "passes/emit/EmitKernels.h"
#include "passes/emit/NvidiaTools.h"
#include "passes/support/Target.h"
#include "runtime/Description.h"
#include "runtime/Team.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <thread>

using namespace llvm;

namespace gatefold::tool {
namespace {

/// How long a tool may take to say its version.
constexpr unsigned mostSeconds = 20;

struct Finding {
  std::string name, value;
};

std::string program(StringRef name) {
  ErrorOr<std::string> path = sys::findProgramByName(
      name, {"/usr/lib/llvm-22/bin", "/usr/local/cuda/bin"});
  if (!path)
    path = sys::findProgramByName(name);
  return path ? *path : "not found";
}

std::string features() {
  std::string text;
  StringMap<bool> all = sys::getHostCPUFeatures();
  for (StringRef name :
       {"avx2", "fma", "avx512f", "avx512bf16", "amx-tile", "neon", "sve"})
    if (all.lookup(name))
      text += (text.empty() ? "" : " ") + name.str();
  return text.empty() ? "none of avx2, fma, avx512f, neon" : text;
}

/// A program of NVIDIA's toolkit, found as `compile` finds it, and its version.
std::string nvidiaTool(StringRef name) {
  Expected<std::string> path = findNvidiaTool(name);
  if (!path) {
    consumeError(path.takeError());
    return "not found";
  }
  // "Cuda compilation tools, release 13.0, V13.0.88"
  Expected<std::string> words = runTool(*path, {"--version"}, mostSeconds);
  if (!words) {
    consumeError(words.takeError());
    return *path + " (does not run)";
  }
  StringRef version = StringRef(*words).rsplit(", V").second;
  version = version.take_while([](char c) { return isDigit(c) || c == '.'; });
  return version.empty() ? *path : *path + " (" + version.str() + ")";
}

/// The GPUs that machine code can be made for here: asked by a kernel of
/// nothing, since an assembler knows some GPUs and some versions of PTX.
std::string assembledTargets() {
  std::string targets;
  for (StringRef name : getGpuNames()) {
    int64_t number = cantFail(describeGpu(name)).ptxVersion;
    std::string version = formatv("{0}.{1}", number / 10, number % 10);
    auto ptx = MemoryBuffer::getMemBufferCopy(
        ".version " + version + "\n.target " + name.str() +
        "\n.address_size 64\n.visible .entry nothing() { ret; }\n");
    auto code = assemblePtx(*ptx, name);
    if (code)
      targets += (targets.empty() ? "" : ", ") + name.str();
    else
      consumeError(code.takeError());
  }
  return targets.empty() ? "none" : targets;
}

std::string describe(const CudaGpu &gpu) {
  return formatv("{0}, sm_{1}, {2} multiprocessors, {3:f1} GiB", gpu.name,
                 gpu.capability, gpu.multiprocessors,
                 double(gpu.memoryBytes) / (1 << 30));
}

/// What `run --device cuda` does with a text.
std::string onCuda(const CudaDriver &driver) {
  if (driver.gpus.empty())
    return "computes on the CPU: " + driver.fault;
  const CudaGpu &gpu = driver.gpus.front();
  if (auto target = findTarget(gpu.capability))
    return "computes on " + gpu.name + " with kernels for " + *target;
  return formatv("computes on the CPU: there are no kernels for sm_{0}",
                 gpu.capability);
}

/// What a library for a GPU holds.
std::string forGpus() {
  std::string missing;
  for (StringRef tool : {"ptxas", "fatbinary"})
    if (auto found = findNvidiaTool(tool); !found) {
      consumeError(found.takeError());
      missing += (missing.empty() ? "" : " and ") + tool.str();
    }
  return missing.empty()
             ? "machine code and PTX"
             : "PTX alone, which a driver compiles when a program loads it: " +
                   missing + " not found";
}

/// How many threads a run has without --threads, and why these.
std::string cores() {
  int64_t usable = gatefold_team_cores();
  int64_t present = std::thread::hardware_concurrency();
  std::string text = std::to_string(usable);
  if (usable < present)
    text +=
        " of " + std::to_string(present) + ", by affinity and control groups";
  return text;
}

std::string library() {
  std::string folder = libraryFolder();
  SmallString<256> cells(folder);
  sys::path::append(cells, "cells.gf");
  return sys::fs::exists(cells) ? folder : folder + " (cells.gf is missing)";
}

} // namespace

ExitStatus runDoctor(const CommandLine &line) {
  CudaDriver driver = CudaDriver::ask();
  std::string opened = driver.path.empty() ? driver.fault : driver.path;
  if (!driver.version.empty())
    opened += ", CUDA " + driver.version;
  const Finding findings[] = {
      {"gatefold", GATEFOLD_VERSION},
      {"interface version", std::to_string(GATEFOLD_ABI_VERSION)},
      {"LLVM and MLIR", LLVM_VERSION_STRING},
      {"processor", sys::getHostCPUName().str()},
      {"features", features()},
      {"cores", cores()},
      {"target", sys::getDefaultTargetTriple()},
      {"library", library()},
      {"linker cc", program("cc")},
      {"linker clang", program("clang-22")},
      {"linker lld", program("ld.lld-22")},
      {"ptxas", nvidiaTool("ptxas")},
      {"fatbinary", nvidiaTool("fatbinary")},
      {"nvcc", nvidiaTool("nvcc")},
      {"GPUs assembled", assembledTargets()},
      {"--target sm_XX", forGpus()},
      {"CUDA driver", opened},
      {"--device cuda", onCuda(driver)},
  };
  if (line.json) {
    json::Object document;
    for (const Finding &finding : findings)
      document[finding.name] = finding.value;
    json::Array gpus;
    for (const CudaGpu &gpu : driver.gpus)
      gpus.push_back(json::Object{{"name", json::fixUTF8(gpu.name)},
                                  {"capability", gpu.capability},
                                  {"multiprocessors", gpu.multiprocessors},
                                  {"memory_bytes", int64_t(gpu.memoryBytes)}});
    document["GPUs"] = std::move(gpus);
    printJson(std::move(document));
    return Done;
  }
  for (const Finding &finding : findings)
    outs() << left_justify(finding.name, 20) << finding.value << "\n";
  for (auto [ordinal, gpu] : llvm::enumerate(driver.gpus))
    outs() << left_justify(("GPU " + Twine(ordinal)).str(), 20) << describe(gpu)
           << "\n";
  return Done;
}

} // namespace gatefold::tool
