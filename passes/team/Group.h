// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Group.h - Operations that share one partition ------------*- C++ -*-===//
//
// Operations of a block that ranks compute one after another without waiting
// for each other, since what a rank reads it has written itself.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TEAM_GROUP_H
#define PASSES_TEAM_GROUP_H

#include "passes/team/Shares.h"
#include "passes/team/Work.h"

namespace gatefold {

/// Whether an operation writes nothing and only says where and how large things
/// are, so that every rank may execute it, before or beside all others.
bool isNeutral(mlir::Operation *op);

/// A run of operations of one block, all cut along dimensions of one extent at
/// the same places.
///
/// Invariant: of any two accesses to one root, one of them a write, either both
/// touch the same part of it on each rank, and no part of another rank's; or
/// they are not in one group. A loop may be in a group: then the invariant
/// holds between all its iterations, too.
///
/// A narrow group is of an extent that may have too few rows for the ranks to
/// have many each, as a product needs that reads its weights for them; it holds
/// none, and no packing.
class Group {
public:
  /// The longest group from `first` on.
  Group(mlir::Operation *first, mlir::AffineExpr extent, bool isNarrow,
        Extents &extents);

  bool isEmpty() const { return items.empty(); }
  llvm::ArrayRef<mlir::Operation *> getItems() const { return items; }
  mlir::AffineExpr getExtent() const { return extent; }
  bool getIsNarrow() const { return isNarrow; }
  const Work &getWork() const { return work; }
  /// How much of the extent each rank should have at least.
  int64_t getLeastRows() const {
    return hardUnit > 1 ? hardUnit
           : hasProduct ? extents.getRates().leastRows
                        : 1;
  }
  /// What part of the ranks that a run typically has works all the time, 0 to
  /// 1. For more of them the run decides.
  double getBalance() const;

  /// Moves what stands between the items in front of the first.
  void gather();
  /// Emits the items, each rank its part, as one scf.forall. Leaves the items.
  mlir::Operation *emit(mlir::OpBuilder &builder);

private:
  void gatherItems(mlir::Operation *first);
  bool collect(mlir::Operation *op, llvm::SmallVectorImpl<Access> &found);
  bool collectRegions(mlir::Operation *op,
                      llvm::SmallVectorImpl<Access> &found);
  bool agreesWithAll(llvm::ArrayRef<Access> found) const;
  void hoistBuffers(mlir::OpBuilder &builder, mlir::IRMapping &mapping);
  void cloneItem(mlir::OpBuilder &builder, mlir::Operation *op, mlir::Value low,
                 mlir::Value high, mlir::IRMapping &mapping);

  mlir::AffineExpr extent;
  bool isNarrow;
  Extents &extents;
  llvm::SmallVector<mlir::Operation *> items, between;
  llvm::DenseMap<mlir::Operation *, Axis> axes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Access, 4>> accesses;
  /// Somewhere in the group memory is read that may be any.
  bool readsAny = false, writes = false;
  bool hasProduct = false;
  int64_t hardUnit = 1, softUnit = 1;
  Work work;
};

/// The extents of which a group may begin with this operation, the outermost
/// dimensions' first.
llvm::SmallVector<mlir::AffineExpr> getGroupExtents(mlir::Operation *op,
                                                    Extents &extents);

/// Emits `scf.forall (%rank) in (gf.team_size)` with a body.
mlir::Operation *
emitForall(mlir::OpBuilder &builder, mlir::Location loc,
           llvm::function_ref<void(mlir::OpBuilder &, mlir::Value ranks,
                                   mlir::Value rank)>
               body);

/// Lets rank 0 alone execute `first` and what follows it, as far as that is not
/// worth sharing. The scf.forall that holds it.
mlir::Operation *
makeSingle(mlir::Operation *first,
           llvm::function_ref<bool(mlir::Operation *)> isWorthSharing,
           Extents &extents);

} // namespace gatefold

#endif // PASSES_TEAM_GROUP_H
