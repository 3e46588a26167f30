// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Target.cpp - The processor that code is made for -------------------===//
//
// Reads a processor's vectors from LLVM's description of it.
//
//===----------------------------------------------------------------------===//

#include "passes/support/Target.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include <unistd.h>

using namespace mlir;
using namespace gatefold;

int64_t TargetDescription::getLanes(Type type) const {
  int64_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return vectorBytes * 8 / std::max<int64_t>(bits, 32);
}

/// Caches of the processor that this runs on, where the system tells.
static void readCaches(TargetDescription &description) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
    description.firstCacheBytes = bytes;
  if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
    description.secondCacheBytes = bytes;
#endif
}

llvm::Expected<TargetDescription>
TargetDescription::describe(StringRef target) {
  if (isGpuName(target))
    return describeGpu(target);
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargetMCs();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string processor = target.str();
  llvm::SubtargetFeatures features;
  if (target == "native") {
    processor = llvm::sys::getHostCPUName().str();
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features.AddFeature(feature.first(), feature.second);
  } else if (target == "aarch64") {
    triple.setTriple("aarch64-unknown-linux-gnu");
    processor = "generic";
  } else if (target.starts_with("x86-64")) {
    triple.setTriple("x86_64-unknown-linux-gnu");
  }
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("no code for target '%s': %s",
                                   target.str().c_str(), error.c_str());
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      found->createMCSubtargetInfo(triple, "", ""));
  if (!info || !info->isCPUStringValid(processor))
    return llvm::createStringError("no processor '%s' among those of %s",
                                   processor.c_str(), triple.str().c_str());
  info.reset(
      found->createMCSubtargetInfo(triple, processor, features.getString()));

  TargetDescription description;
  if (triple.isX86()) {
    bool isWide = info->checkFeatures("+avx512f,+avx512vl,+avx512bw,+avx512dq");
    description.vectorBytes = isWide                         ? 64
                              : info->checkFeatures("+avx2") ? 32
                                                             : 16;
    description.vectorRegisters = isWide ? 32 : 16;
  } else {
    description.vectorBytes = 16;
    description.vectorRegisters = 32;
  }
  if (target == "native")
    readCaches(description);
  return description;
}

/// The numbers of a description by their names in the module's attribute.
namespace {
struct Number {
  StringLiteral name;
  int64_t TargetDescription::*value;
  bool isOfGpu = false;
  int64_t most = int64_t(1) << 40;
};
} // namespace

// Code grows with vectors and with tiles of registers, so that a module cannot
// ask for any size of them.
static constexpr Number numbers[] = {
    {"vector_bytes", &TargetDescription::vectorBytes, false, 256},
    {"vector_registers", &TargetDescription::vectorRegisters, false, 256},
    {"first_cache_bytes", &TargetDescription::firstCacheBytes},
    {"second_cache_bytes", &TargetDescription::secondCacheBytes},
    {"block_threads", &TargetDescription::blockThreads, true, 1024},
    {"multiprocessors", &TargetDescription::multiprocessors, true},
    {"multiprocessor_threads", &TargetDescription::multiprocessorThreads, true},
    {"multiprocessor_registers", &TargetDescription::multiprocessorRegisters,
     true},
    {"multiprocessor_shared_bytes",
     &TargetDescription::multiprocessorSharedBytes, true},
    {"block_shared_bytes", &TargetDescription::blockSharedBytes, true},
    {"ptx_version", &TargetDescription::ptxVersion, true},
    {"half_tensor_operations", &TargetDescription::halfTensorOperations, true},
    {"tf32_tensor_operations", &TargetDescription::tf32TensorOperations, true},
    {"float_operations", &TargetDescription::floatOperations, true},
    {"exponentials", &TargetDescription::exponentials, true},
    {"shared_bytes_per_clock", &TargetDescription::sharedBytesPerClock, true},
    {"clock_megahertz", &TargetDescription::clockMegahertz, true},
    {"global_gigabytes", &TargetDescription::globalGigabytes, true}};

DictionaryAttr TargetDescription::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  for (const Number &number : numbers)
    if (!number.isOfGpu || isGpu())
      entries.push_back(builder.getNamedAttr(
          number.name, builder.getI64IntegerAttr(this->*number.value)));
  return builder.getDictionaryAttr(entries);
}

TargetDescription TargetDescription::fromModule(ModuleOp module) {
  TargetDescription description;
  auto attribute = module->getAttrOfType<DictionaryAttr>(targetName);
  if (!attribute)
    return description;
  for (const Number &number : numbers)
    if (auto value = attribute.getAs<IntegerAttr>(number.name))
      description.*number.value =
          std::clamp<int64_t>(value.getInt(), 8, number.most);
  return description;
}
