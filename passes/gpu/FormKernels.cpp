// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FormKernels.cpp - The entries as kernels ---------------------------===//
//
// The run and `prepare` leave the host's module for a gpu.module, with the
// functions that they call and the constants that they read, and all buffers
// become global memory.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/gpu/Kernels.h"
#include "passes/gpu/Passes.h"
#include "passes/support/Entry.h"
#include "passes/support/Target.h"
#include "llvm/ADT/SetVector.h"

namespace gatefold {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The functions that an entry calls, directly and through others.
static void collectCallees(func::FuncOp function, ModuleOp module,
                           llvm::SetVector<Operation *> &callees) {
  function.walk([&](func::CallOp call) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (callee && callees.insert(callee))
      collectCallees(callee, module, callees);
  });
}

/// A kernel of the entry's body, with the team's memory as last argument. It
/// takes just so many threads where it calls code that is made for them.
static LogicalResult formKernel(func::FuncOp entry, StringRef name,
                                int64_t threads, bool isExact,
                                gpu::GPUModuleOp kernels) {
  if (!entry.getBody().hasOneBlock())
    return entry.emitError("has more than one block");
  MLIRContext *context = entry.getContext();
  Location loc = entry.getLoc();
  auto team = LLVM::LLVMPointerType::get(
      context, static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  if (failed(entry.insertArgument(entry.getNumArguments(), team, nullptr, loc)))
    return failure();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(kernels.getBody());
  auto kernel =
      gpu::GPUFuncOp::create(builder, loc, name, entry.getFunctionType());
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(isExact ? NVVM::NVVMDialect::getReqntidAttrName()
                          : NVVM::NVVMDialect::getMaxntidAttrName(),
                  builder.getDenseI32ArrayAttr({int32_t(threads)}));
  // All registers of a multiprocessor are for one block: else the assembler
  // aims at two, and would rather spill than take more than half of them.
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(1));
  kernel.getBody().takeBody(entry.getBody());
  Operation *end = kernel.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  gpu::ReturnOp::create(builder, end->getLoc());
  end->erase();
  entry.erase();
  return success();
}

/// Constants that the kernels read are part of their module: the device has no
/// other.
static void moveConstants(ModuleOp module, gpu::GPUModuleOp kernels) {
  llvm::SetVector<Operation *> constants;
  kernels.walk([&](memref::GetGlobalOp get) {
    constants.insert(module.lookupSymbol<memref::GlobalOp>(get.getName()));
  });
  OpBuilder builder = OpBuilder::atBlockBegin(kernels.getBody());
  for (Operation *constant : constants) {
    builder.clone(*constant);
    if (SymbolTable::symbolKnownUseEmpty(constant, module))
      constant->erase();
  }
}

/// Buffers without a memory space lie in global memory.
static void placeInGlobalMemory(gpu::GPUModuleOp kernels) {
  auto space = gpu::AddressSpaceAttr::get(kernels.getContext(),
                                          gpu::AddressSpace::Global);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](MemRefType type) -> std::optional<Type> {
    if (type.getMemorySpace())
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout(), space);
  });
  replacer.recursivelyReplaceElementsIn(kernels, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

namespace {
struct FormKernels : gatefold::impl::FormKernelsBase<FormKernels> {
  using Base::Base;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Interface> interface = Interface::fromModule(module);
    if (failed(interface))
      return signalPassFailure();
    auto entries = findEntryFunctions(module, *interface, /*haveArena=*/true);
    if (failed(entries))
      return signalPassFailure();
    int64_t blockThreads =
        threads ? threads : TargetDescription::fromModule(module).blockThreads;
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    builder.getUnitAttr());
    auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(),
                                            StringRef(kernelsModule));
    llvm::SetVector<Operation *> callees;
    SmallVector<bool> callsVectors;
    for (EntryFunction &entry : *entries) {
      llvm::SetVector<Operation *> own;
      collectCallees(entry.function, module, own);
      callsVectors.push_back(llvm::any_of(
          own, [](Operation *callee) { return callee->hasAttr(vectorsName); }));
      callees.insert_range(own);
    }
    for (Operation *callee : callees)
      callee->moveBefore(kernels.getBody(), kernels.getBody()->end());
    for (auto [entry, isExact] : llvm::zip(*entries, callsVectors)) {
      bool isRun = entry.function.getSymName() == runFunction;
      if (failed(formKernel(entry.function,
                            isRun ? StringRef(runKernel)
                                  : StringRef(prepareKernel),
                            blockThreads, isExact, kernels)))
        return signalPassFailure();
      ++kernelsFormed;
    }
    moveConstants(module, kernels);
    placeInGlobalMemory(kernels);
  }
};
} // namespace
