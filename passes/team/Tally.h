// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Tally.h - What ranks spare by sharing, and what it costs -*- C++ -*-===//

#ifndef PASSES_TEAM_TALLY_H
#define PASSES_TEAM_TALLY_H

#include "passes/team/Work.h"

namespace gatefold {

/// What the ranks do side by side in a step, and how often they wait for each
/// other: where extents are large enough, and how often more where they are
/// not.
struct Tally {
  /// What no more ranks share than the extent has indices.
  struct Narrow {
    Work work;
    mlir::AffineExpr extent;
  };
  Work shared;
  llvm::SmallVector<Narrow, 2> narrow;
  int64_t barriers = 0, more = 0;

  /// The time of the barriers.
  double getCost(const Extents &extents) const;
  /// The time that ranks spare one, however many they are; nothing where a size
  /// is open.
  std::optional<double> getMostSpared() const;
  /// Whether the ranks of this run, if there are several, gain more by what
  /// they do side by side than their barriers cost. One rank is also spared the
  /// parts of steps, whose sizes the compiler knows less of.
  mlir::Value emitIsWorth(mlir::OpBuilder &builder, mlir::Location loc,
                          Extents &extents) const;
};

} // namespace gatefold

#endif // PASSES_TEAM_TALLY_H
