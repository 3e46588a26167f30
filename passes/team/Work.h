// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Work.h - How long operations take, roughly ---------------*- C++ -*-===//

#ifndef PASSES_TEAM_WORK_H
#define PASSES_TEAM_WORK_H

#include "passes/team/Extents.h"

namespace gatefold {

/// What open sizes are taken for where a choice has to be made before a run.
constexpr int64_t typicalSize = 16;

/// A sum of products: how long something takes one rank, in units of about a
/// hundredth of a nanosecond. Only its order of magnitude is meant.
class Work {
public:
  /// An operation with all that it holds.
  static Work of(mlir::Operation *op, Extents &extents);
  static Work of(mlir::Block &block, Extents &extents);

  bool isZero() const { return terms.empty() && known == 0; }
  void add(const Work &other);
  void multiply(mlir::AffineExpr count);

  /// The value where no size is open.
  std::optional<int64_t> getConstant() const {
    return terms.empty() ? std::optional(known) : std::nullopt;
  }
  /// The value if `open` stands for each size that is not known.
  int64_t estimate(int64_t open) const;
  /// Code for it, as f64; a size for which `emitSize` gives null counts as 1.
  mlir::Value
  emit(mlir::OpBuilder &builder, mlir::Location loc,
       llvm::function_ref<mlir::Value(mlir::AffineExpr)> emitSize) const;

private:
  struct Term {
    int64_t factor;
    llvm::SmallVector<mlir::AffineExpr, 3> sizes;
  };
  int64_t known = 0;
  llvm::SmallVector<Term> terms;
};

/// Adds gatefold_useful_ranks(symbols) to the module: how many ranks at most
/// are worth their start, by the work of the entry as it is now.
void makeUsefulRanks(mlir::func::FuncOp entry, unsigned symbolCount,
                     Extents &extents);

} // namespace gatefold

#endif // PASSES_TEAM_WORK_H
