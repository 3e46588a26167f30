// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerToNVVM.cpp - All dialects of a GPU to llvm and nvvm at once ---===//
//
// Upstream's patterns, applied to a gpu.module in one conversion.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/gpu/Passes.h"
#include "passes/gpu/SharedTile.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERTONVVM
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// What a GPU has instructions for, or few of them. Functions that are left
/// beside these would become calls of a library that is not linked.
static bool hasInstructions(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
             math::IsInfOp, math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp,
             math::SqrtOp, math::TruncOp>(op);
}

static LogicalResult checkMath(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
        hasInstructions(op))
      return WalkResult::advance();
    op->emitError("not compiled for a GPU: '")
        << op->getName() << "' of " << op->getOperand(0).getType();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Code rounds to nearest even anyway; said of an operation, it would become
/// another one.
static void dropRoundingModes(Operation *root) {
  root->walk([](arith::TruncFOp op) {
    if (op.getRoundingmode() == arith::RoundingMode::to_nearest_even)
      op.removeRoundingmodeAttr();
  });
}

/// Dynamic shared memory is an array whose size a launch tells, so it is not
/// defined here. Upstream gives it the alignment of an access, not of a tile.
static void declareSharedMemory(gpu::GPUModuleOp kernels) {
  for (auto global : kernels.getOps<LLVM::GlobalOp>()) {
    auto type = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
    if (!type || type.getNumElements() != 0 ||
        global.getAddrSpace() !=
            static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
      continue;
    global.setLinkage(LLVM::Linkage::External);
    global.setAlignment(SharedTile::alignment);
  }
}

namespace {
struct LowerToNVVM : gatefold::impl::LowerToNVVMBase<LowerToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp kernels = getOperation();
    MLIRContext *context = &getContext();
    dropRoundingModes(kernels);
    if (failed(checkMath(kernels)))
      return signalPassFailure();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(context);
    SymbolTableCollection symbols;
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns,
                                                   &symbols);
    populateFuncToLLVMConversionPatterns(converter, patterns, &symbols);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    // Last, since upstream has calls of libdevice among them.
    populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/0);
    LLVMConversionTarget target(*context);
    configureGpuToNVVMConversionLegality(target);
    target.addLegalOp<gpu::GPUModuleOp>();
    // Upstream has them illegal so that they become calls of libdevice.
    target.addLegalOp<LLVM::CopySignOp, LLVM::FAbsOp, LLVM::FCeilOp,
                      LLVM::FFloorOp, LLVM::FRemOp, LLVM::RoundEvenOp,
                      LLVM::SqrtOp>();
    if (failed(applyFullConversion(kernels, target, std::move(patterns))))
      return signalPassFailure();
    declareSharedMemory(kernels);
    SmallVector<UnrealizedConversionCastOp> casts;
    kernels.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);
  }
};
} // namespace
