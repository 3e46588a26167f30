// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MapBounds.cpp - What holds in a part of a score map ----------------===//
//
// Follows what a softmax's `where` and scores are made of, through structured
// operations and in the bodies of these, to the indices of query and key.
//
//===----------------------------------------------------------------------===//

#include "passes/tile/MapBounds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using linalg::LinalgOp;

/// Of an index of something in memory.
static constexpr unsigned placeBits = 48;

static bool isCondition(Type type) { return type.isSignlessInteger(1); }
static bool isInteger(Type type) {
  return type.isIndex() || (type.isSignlessInteger() && !isCondition(type));
}

MapBounds::Bounds MapBounds::ofOperation(Operation *inner, const Frame *frame) {
  Type type = inner->getResult(0).getType();
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    if (!frame || index->getBlock() != frame->body)
      return unknown(type);
    if (frame->keyLoop == int64_t(index.getDim()))
      return {part.firstKey, part.lastKey, placeBits};
    auto structured = cast<LinalgOp>(index->getParentOp());
    int64_t size = structured.getStaticLoopRanges()[index.getDim()];
    if (ShapedType::isDynamic(size))
      return {};
    return {number(0), number(size - 1), placeBits};
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
    return ofTensor(extract.getTensor(), std::nullopt);
  if (inner->getNumResults() != 1 || inner->getNumRegions() != 0 ||
      inner->getNumOperands() == 0 || isa<ShapedType>(type))
    return unknown(type);
  SmallVector<Bounds> operands;
  for (Value operand : inner->getOperands())
    operands.push_back(ofScalar(operand, frame));
  if (isa<arith::SelectOp>(inner))
    return ofSelect(operands[0], operands[1], operands[2], type);
  if (auto comparison = dyn_cast<arith::CmpIOp>(inner))
    return ofComparison(comparison, operands[0], operands[1]);
  if (isCondition(type))
    return llvm::all_of(inner->getOperandTypes(), isCondition)
               ? ofConditions(inner, operands)
               : unknown(type);
  if (isa<FloatType>(type))
    return llvm::all_of(inner->getOperandTypes(),
                        [](Type from) { return isa<FloatType>(from); })
               ? ofFloats(inner, operands)
               : unknown(type);
  return isInteger(type) ? ofNumbers(inner, operands) : unknown(type);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

MapBounds::Bounds MapBounds::followScalar(Value value, const Frame *frame) {
  Type type = value.getType();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return ofConstant(constant, type);
  if (value == op.getRowArgument())
    return {part.firstRow, part.lastRow, placeBits};
  if (value == op.getPositionArgument()) {
    if (!part.offset)
      return {};
    unsigned bits = op.getOffset() ? 63 : placeBits;
    return add({part.firstRow, part.lastRow, placeBits},
               {part.offset, part.offset, bits}, type);
  }
  if (frame) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto structured = cast<LinalgOp>(frame->body->getParentOp());
      OpOperand *operand = structured.getMatchingOpOperand(argument);
      if (!isa<RankedTensorType>(operand->get().getType()))
        return ofScalar(operand->get(), nullptr);
      std::optional<int64_t> keyDim;
      AffineMap map = structured.getMatchingIndexingMap(operand);
      for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expression);
        if (loop && frame->keyLoop == int64_t(loop.getPosition()))
          keyDim = dim;
      }
      return ofTensor(operand->get(), keyDim);
    }
    return ofOperation(value.getDefiningOp(), frame);
  }
  if (!body.isPerQuery(value) && !isa<FloatType>(type))
    if (Value same = numberOf(value))
      return exact(same, type);
  Operation *inner = value.getDefiningOp();
  return inner ? ofOperation(inner, nullptr) : unknown(type);
}

MapBounds::Bounds MapBounds::ofScalar(Value value, const Frame *frame) {
  if (frame && value.getParentBlock() != frame->body)
    frame = nullptr;
  std::pair<Value, int64_t> key(value,
                                frame ? frame->keyLoop.value_or(-1) : -1);
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Bounds bounds = followScalar(value, frame);
  return known[key] = bounds;
}

/// The bounds of what a structured operation yields for each element.
MapBounds::Bounds MapBounds::ofStructured(OpResult result,
                                          std::optional<int64_t> keyDim) {
  auto structured = dyn_cast<LinalgOp>(result.getOwner());
  if (!structured ||
      structured.getNumParallelLoops() != structured.getNumLoops())
    return unknown(result.getType());
  AffineMap map =
      structured.getMatchingIndexingMap(structured.getTiedOpOperand(result));
  if (!map.isProjectedPermutation())
    return unknown(result.getType());
  Frame frame = {structured.getBlock(), std::nullopt};
  if (keyDim)
    frame.keyLoop = map.getDimPosition(*keyDim);
  Operation *yield = structured.getBlock()->getTerminator();
  return ofScalar(yield->getOperand(result.getResultNumber()), &frame);
}

MapBounds::Bounds MapBounds::followTensor(Value tensor,
                                          std::optional<int64_t> keyDim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  Attribute constant;
  if (matchPattern(tensor, m_Constant(&constant)))
    return ofConstant(constant, element);
  bool isNumber = type.hasStaticShape() && type.getNumElements() == 1;
  if (isNumber && !body.isPerQuery(tensor) && !isa<FloatType>(element))
    if (Value same = numberOf(tensor))
      return exact(same, element);
  Operation *inner = tensor.getDefiningOp();
  if (!inner)
    return unknown(element);
  /// The one of some dimensions that is not 1 alone.
  auto findWide = [](RankedTensorType shape, ArrayRef<int64_t> dims) {
    std::optional<int64_t> wide;
    for (int64_t dim : dims)
      if (shape.getDimSize(dim) != 1)
        wide = wide ? -1 : dim;
    return wide.value_or(dims.empty() ? -1 : dims.front());
  };
  return TypeSwitch<Operation *, Bounds>(inner)
      .Case([&](LinalgOp) {
        return ofStructured(cast<OpResult>(tensor), keyDim);
      })
      .Case([&](RowSoftmaxOp softmax) {
        return Bounds{mayBeSeen(softmax), truth(true)};
      })
      .Case([&](tensor::CastOp cast) {
        return ofTensor(cast.getSource(), keyDim);
      })
      .Case([&](tensor::ExpandShapeOp reshape) {
        std::optional<int64_t> from;
        for (auto [dim, group] :
             llvm::enumerate(reshape.getReassociationIndices()))
          if (keyDim && llvm::is_contained(group, *keyDim)) {
            if (findWide(type, group) != *keyDim)
              return unknown(element);
            from = dim;
          }
        if (keyDim && !from)
          return unknown(element);
        return ofTensor(reshape.getSrc(), from);
      })
      .Case([&](tensor::CollapseShapeOp reshape) {
        std::optional<int64_t> from;
        if (keyDim) {
          from = findWide(reshape.getSrcType(),
                          reshape.getReassociationIndices()[*keyDim]);
          if (*from < 0)
            return unknown(element);
        }
        return ofTensor(reshape.getSrc(), from);
      })
      .Case([&](tensor::FromElementsOp elements) {
        return elements.getNumOperands() == 1
                   ? ofScalar(elements.getElements()[0], nullptr)
                   : unknown(element);
      })
      .Default([&](Operation *) { return unknown(element); });
}

MapBounds::Bounds MapBounds::ofTensor(Value tensor,
                                      std::optional<int64_t> keyDim) {
  std::pair<Value, int64_t> key(tensor, keyDim.value_or(-1));
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Bounds bounds = followTensor(tensor, keyDim);
  return known[key] = bounds;
}

/// Whether some query may see some key for a softmax, as far as its `where` and
/// its scores tell.
Value MapBounds::mayBeSeen(RowSoftmaxOp softmax) {
  Value maybe = ofTensor(softmax.getScores(), 0).high;
  if (softmax.getWhere())
    maybe = make<arith::AndIOp>(maybe, ofTensor(softmax.getWhere(), 0).high);
  return maybe;
}

Value MapBounds::mayCount() {
  Value any = truth(false);
  for (Operation &inner : op.getBody().front()) {
    if (auto softmax = dyn_cast<RowSoftmaxOp>(inner))
      any = make<arith::OrIOp>(any, mayBeSeen(softmax));
    else if (auto product = dyn_cast<RowValuesOp>(inner))
      any = make<arith::OrIOp>(any, ofTensor(product.getWeights(), 0).low);
  }
  return any;
}

Value MapBounds::mayHold(Value condition, LinalgOp structured,
                         int64_t keyLoop) {
  Frame frame = {structured.getBlock(), keyLoop};
  return ofScalar(condition, &frame).high;
}
