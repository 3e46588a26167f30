// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Extents.h - Sizes of buffers as formulas -----------------*- C++ -*-===//
//
// Says whether two sizes are the same, and computes them elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_EXTENTS_H
#define PASSES_TEAM_EXTENTS_H

#include "mlir/IR/Dominance.h"
#include "passes/support/Entry.h"
#include "passes/support/WorkRates.h"

namespace gatefold {

/// Sizes as affine expressions over symbols: the open dimensions, then one for
/// each size or index that nothing more is known of. Equal expressions are
/// equal sizes; unequal ones may be equal, too.
class Extents {
public:
  /// `interface` may be null: then each argument's sizes stand for themselves.
  Extents(mlir::func::FuncOp entry, const Interface *interface);

  /// How long things take a rank of the target of the entry's module.
  const WorkRates &getRates() const { return rates; }

  mlir::AffineExpr size(mlir::Value buffer, int64_t dim);
  mlir::AffineExpr index(mlir::Value value);
  mlir::AffineExpr index(mlir::OpFoldResult value);

  /// The same, or something simpler that is no less: of a minimum, as the size
  /// of the last tile is, one side.
  mlir::AffineExpr atMost(mlir::AffineExpr extent);

  /// The value as an index at the insertion point; null where a symbol of it is
  /// not known there.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::AffineExpr extent);
  /// Whether `emit` gives a value before `op`.
  bool isKnownBefore(mlir::Operation *op, mlir::AffineExpr extent);

private:
  /// Where a symbol's value is found: an index, or the size of a buffer.
  struct Source {
    mlir::Value value;
    std::optional<int64_t> dim;
    /// It is no greater, if not null.
    mlir::AffineExpr bound;
  };
  mlir::AffineExpr symbolOf(mlir::Value value, std::optional<int64_t> dim);

  mlir::func::FuncOp entry;
  const Interface *interface;
  const WorkRates &rates;
  mlir::DominanceInfo dominance;
  llvm::SmallVector<Source> sources;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::AffineExpr> known;
};

} // namespace gatefold

#endif // PASSES_TEAM_EXTENTS_H
