// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- PointwiseGroups.h - What may become one pass over memory -*- C++ -*-===//
//
// Groups of element by element operations of one block, as gf-fuse-pointwise
// makes one operation of each.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_POINTWISEGROUPS_H
#define PASSES_TILE_POINTWISEGROUPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <memory>

namespace gatefold {

/// The size of a loop: a number, or that of a dimension of a value.
struct LoopSize {
  int64_t number = mlir::ShapedType::kDynamic;
  mlir::Value value;
  int64_t dim = 0;

  bool operator==(const LoopSize &other) const {
    return number == other.number && value == other.value && dim == other.dim;
  }
};

/// Operations of one iteration space that can be computed together.
struct PointwiseGroup {
  /// In the order of the block.
  llvm::SmallVector<mlir::linalg::GenericOp> members;
  llvm::SmallVector<LoopSize> space;
  /// Operations in the bodies.
  unsigned size = 0;
};

/// Finds groups: no value leaves a group and comes back into it, and no group
/// is larger than the limits.
class PointwiseGroups {
public:
  explicit PointwiseGroups(mlir::Block &block);

  /// Those of more than one operation.
  llvm::SmallVector<PointwiseGroup *> get();

private:
  void add(mlir::linalg::GenericOp op);
  bool canMerge(PointwiseGroup &early, PointwiseGroup &late);
  bool hasSameSpace(PointwiseGroup &early, PointwiseGroup &late);
  bool isWithinLimits(PointwiseGroup &early, PointwiseGroup &late);
  bool hasPathAround(PointwiseGroup &from, PointwiseGroup &to);
  void merge(PointwiseGroup &into, PointwiseGroup &from);

  mlir::Block &block;
  llvm::SmallVector<std::unique_ptr<PointwiseGroup>> groups;
  llvm::DenseMap<mlir::Operation *, PointwiseGroup *> groupOf;
};

/// Brings a function into the form that groups are found in: no copies, and no
/// constants as tensors, among what its operations read.
llvm::LogicalResult preparePointwise(mlir::func::FuncOp function);

/// Whether an operation is one of those that are grouped: each of its results
/// has an element for each iteration, or for each without the last dimension.
bool isPointwise(mlir::linalg::GenericOp op);

/// Whether the operation that defines an operand gives exactly the element that
/// each iteration reads.
bool isElementOfSameIteration(mlir::OpOperand &operand);

/// The values that an operation reads, in its regions too.
llvm::SmallVector<mlir::Value> valuesReadBy(mlir::Operation *op);

} // namespace gatefold

#endif // PASSES_TILE_POINTWISEGROUPS_H
