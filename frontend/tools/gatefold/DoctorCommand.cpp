// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DoctorCommand.cpp - gatefold doctor --------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Messages.h"
#include "runtime/Description.h"
#include "runtime/Team.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>
#include <thread>

using namespace llvm;

namespace gatefold::tool {
namespace {

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

/// The driver library of CUDA, as a run would open it.
std::string cudaDriver() {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver)
    return "not found (libcuda.so.1): programs run on the CPU";
  auto version =
      reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDriverGetVersion"));
  int number = 0;
  std::string text = "libcuda.so.1";
  if (version && version(&number) == 0)
    text += ", CUDA " + std::to_string(number / 1000) + "." +
            std::to_string(number % 1000 / 10);
  dlclose(driver);
  return text + "; Gatefold has no GPU target yet";
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
      {"CUDA driver", cudaDriver()},
      {"ptxas", program("ptxas")},
  };
  if (line.json) {
    json::Object document;
    for (const Finding &finding : findings)
      document[finding.name] = finding.value;
    printJson(std::move(document));
    return Done;
  }
  for (const Finding &finding : findings)
    outs() << left_justify(finding.name, 20) << finding.value << "\n";
  return Done;
}

} // namespace gatefold::tool
