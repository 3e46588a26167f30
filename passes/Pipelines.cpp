// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Pipelines.cpp - The phases of a compilation ------------------------===//
//
// Which passes make up each phase.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/gpu/GpuPipeline.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Target.h"

using namespace mlir;
using namespace gatefold;

static void clean(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

static void buildSimplify(OpPassManager &manager, const PipelineOptions &) {
  manager.addPass(createListParameters());
  manager.addPass(createWidenHalf());
  manager.addPass(createInlinerPass());
  manager.addPass(createSymbolDCEPass());
  clean(manager);
}

/// What the user chose; a fault is said by gf-choose-algorithms.
static Schedule readSchedule(const PipelineOptions &options) {
  ScheduleFault fault;
  return parseSchedule(options.schedule, fault).value_or(Schedule());
}

static void buildFuse(OpPassManager &manager, const PipelineOptions &options) {
  if (options.naive)
    return;
  bool joinsDirections = readSchedule(options).joinsDirections.value_or(false);
  manager.addNestedPass<func::FuncOp>(createRaiseAttention());
  manager.addNestedPass<func::FuncOp>(createRaiseVisibility());
  // Before the stencil, which is made of keys that are given.
  manager.addNestedPass<func::FuncOp>(createFoldKeyScales());
  if (options.fastMath)
    manager.addNestedPass<func::FuncOp>(createDropZeroMaps());
  manager.addNestedPass<func::FuncOp>(createFoldDiffWindow());
  manager.addNestedPass<func::FuncOp>(createHoistInvariant());
  // Before products leave a step, so that gates leave as one sequence.
  manager.addNestedPass<func::FuncOp>(
      createFuseGates({joinsDirections, /*afterHoisting=*/false}));
  manager.addNestedPass<func::FuncOp>(createHoistInputProjection());
  clean(manager);
  manager.addNestedPass<func::FuncOp>(createSinkOutputProjection());
  manager.addNestedPass<func::FuncOp>(
      createFuseGates({joinsDirections, /*afterHoisting=*/true}));
  clean(manager);
  manager.addNestedPass<func::FuncOp>(createSinkIntoAttention());
  clean(manager);
}

static void buildSchedule(OpPassManager &manager,
                          const PipelineOptions &options) {
  manager.addPass(createAttachTarget({options.target, options.fastMath}));
  if (!options.naive)
    manager.addNestedPass<func::FuncOp>(createHoistQueries());
  manager.addNestedPass<func::FuncOp>(
      createChooseAlgorithms({options.naive, options.schedule}));
}

static void buildTile(OpPassManager &manager, const PipelineOptions &options) {
  // An attention may stand in the step of a recurrence, never the other way.
  manager.addNestedPass<func::FuncOp>(createTileAttention());
  manager.addNestedPass<func::FuncOp>(createLowerAttention());
  manager.addNestedPass<func::FuncOp>(createTileRecurrence());
  manager.addNestedPass<func::FuncOp>(createLowerRecurrence());
  manager.addNestedPass<func::FuncOp>(createDecomposeTensors());
  // Sizes of what loops give become sizes of the inputs: through a chain of
  // layers, comparing them otherwise costs bufferization time without bound.
  manager.addPass(createSCFForLoopCanonicalizationPass());
  manager.addPass(memref::createResolveShapedTypeResultDimsPass());
  clean(manager);
  if (options.naive)
    return;
  manager.addNestedPass<func::FuncOp>(
      createTileLinear({readSchedule(options).panelWidth.value_or(-1)}));
  // Vectors of a CPU extend each element anew for every row that meets it;
  // tensor cores take 16 bits as they are.
  if (isGpuName(options.target))
    manager.addNestedPass<func::FuncOp>(createNarrowProducts());
  clean(manager);
  manager.addNestedPass<func::FuncOp>(createFusePointwise());
  manager.addPass(memref::createResolveShapedTypeResultDimsPass());
  clean(manager);
  // Behind the fusion, which knows parts of rows as the text has them.
  if (isGpuName(options.target) && !readSchedule(options).panelWidth) {
    manager.addNestedPass<func::FuncOp>(createInterleaveGates());
    clean(manager);
  }
}

static void buildSplit(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createCompleteInterface());
  manager.addPass(createBindParameters());
  if (!options.naive)
    manager.addPass(createSplitPrepare());
  manager.addPass(createSizeFunctions());
  manager.addPass(createDestinationArguments());
}

static void buildBufferize(OpPassManager &manager,
                           const PipelineOptions &options) {
  manager.addPass(createToBuffers());
  // Equal views, so that what is copied to itself is seen.
  manager.addPass(createCSEPass());
  clean(manager);
  if (!options.naive)
    manager.addNestedPass<func::FuncOp>(createJoinCopies());
  // Sizes as arithmetic, which the plan can repeat.
  manager.addPass(createLowerAffinePass());
  if (!options.naive) {
    manager.addPass(createParallelLoops());
    manager.addPass(createDistribute());
  }
  manager.addPass(createPlanMemory());
  if (!options.naive)
    manager.addPass(createFormTeam());
  clean(manager);
}

static void buildCpu(OpPassManager &manager, const PipelineOptions &options) {
  // First, so that all that follows has less to do.
  manager.addPass(createOutlineRepeats());
  manager.addPass(createOutlineKernels());
  if (!options.naive)
    manager.addPass(createOutlineLoops());
  manager.addPass(createPackToVectors());
  manager.addPass(createLinearToVectors());
  if (!options.naive)
    manager.addNestedPass<func::FuncOp>(createLinalgToVectors());
  manager.addNestedPass<func::FuncOp>(createLinalgToLoops());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addNestedPass<func::FuncOp>(createExpandOpenShapes());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  clean(manager);
  if (!options.naive)
    manager.addPass(createExpandMath());
  else
    manager.addPass(createAllowContraction());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createLowerAssertions());
  manager.addPass(createLowerTeam());
  manager.addPass(createLowerMath());
  manager.addPass(createLowerToLLVM());
}

bool Phase::isFor(StringRef name) const {
  return target == PhaseTarget::Any ||
         (target == PhaseTarget::Gpu) == isGpuName(name);
}

ArrayRef<Phase> gatefold::getPhases() {
  static constexpr Phase phases[] = {
      {"simplify", "Calls inlined, constants folded", buildSimplify},
      {"fuse", "Work shared between operations", buildFuse},
      {"schedule", "An algorithm chosen for each operation", buildSchedule},
      {"tile", "Recurrences and attentions as loops", buildTile},
      {"split", "Parameters, inputs, results and sizes as an interface",
       buildSplit},
      {"bufferize", "Tensors as buffers in one arena", buildBufferize},
      {"cpu", "Code for a CPU, in the llvm dialect", buildCpu,
       PhaseTarget::Cpu},
      {"gpu", "Kernels whose threads share the loops", buildGpuPhase,
       PhaseTarget::Gpu},
      {"nvvm", "Kernels in the llvm and nvvm dialects", buildNvvmPhase,
       PhaseTarget::Gpu},
  };
  return phases;
}

namespace {
struct PhaseOptions : PassPipelineOptions<PhaseOptions> {
  Option<bool> naive{*this, "naive",
                     llvm::cl::desc("No fusion, tiling or reduced work"),
                     llvm::cl::init(false)};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("Processor that code is made for"),
                             llvm::cl::init("native")};
  Option<bool> fastMath{*this, "fast-math",
                        llvm::cl::desc("Less exact arithmetic"),
                        llvm::cl::init(false)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("Choices in place of the cost model's: KEY=VALUE,...")};
};
} // namespace

void gatefold::registerPassesAndPipelines() {
  registerGatefoldPasses();
  for (const Phase &phase : getPhases())
    PassPipelineRegistration<PhaseOptions>(
        ("gf-" + phase.name).str(), phase.summary,
        [build = phase.build](OpPassManager &manager,
                              const PhaseOptions &options) {
          PipelineOptions chosen;
          chosen.naive = options.naive;
          chosen.target = options.target;
          chosen.fastMath = options.fastMath;
          chosen.schedule = options.schedule;
          build(manager, chosen);
        });
}
