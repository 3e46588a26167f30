// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenSources.cpp - How an element of a tensor comes about --------===//
//
// Looks through what computes a tensor, as an element at a place that the
// frame of an attention gives.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/fuse/WrittenAttention.h"
#include "passes/support/TensorAxes.h"

using namespace mlir;
using namespace gatefold;
using linalg::ContractOp;
using linalg::GenericOp;

// How deep what computes an element is looked at.
static constexpr unsigned mostSteps = 64;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static AffineMap replaceLoops(AffineMap map, ArrayRef<AffineExpr> loops,
                              unsigned dims) {
  return map.replaceDimsAndSymbols(loops, {}, dims, 0);
}

static bool isSplat(Value value) {
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat();
}

const WrittenAttention::Source &WrittenAttention::look(WrittenElement element,
                                                       unsigned depth) {
  auto known = looked.find({element.value, element.map});
  if (known != looked.end())
    return sources[known->second];
  Source source;
  Operation *op = element.value.getDefiningOp();
  bool isInBlock = op && op->getBlock() == root->getBlock();
  if (!op || depth > mostSteps) {
    // An operand.
  } else if (lookThroughView(element, source)) {
    source.kind = Source::View;
  } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    source.kind = Source::Number;
    source.inputs = {{fill.getInputs()[0], element.map}};
  } else if (isSplat(element.value)) {
    source.kind = Source::Number;
    source.inputs = {element};
  } else if (std::optional<WrittenSoftmax> softmax =
                 matchSoftmax(element.value);
             softmax && isInBlock) {
    source.kind = Source::Softmax;
    source.softmax = *softmax;
    source.inputs = {{source.softmax.getScores(), element.map}};
  } else if (isInBlock && lookAtProduct(element, source)) {
    source.kind = Source::Product;
    source.hasProduct = true;
  } else if (auto generic = dyn_cast<GenericOp>(op)) {
    lookAtStep(element, generic, source);
  }
  if (source.kind == Source::View || source.kind == Source::Step ||
      source.kind == Source::Softmax) {
    source.isOfIndices =
        source.kind != Source::Softmax && source.tables.empty();
    for (WrittenElement input : source.inputs) {
      const Source &from = look(input, depth + 1);
      source.hasProduct |= from.hasProduct;
      source.hasSoftmax |= from.hasSoftmax;
      source.hasStep |= from.hasStep;
      source.isOfIndices &= from.isOfIndices || from.kind == Source::Number ||
                            (!hasQuery(input.map) && !hasKey(input.map));
    }
    source.isOfIndices &= !source.hasLeadIndex;
    source.hasSoftmax |= source.kind == Source::Softmax && source.hasProduct;
    source.hasStep |= source.kind == Source::Step && source.hasProduct;
  }
  looked[{element.value, element.map}] = sources.size();
  sources.push_back(std::move(source));
  return sources.back();
}

/// Transpositions and axes of one element.
bool WrittenAttention::lookThroughView(WrittenElement element, Source &source) {
  Operation *op = element.value.getDefiningOp();
  AffineMap map = element.map;
  unsigned dims = map.getNumDims();
  AffineExpr zero = getAffineConstantExpr(0, op->getContext());
  SmallVector<AffineExpr> places;
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    places.resize(map.getNumResults());
    for (auto [axis, from] : llvm::enumerate(transpose.getPermutation()))
      places[from] = map.getResult(axis);
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (ArrayRef<int64_t> group : expand.getReassociationIndices()) {
      std::optional<int64_t> wide =
          findWideDim(group, expand.getResultType().getShape());
      if (!wide)
        return false;
      places.push_back(*wide < 0 ? zero : map.getResult(*wide));
    }
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    places.assign(shape.size(), zero);
    for (auto [axis, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      std::optional<int64_t> wide = findWideDim(group, shape);
      if (!wide)
        return false;
      if (*wide >= 0)
        places[*wide] = map.getResult(axis);
    }
  } else {
    return false;
  }
  source.inputs = {
      {op->getOperand(0), AffineMap::get(dims, 0, places, op->getContext())}};
  return true;
}

bool WrittenAttention::lookAtProduct(WrittenElement element, Source &source) {
  auto op = element.value.getDefiningOp<ContractOp>();
  if (!op || !isPlainProduct(op) ||
      tensorType(element.value).getElementType() != getElement())
    return false;
  SmallVector<AffineExpr> loops(op.getNumLoops(), dim(getRowDim()));
  for (auto [axis, loop] :
       llvm::enumerate(op.getIndexingMapsArray()[2].getResults()))
    loops[cast<AffineDimExpr>(loop).getPosition()] =
        element.map.getResult(axis);
  std::optional<WrittenElement> query, keys;
  for (unsigned operand = 0; operand < 2; ++operand) {
    WrittenElement found = {
        op.getInputs()[operand],
        replaceLoops(op.getIndexingMapsArray()[operand], loops, leadRank + 3)};
    if (tensorType(found.value).getElementType() != getElement() ||
        !found.map.isFunctionOfDim(getRowDim()) ||
        hasQuery(found.map) == hasKey(found.map))
      return false;
    (hasQuery(found.map) ? query : keys) = found;
  }
  if (!query || !keys)
    return false;
  source.inputs = {*query, *keys};
  return true;
}

std::optional<unsigned>
gatefold::findTableIndex(tensor::ExtractOp extract,
                         function_ref<bool(unsigned)> isLead) {
  std::optional<unsigned> found;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    auto loop = index.getDefiningOp<linalg::IndexOp>();
    if (loop && isLead(loop.getDim()))
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// Tensors that an elementwise operation looks up, one by each leading index
/// that it is given.
bool WrittenAttention::lookUpTables(GenericOp op, Source &source) {
  auto isLead = [&](unsigned loop) {
    auto place = dyn_cast<AffineDimExpr>(source.loops[loop]);
    return place && place.getPosition() < leadRank;
  };
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>()) {
    if (op->isAncestor(extract.getTensor().getParentBlock()->getParentOp()))
      return false;
    std::optional<unsigned> own = findTableIndex(extract, isLead);
    if (!own)
      return false;
    SmallVector<AffineExpr> places;
    for (auto [axis, index] : llvm::enumerate(extract.getIndices()))
      places.push_back(
          axis == *own
              ? dim(getRowDim())
              : source.loops[index.getDefiningOp<linalg::IndexOp>().getDim()]);
    source.tables.push_back(
        {extract.getTensor(),
         AffineMap::get(leadRank + 3, 0, places, op.getContext())});
  }
  // Nothing but a table knows which head it is.
  for (linalg::IndexOp index : op.getBody()->getOps<linalg::IndexOp>())
    source.hasLeadIndex |=
        isLead(index.getDim()) &&
        !llvm::all_of(index->getUses(), [&](OpOperand &use) {
          auto extract = dyn_cast<tensor::ExtractOp>(use.getOwner());
          return extract &&
                 use.getOperandNumber() != 1 + *findTableIndex(extract, isLead);
        });
  return true;
}

void WrittenAttention::lookAtStep(WrittenElement element, GenericOp op,
                                  Source &source) {
  OpOperand *output = op.getDpsInitOperand(0);
  AffineMap whole = op.getMatchingIndexingMap(output);
  if (op.getNumResults() != 1 || op.getNumParallelLoops() != op.getNumLoops() ||
      !whole.isPermutation() || op.payloadUsesValueFromOperand(output))
    return;
  for (Operation &inner : *op.getBody())
    if (!isa<tensor::ExtractOp>(inner) &&
        (!isMemoryEffectFree(&inner) || inner.getNumRegions() != 0 ||
         llvm::any_of(inner.getOperandTypes(), llvm::IsaPred<ShapedType>)))
      return;
  source.loops.resize(op.getNumLoops());
  for (auto [axis, loop] : llvm::enumerate(whole.getResults()))
    source.loops[cast<AffineDimExpr>(loop).getPosition()] =
        element.map.getResult(axis);
  if (!lookUpTables(op, source))
    return;
  for (OpOperand *input : op.getDpsInputOperands())
    source.inputs.push_back(
        {input->get(), replaceLoops(op.getMatchingIndexingMap(input),
                                    source.loops, leadRank + 3)});
  source.kind = Source::Step;
}
