// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Alternate.h - Steps that write one of two buffers --------*- C++ -*-===//
//
// A loop whose steps read a buffer and then replace what it holds needs a
// barrier between the two, and one behind. With two buffers that change places
// after each step, the first is not needed.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_ALTERNATE_H
#define PASSES_TEAM_ALTERNATE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace gatefold {

/// A loop that takes two steps in each iteration, and the operation behind it
/// that brings what was written last to where the first loop leaves it.
struct AlternatedLoop {
  mlir::scf::ForOp loop;
  mlir::scf::IfOp last;
  /// The second buffers.
  llvm::SmallVector<mlir::Operation *> buffers;
};

/// Makes such a loop in front of `loop`, and leaves that; nothing where no
/// buffer of the step is first read as a whole and then replaced.
std::optional<AlternatedLoop> alternateBuffers(mlir::scf::ForOp loop);

} // namespace gatefold

#endif // PASSES_TEAM_ALTERNATE_H
