// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Touched.cpp - What operations read and write -----------------------===//
//
// What an operation touches is what stands in it: structured operations, loads
// and stores. Anything else that has effects is not known.
//
//===----------------------------------------------------------------------===//

#include "passes/team/Touched.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "passes/team/Group.h"

using namespace mlir;
using namespace gatefold;

bool BufferPart::meets(const BufferPart &other) const {
  if (root != other.root)
    return false;
  for (auto [left, right] : llvm::zip(ranges, other.ranges))
    if (left && right &&
        (left->end <= right->begin || right->end <= left->begin))
      return false;
  return true;
}

bool Touched::dependsOn(const Touched &other) const {
  auto meet = [](ArrayRef<BufferPart> left, ArrayRef<BufferPart> right) {
    return llvm::any_of(left, [&](const BufferPart &part) {
      return llvm::any_of(
          right, [&](const BufferPart &each) { return part.meets(each); });
    });
  };
  return meet(read, other.written) || meet(written, other.written) ||
         meet(written, other.read);
}

static int64_t rankOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getRank();
}

/// A root of null: it may be any.
static BufferPart getPart(Value view) {
  SmallVector<std::optional<IndexSpan>> ranges(rankOf(view));
  while (auto op = view.getDefiningOp<ViewLikeOpInterface>()) {
    auto subview = dyn_cast<memref::SubViewOp>(op.getOperation());
    Value source = op.getViewSource();
    SmallVector<std::optional<IndexSpan>> outer(rankOf(source));
    if (subview) {
      llvm::SmallBitVector dropped = subview.getDroppedDims();
      int64_t kept = 0;
      for (int64_t dim = 0, e = outer.size(); dim < e; ++dim) {
        std::optional<IndexSpan> inner;
        if (!dropped[dim])
          inner = ranges[kept++];
        auto offset = getConstantIntValue(subview.getMixedOffsets()[dim]);
        auto size = getConstantIntValue(subview.getMixedSizes()[dim]);
        auto stride = getConstantIntValue(subview.getMixedStrides()[dim]);
        if (!offset || stride != 1)
          continue;
        if (inner)
          outer[dim] = IndexSpan{*offset + inner->begin, *offset + inner->end};
        else if (size)
          outer[dim] = IndexSpan{*offset, *offset + *size};
      }
    } else if (isa<memref::CastOp>(op.getOperation())) {
      outer = ranges;
    }
    ranges = std::move(outer);
    view = source;
  }
  return {getRoot(view), std::move(ranges)};
}

bool gatefold::findTouched(Operation *item, Touched &touched) {
  auto note = [&](Value buffer, bool isWrite) {
    BufferPart part = getPart(buffer);
    bool isKnown = part.root != nullptr;
    (isWrite ? touched.written : touched.read).push_back(std::move(part));
    return isKnown;
  };
  auto visit = [&](Operation *op) {
    if (isNeutral(op) || isa<scf::ForOp, scf::IfOp>(op))
      return WalkResult::advance();
    bool isKnown = isStructured(op);
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      isKnown = note(load.getMemRef(), false);
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      isKnown = note(store.getMemRef(), true);
    } else if (isKnown) {
      // Loads in its region are visited next.
      auto destination = cast<DestinationStyleOpInterface>(op);
      for (OpOperand &operand : op->getOpOperands())
        if (isa<MemRefType>(operand.get().getType()))
          isKnown &= note(operand.get(), destination.isDpsInit(&operand));
    }
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  };
  return !item->walk<WalkOrder::PreOrder>(visit).wasInterrupted();
}
