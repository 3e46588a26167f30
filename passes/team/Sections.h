// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Sections.h - Two independent parts of a block ------------*- C++ -*-===//
//
// Finds loops that have nothing to do with each other, as the two directions of
// a recurrence, so that each may be one rank's, without a barrier; or both one
// loop, of which all ranks share each step.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_SECTIONS_H
#define PASSES_TEAM_SECTIONS_H

#include "passes/team/Shares.h"

namespace gatefold {

/// Operations of one block in their order, in two parts. No operation of one
/// part writes what one of the other part reads or writes.
struct Sections {
  llvm::SmallVector<mlir::Operation *> parts[2];
  /// The loop of each part.
  mlir::Operation *loops[2] = {nullptr, nullptr};
  /// What may stand in front of all of them.
  llvm::SmallVector<mlir::Operation *> between;

  /// All, in order.
  llvm::SmallVector<mlir::Operation *> getItems() const;
};

/// The two parts that begin with the loop `first`, each with one loop that
/// takes about as long as the other.
std::optional<Sections> findSections(mlir::Operation *first, Extents &extents);

/// Makes one loop of the two, where they have the same steps: in each of these
/// an operation of the first one and of the second one in turn. The second one
/// is removed from its block. Moves what stands before it in its part to the
/// front. Gives the first operation of all; null where the steps differ.
mlir::Operation *joinLoops(Sections &sections);

} // namespace gatefold

#endif // PASSES_TEAM_SECTIONS_H
