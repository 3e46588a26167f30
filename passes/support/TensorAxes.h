// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TensorAxes.h - Axes of a frame in a tensor's dimensions --*- C++ -*-===//
//
// Follows numbered axes, as the heads, queries and elements of an attention,
// through transpositions and reshapings, and puts them in an order.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_TENSORAXES_H
#define PASSES_SUPPORT_TENSORAXES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// The axes that a dimension of a tensor runs over: none where it is of 1,
/// several where they stand merged, the outermost first.
using DimensionAxes = llvm::SmallVector<int64_t, 2>;
/// Of each dimension. An axis of one element is in no dimension.
using TensorAxes = llvm::SmallVector<DimensionAxes>;
/// The size of an axis, dynamic where it is not known.
using AxisSize = llvm::function_ref<int64_t(int64_t)>;

/// The dimension of the group that is not of 1; -1 where all are, and nullopt
/// where several are not.
std::optional<int64_t> findWideDim(llvm::ArrayRef<int64_t> group,
                                   llvm::ArrayRef<int64_t> shape);

/// Whether the operation gives the elements of one tensor in another shape or
/// order: what the two functions below look through.
bool isViewOfAxes(mlir::Operation *op);

/// The axes of such a view's result from those of its source; nullopt where it
/// cuts between the elements of an axis.
std::optional<TensorAxes> followView(mlir::Operation *view,
                                     const TensorAxes &source, AxisSize sizeOf);
/// The axes of its source from those of its result.
std::optional<TensorAxes> lookBehindView(mlir::Operation *view,
                                         const TensorAxes &result,
                                         AxisSize sizeOf);

/// Whether merged axes can be taken apart: all but one have known sizes, and so
/// has the dimension.
bool canSeparate(mlir::RankedTensorType type, const TensorAxes &axes,
                 AxisSize sizeOf);

/// The tensor with a dimension for each of the `wanted` axes, in this order,
/// of 1 where it lacks one. Of the first `leads` of them those are left out
/// that it lacks at the front.
mlir::Value arrangeAxes(mlir::RewriterBase &rewriter, mlir::Location loc,
                        mlir::Value tensor, TensorAxes axes,
                        llvm::ArrayRef<int64_t> wanted, unsigned leads,
                        AxisSize sizeOf);

/// The other way: a tensor with a dimension for each of the axes `given`, some
/// of 1, in the shape and order that `axes` and `type` say.
mlir::Value mergeAxes(mlir::RewriterBase &rewriter, mlir::Location loc,
                      mlir::Value tensor, llvm::ArrayRef<int64_t> given,
                      const TensorAxes &axes, mlir::RankedTensorType type);

} // namespace gatefold

#endif // PASSES_SUPPORT_TENSORAXES_H
