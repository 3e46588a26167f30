// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LowerToLLVM.cpp - All dialects of a CPU to llvm at once ------------===//
//
// Upstream's patterns of one pass for each dialect, applied in one.
//
// Each such pass goes over the whole module and leaves casts for the next one
// to take away; together they were half of the time of the phase.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/cpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

/// Masks, steps and slices of vectors as operations that llvm has.
static LogicalResult lowerVectors(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) {
    if (isa_and_present<vector::VectorDialect>(op->getDialect()))
      operations.push_back(op);
  });
  RewritePatternSet patterns(module.getContext());
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorMaskMaterializationPatterns(
      patterns, /*force32BitVectorIndices=*/true);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorGatherLoweringPatterns(patterns);
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps)
      .enableFolding(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyOpPatternsGreedily(operations, std::move(patterns), config);
}

/// A buffer is a struct of its pointer, sizes and strides, taken apart at each
/// call and access. What was just put in is what is taken out.
static void foldDescriptors(ModuleOp module) {
  module.walk([](LLVM::ExtractValueOp op) {
    // Through all that were inserted after it.
    Value container = op.getContainer();
    while (auto insertion = container.getDefiningOp<LLVM::InsertValueOp>()) {
      if (insertion.getPosition() == op.getPosition()) {
        op.replaceAllUsesWith(insertion.getValue());
        op.erase();
        return;
      }
      ArrayRef<int64_t> inserted = insertion.getPosition();
      size_t common = std::min(inserted.size(), op.getPosition().size());
      if (inserted.take_front(common) == op.getPosition().take_front(common))
        break;
      container = insertion.getContainer();
    }
    op.getContainerMutable().assign(container);
  });
  // Uses before what they use, as far as blocks stand in order.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    for (Block &block : llvm::reverse(function.getBody()))
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op))
          op.erase();
}

namespace {
struct LowerToLLVM : gatefold::impl::LowerToLLVMBase<LowerToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    if (failed(lowerVectors(module)))
      return signalPassFailure();
    const auto &layouts = getAnalysis<DataLayoutAnalysis>();
    LowerToLLVMOptions options(context, layouts.getAtOrAbove(module));
    LLVMTypeConverter converter(context, options, &layouts);
    RewritePatternSet patterns(context);
    SymbolTableCollection symbols;
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns,
                                                   &symbols);
    populateFuncToLLVMConversionPatterns(converter, patterns, &symbols);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    vector::populateVectorTransferLoweringPatterns(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    // Of buffers seen as others, such as bits as bytes.
    SmallVector<UnrealizedConversionCastOp> casts;
    module.walk([&](UnrealizedConversionCastOp op) { casts.push_back(op); });
    reconcileUnrealizedCasts(casts);
    foldDescriptors(module);
  }
};
} // namespace
