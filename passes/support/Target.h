// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Target.h - The processor that code is made for -----------*- C++ -*-===//
//
// What the choice of algorithms and tiles needs to know of a processor. Nothing
// else depends on which one it is: AVX-512, AVX2, NEON and GPUs differ in these
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_TARGET_H
#define PASSES_SUPPORT_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace gatefold {

/// Attribute of the module: a TargetDescription.
inline constexpr llvm::StringLiteral targetName = "gf.target";
/// Attribute of the module, without a value: arithmetic may be less exact where
/// the target gains by it.
inline constexpr llvm::StringLiteral fastMathName = "gf.fast_math";

struct TargetDescription {
  /// Bytes of a vector register, and how many of them there are.
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  /// Data caches of one core.
  int64_t firstCacheBytes = 32 << 10;
  int64_t secondCacheBytes = 512 << 10;

  /// Of a GPU: threads of a block as kernels are made for; 0 for a CPU. A
  /// multiprocessor's threads, 32-bit registers and shared memory, that of one
  /// block, and how many multiprocessors there are.
  int64_t blockThreads = 0;
  int64_t multiprocessors = 0;
  int64_t multiprocessorThreads = 0;
  int64_t multiprocessorRegisters = 0;
  int64_t multiprocessorSharedBytes = 0;
  int64_t blockSharedBytes = 0;
  /// The oldest version of PTX that has all that kernels use, times 10.
  int64_t ptxVersion = 0;
  /// What a multiprocessor does in a clock at its best, a multiply-add being
  /// two: operations of tensor cores on 16-bit numbers with sums of f32, and in
  /// tf32; operations of f32; exponentials; bytes of shared memory. The clock
  /// in MHz, and gigabytes of global memory a second.
  int64_t halfTensorOperations = 0;
  int64_t tf32TensorOperations = 0;
  int64_t floatOperations = 0;
  int64_t exponentials = 0;
  int64_t sharedBytesPerClock = 0;
  int64_t clockMegahertz = 0;
  int64_t globalGigabytes = 0;

  /// Threads of a warp.
  static constexpr int64_t warpThreads = 32;
  /// Partial results of a row that is reduced: a warp has 8 of each lane.
  static constexpr int64_t rowPartials = 8 * warpThreads;
  /// Each 16 terms of a product of f32 belong to one of 8 parts in turn, so
  /// that the order of a sum begins anew after so many; the steps of 16 bits,
  /// which are 32, divide them.
  static constexpr int64_t productParts = 8, productTurn = 16 * productParts;
  /// What gf-keep-sizes takes of a block's shared memory, at most; not in
  /// blockSharedBytes.
  static constexpr int64_t keptSizesBytes = 2 << 10;
  /// The same of what lives across calls (passes/emit/KeepAcrossCalls.h).
  static constexpr int64_t keptAcrossCallsBytes = 4 << 10;
  bool isGpu() const { return blockThreads != 0; }

  /// Whether a * b + c is one instruction: not in SSE.
  bool hasFusedMultiplyAdd() const {
    return vectorBytes > 16 || vectorRegisters > 16;
  }
  /// Elements of a vector in which values of `type` are computed: floats below
  /// 32 bits are computed in f32.
  int64_t getLanes(mlir::Type type) const;
  /// The register tile of a product: rows, and vectors of columns, whose
  /// accumulators, one row of panels and one broadcast value fit in the
  /// registers.
  int64_t getTileRows() const { return 6; }
  int64_t getTileVectors() const { return vectorRegisters >= 32 ? 4 : 2; }
  /// Columns of a packed panel.
  int64_t getPanelWidth(mlir::Type type) const {
    return getTileVectors() * getLanes(type);
  }

  /// Keys from one place to the next at which a block of an attention's keys
  /// may begin: what a reduction adds up side by side, in whole panels of every
  /// type.
  int64_t getKeyStep(mlir::Type float32) const {
    return std::max(vectorBytes, getPanelWidth(float32));
  }
  /// The same of the keys that a block of queries looks at. On a GPU an element
  /// of a row belongs to a partial result by its place in the row.
  int64_t getFirstKeyStep(mlir::Type float32) const {
    int64_t step = getKeyStep(float32);
    return isGpu() ? std::max(step, rowPartials) : step;
  }
  /// The same of what products with an attention's values add up.
  int64_t getFirstValueStep() const { return isGpu() ? productTurn : 1; }

  /// `native`, `aarch64`, an LLVM processor name such as `x86-64-v3`, or a GPU
  /// such as `sm_80`; caches are those of this machine for `native`, else
  /// typical ones.
  static llvm::Expected<TargetDescription> describe(llvm::StringRef target);

  /// As the module's attribute, and back; a module without it has that of
  /// x86-64-v3.
  mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context) const;
  static TargetDescription fromModule(mlir::ModuleOp module);
};

/// Whether a target is named as GPUs are: `sm_80`.
inline bool isGpuName(llvm::StringRef target) {
  return target.starts_with("sm_");
}

/// A GPU by its compute capability (`sm_80`, `sm_90a`); the error names all
/// that are known.
llvm::Expected<TargetDescription> describeGpu(llvm::StringRef target);
/// All that are known.
llvm::SmallVector<llvm::StringRef> getGpuNames();

} // namespace gatefold

#endif // PASSES_SUPPORT_TARGET_H
