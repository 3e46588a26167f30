// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ExpandOpenShapes.cpp - Expansions to several open sizes ------------===//
//
// Upstream's expand-strided-metadata finds the sizes of an expansion by
// dividing, so that each group may have one open size; what it was given of the
// others it does not look at, and crashes.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/cpu/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_EXPANDOPENSHAPES
#include "passes/cpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;

static bool hasOpenGroup(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(),
                      [&](ArrayRef<int64_t> group) {
                        return llvm::count_if(group, [&](int64_t axis) {
                                 return op.getResultType().isDynamicDim(axis);
                               }) > 1;
                      });
}

static void toCast(memref::ExpandShapeOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto source =
      memref::ExtractStridedMetadataOp::create(builder, loc, op.getSrc());
  MemRefType type = op.getResultType();
  auto [knownStrides, knownOffset] = type.getStridesAndOffset();
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(type.getRank());
  for (auto [place, group] : llvm::enumerate(op.getReassociationIndices())) {
    Value stride = source.getStrides()[place];
    for (int64_t axis : llvm::reverse(group)) {
      strides[axis] = ShapedType::isDynamic(knownStrides[axis])
                          ? OpFoldResult(stride)
                          : builder.getIndexAttr(knownStrides[axis]);
      Value size = getValueOrCreateConstantIndexOp(builder, loc, sizes[axis]);
      stride = arith::MulIOp::create(builder, loc, stride, size);
    }
  }
  OpFoldResult offset = ShapedType::isDynamic(knownOffset)
                            ? OpFoldResult(source.getOffset())
                            : builder.getIndexAttr(knownOffset);
  auto cast = memref::ReinterpretCastOp::create(
      builder, loc, type, source.getBaseBuffer(), offset, sizes, strides);
  op.replaceAllUsesWith(cast.getResult());
  op.erase();
}

namespace {
struct ExpandOpenShapes
    : gatefold::impl::ExpandOpenShapesBase<ExpandOpenShapes> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> expansions;
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (hasOpenGroup(op))
        expansions.push_back(op);
    });
    for (memref::ExpandShapeOp op : expansions)
      toCast(op);
  }
};
} // namespace
