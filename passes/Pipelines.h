// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Pipelines.h - The phases of a compilation ----------------*- C++ -*-===//

#ifndef PASSES_PIPELINES_H
#define PASSES_PIPELINES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace gatefold {

struct PipelineOptions {
  /// Without fusion, tiling or reduced work.
  bool naive = false;
  /// `native`, an LLVM processor name such as `x86-64-v3`, or a GPU such as
  /// `sm_80`.
  std::string target = "native";
  /// Less exact arithmetic, where a target gains by it.
  bool fastMath = false;
  /// What a user chooses in place of the cost model, as
  /// passes/schedule/Schedule.h reads it; nothing with `naive`.
  std::string schedule;
};

/// What kind of processor a phase is for.
enum class PhaseTarget { Any, Cpu, Gpu };

/// A named point at which the driver can stop; each is also a pass pipeline
/// `gf-PHASE` that runs what lies between the phase before and it.
struct Phase {
  llvm::StringRef name;
  llvm::StringRef summary;
  void (*build)(mlir::OpPassManager &manager, const PipelineOptions &options);
  PhaseTarget target = PhaseTarget::Any;

  /// Whether code for `name` goes through it.
  bool isFor(llvm::StringRef name) const;
};

/// simplify, fuse, schedule, tile, split, bufferize, then cpu or gpu and nvvm:
/// in order, from what the importer gives (`import`) to the llvm dialect.
llvm::ArrayRef<Phase> getPhases();

/// Registers every pass (`gf-NAME`) and every phase (`gf-PHASE`).
void registerPassesAndPipelines();

} // namespace gatefold

#endif // PASSES_PIPELINES_H
