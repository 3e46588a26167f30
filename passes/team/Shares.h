// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Shares.h - Operations cut along a parallel dimension -----*- C++ -*-===//
//
// Along which dimensions an operation on buffers can be shared among ranks,
// what memory each share touches, and the operation on one share.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_SHARES_H
#define PASSES_TEAM_SHARES_H

#include "passes/team/Extents.h"

namespace gatefold {

/// One dimension of an operation whose indices are independent of each other.
struct Axis {
  /// Its size, as the operands have it: the same in every run.
  llvm::SmallVector<mlir::AffineExpr, 2> extents;
  /// Shares are multiples of it, but for the last.
  int64_t unit = 1;
  /// The loop of a linalg operation.
  std::optional<unsigned> loop;
  /// For each operand the dimension that is cut; none where a share reads all.
  llvm::SmallVector<std::optional<int64_t>> dims;
  /// The operand whose dimension counts units, not indices: packed panels.
  std::optional<unsigned> panels;
  /// The dimension is so many times the extent, and is cut in each of them: the
  /// gates of a cell, which lie one behind the other.
  int64_t repeats = 1;

  void addExtent(mlir::AffineExpr extent) {
    if (!llvm::is_contained(extents, extent))
      extents.push_back(extent);
  }
  bool hasExtent(mlir::AffineExpr extent) const {
    return llvm::is_contained(extents, extent);
  }
};

/// A part of memory that an operation reads or writes.
struct Access {
  /// The buffer or argument of the entry that it is a view of; null: it may be
  /// any.
  mlir::Value root;
  bool isWrite = false;
  /// The dimension of the root that is cut, and from which index on; none: all
  /// of it may be touched.
  std::optional<int64_t> dim = std::nullopt;
  int64_t offset = 0;
  bool countsPanels = false;

  /// Whether no rank touches by one access what another rank touches by the
  /// other, both of one root: each rank touches the same part by both, or they
  /// are `extent` apart, which is 0 where it is not known.
  bool agrees(const Access &other, int64_t extent) const {
    return dim && other.dim == dim && other.countsPanels == countsPanels &&
           (other.offset == offset ||
            (extent && std::abs(other.offset - offset) >= extent));
  }
};

/// Whether an operation computes something on buffers as a whole, and nothing
/// else: linalg, gf.linear, gf.pack.
bool isStructured(mlir::Operation *op);

/// The columns of a product as repetitions of an extent, if that is possible.
std::optional<Axis> getRepeatedAxis(mlir::Operation *op,
                                    mlir::AffineExpr extent, Extents &extents);

/// The axes of a structured operation, outermost first.
llvm::SmallVector<Axis> getAxes(mlir::Operation *op, Extents &extents);

/// What a share along `axis` touches; all of it without an axis.
llvm::SmallVector<Access> getAccesses(mlir::Operation *op, const Axis *axis,
                                      Extents &extents);

/// The buffer or argument of the entry that a view shows; null where that is
/// not plain to see. Different ones do not overlap, but for inputs.
mlir::Value getRoot(mlir::Value view);

/// A copy of the operation on the indices from `low` up to `high`, not
/// included. Operands are taken through `mapping`.
void cloneShare(mlir::OpBuilder &builder, mlir::Operation *op, const Axis &axis,
                mlir::Value low, mlir::Value high, mlir::IRMapping &mapping);

} // namespace gatefold

#endif // PASSES_TEAM_SHARES_H
