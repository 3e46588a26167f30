// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenAttention.cpp - Attention written out on tensors ------------===//
//
// Finds products of values with weights that come of products, by a softmax or
// element by element, and plans the row: what depends on a product is taken in,
// and so is whatever is computed element by element for each query and key, or
// from indices alone. Nothing of that size is then stored but what was given
// so.
//
//===----------------------------------------------------------------------===//

#include "passes/fuse/WrittenAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/support/ParameterValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;
using linalg::ContractOp;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

AffineExpr WrittenAttention::dim(unsigned number) const {
  return getAffineDimExpr(number, root->getContext());
}
bool WrittenAttention::hasQuery(AffineMap map) const {
  return map.isFunctionOfDim(getQueryDim());
}
bool WrittenAttention::hasKey(AffineMap map) const {
  return map.isFunctionOfDim(getKeyDim());
}
Type WrittenAttention::getElement() const {
  return tensorType(root->getResult(0)).getElementType();
}
int64_t WrittenAttention::getKeyCount() const {
  std::optional<unsigned> axis =
      weights.map.getResultPosition(dim(getKeyDim()));
  return tensorType(weights.value).getDimSize(*axis);
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

bool gatefold::isPlainProduct(ContractOp op) {
  return op && op.getNumResults() == 1 && op.getNumReductionLoops() == 1 &&
         op.getIndexingMapsArray()[2].isProjectedPermutation() &&
         isa<FloatType>(tensorType(op.getResult(0)).getElementType()) &&
         isFilled(op.getOutputs()[0], 0.0);
}

/// The places of an operand of a product, where each loop is an index.
static AffineMap placesOf(ContractOp op, unsigned operand,
                          ArrayRef<AffineExpr> loops, unsigned dims) {
  return op.getIndexingMapsArray()[operand].replaceDimsAndSymbols(loops, {},
                                                                  dims, 0);
}

/// Sets the frame in which `query` is the loop over the queries.
bool WrittenAttention::findFrame(unsigned weightsOperand, unsigned query) {
  SmallVector<AffineMap> maps = root.getIndexingMapsArray();
  AffineMap ofWeights = maps[weightsOperand];
  SmallVector<unsigned> rows, leads;
  for (AffineExpr axis : maps[2].getResults()) {
    unsigned loop = cast<AffineDimExpr>(axis).getPosition();
    if (!ofWeights.isFunctionOfDim(loop))
      rows.push_back(loop);
    else if (loop != query)
      leads.push_back(loop);
  }
  obstacle = rows.empty() ? "the values are one number for each key; give them "
                            "a dimension of 1"
             : rows.size() > 1
                 ? "the values have other leading dimensions than the scores"
                 : nullptr;
  if (rows.empty())
    return false;
  leadRank = leads.size();
  SmallVector<AffineExpr> loops(root.getNumLoops(), dim(getKeyDim()));
  for (auto [index, lead] : llvm::enumerate(leads))
    loops[lead] = dim(index);
  loops[query] = dim(getQueryDim());
  loops[rows.back()] = dim(getRowDim());
  resultDims.clear();
  for (AffineExpr axis : maps[2].getResults())
    resultDims.push_back(
        cast<AffineDimExpr>(loops[cast<AffineDimExpr>(axis).getPosition()])
            .getPosition());
  unsigned dims = leadRank + 3;
  weights = {root.getInputs()[weightsOperand],
             placesOf(root, weightsOperand, loops, dims)};
  values = {root.getInputs()[1 - weightsOperand],
            placesOf(root, 1 - weightsOperand, loops, dims)};
  sources.clear();
  looked.clear();
  return true;
}

/// Whether the weights are made of powers of a product, and of a sum: a softmax
/// that somebody wrote in operations of their own.
bool WrittenAttention::hasPowersOverSum() {
  SmallVector<WrittenElement> work = {weights};
  llvm::DenseSet<Value> seen;
  bool hasPowers = false, hasQuotient = false, hasSum = false;
  while (!work.empty()) {
    WrittenElement element = work.pop_back_val();
    if (!seen.insert(element.value).second)
      continue;
    const Source &source = look(element);
    auto op = element.value.getDefiningOp<linalg::GenericOp>();
    if (op && source.kind == Source::Step && source.hasProduct) {
      hasPowers |= !op.getBody()->getOps<math::ExpOp>().empty();
      hasQuotient |= !op.getBody()->getOps<arith::DivFOp>().empty();
    }
    hasSum |= op && source.kind == Source::Unknown &&
              op.getNumReductionLoops() == 1 && !hasKey(element.map);
    llvm::append_range(work, source.inputs);
  }
  if (!hasPowers || !hasQuotient || !hasSum)
    return false;
  obstacle = "its weights are powers over their sum, which is no softmax in a "
             "row that sees no key; write softmax(..)";
  return true;
}

/// Whether weights that come of scores element by element take more memory than
/// what they are made of, so that they had better never exist. Those of a step
/// are few, and parameters are packed once for a product.
bool WrittenAttention::hasLargeWeights() const {
  constexpr int64_t mostTimes = 4;
  if (root->getParentOfType<RecurrenceOp>() ||
      dependsOnParametersOnly(values.value))
    return false;
  auto widthOf = [&](const WrittenElement &element) -> uint64_t {
    std::optional<unsigned> axis =
        element.map.getResultPosition(dim(getRowDim()));
    int64_t size = axis ? tensorType(element.value).getDimSize(*axis) : 1;
    return ShapedType::isDynamic(size) ? 1 : size;
  };
  uint64_t width = widthOf(values);
  for (const Source &source : sources) {
    if (source.kind != Source::Product)
      continue;
    if (dependsOnParametersOnly(source.inputs[1].value))
      return false;
    width = llvm::SaturatingAdd(width, widthOf(source.inputs[0]));
  }
  int64_t keys = getKeyCount();
  return ShapedType::isDynamic(keys) || uint64_t(keys) / mostTimes > width;
}

bool WrittenAttention::find() {
  if (!isPlainProduct(root) || root->getParentOfType<AttentionOp>())
    return false;
  SmallVector<AffineMap> maps = root.getIndexingMapsArray();
  for (unsigned operand = 0; operand < 2; ++operand)
    // Of the indices that the values lack, the last one that is no head.
    for (AffineExpr axis : llvm::reverse(maps[2].getResults())) {
      unsigned loop = cast<AffineDimExpr>(axis).getPosition();
      if (!maps[operand].isFunctionOfDim(loop) ||
          maps[1 - operand].isFunctionOfDim(loop) || !findFrame(operand, loop))
        continue;
      const Source &source = look(weights);
      if (source.hasProduct && (source.hasSoftmax || hasPowersOverSum() ||
                                (source.hasStep && hasLargeWeights())))
        return true;
    }
  return false;
}

//===----------------------------------------------------------------------===//
// The row
//===----------------------------------------------------------------------===//

unsigned WrittenAttention::add(WrittenNode node) {
  nodes.push_back(std::move(node));
  return nodes.size() - 1;
}

const char *WrittenAttention::plan() {
  if (obstacle)
    return obstacle;
  if (tensorType(values.value).getElementType() != getElement() ||
      tensorType(weights.value).getElementType() != getElement())
    return "the values have another type than the scores";
  if (const char *reason = planElement(weights, weightsNode))
    return reason;
  if (!nodes[weightsNode].isAlongKeys)
    return "the weights are the same for all keys";
  return planOperand(values, WrittenRole::KeyRows, valuesNode);
}

/// Whether the row computes it: a product and what is made of it, what would
/// else be stored for each query and key, and what costs no operand.
bool WrittenAttention::isInRow(WrittenElement element,
                               const Source &source) const {
  if (source.hasProduct || source.kind == Source::Number)
    return true;
  if (source.kind == Source::Unknown || source.hasLeadIndex)
    return false;
  bool ofQuery = hasQuery(element.map), ofKey = hasKey(element.map);
  bool isPair = ofQuery && ofKey;
  if (source.kind == Source::Softmax)
    return isPair &&
           element.map.getResult(source.softmax.axis) == dim(getKeyDim());
  return isPair || (source.isOfIndices && (ofQuery || ofKey));
}

const char *WrittenAttention::planElement(WrittenElement element,
                                          unsigned &node) {
  auto known = planned.find({element.value, element.map});
  if (known != planned.end()) {
    node = known->second;
    return nullptr;
  }
  const Source &source = look(element);
  const char *reason = isInRow(element, source)
                           ? planSource(element, source, node)
                           : planOperand(element, node);
  if (!reason)
    planned[{element.value, element.map}] = node;
  return reason;
}

const char *WrittenAttention::planSource(WrittenElement element,
                                         const Source &source, unsigned &node) {
  Operation *op = element.value.getDefiningOp();
  WrittenNode made;
  made.op = op;
  if (source.hasLeadIndex)
    return "a score depends on its leading index; give it as a tensor of one "
           "number for each";
  if (source.hasProduct)
    covered.insert(op);
  if (source.kind == Source::View)
    return planElement(source.inputs.front(), node);
  if (source.kind == Source::Number) {
    made.kind = WrittenNode::Number;
    made.element = source.inputs.front();
    node = add(made);
    return nullptr;
  }
  if (source.kind == Source::Product) {
    made.kind = WrittenNode::Product;
    made.isAlongKeys = true;
    auto [query, keys] = std::tie(source.inputs[0], source.inputs[1]);
    if (dependsOnParametersOnly(keys.value))
      return "the keys are parameters, of which a product packs panels";
    made.inputs.resize(2);
    if (const char *reason =
            planOperand(query, WrittenRole::QueryRow, made.inputs[0]))
      return reason;
    if (const char *reason =
            planOperand(keys, WrittenRole::KeyRows, made.inputs[1]))
      return reason;
    node = add(made);
    return nullptr;
  }
  if (source.kind == Source::Softmax) {
    WrittenSoftmax softmax = source.softmax;
    if (element.map.getResult(softmax.axis) != dim(getKeyDim()))
      return "the softmax does not run along the keys, which the product with "
             "the values sums over";
    if (tensorType(softmax.getScores()).getElementType() != getElement())
      return "the scores have another type than the result";
    made.kind = WrittenNode::Softmax;
    made.isAlongKeys = true;
    made.inputs.resize(1);
    if (const char *reason = planElement(source.inputs.front(), made.inputs[0]))
      return reason;
    if (!nodes[made.inputs[0]].isAlongKeys)
      return "the scores are the same for all keys";
    if (source.hasProduct)
      for (Operation *part : {softmax.largest, softmax.powers, softmax.sum})
        covered.insert(part);
    node = add(made);
    return nullptr;
  }
  made.kind = WrittenNode::Step;
  made.loops = source.loops;
  for (linalg::IndexOp index :
       cast<linalg::GenericOp>(op).getBody()->getOps<linalg::IndexOp>())
    made.isAlongKeys |= made.loops[index.getDim()] == dim(getKeyDim());
  for (WrittenElement input : source.inputs) {
    made.inputs.emplace_back();
    if (const char *reason = planElement(input, made.inputs.back()))
      return reason;
    made.isAlongKeys |= nodes[made.inputs.back()].isAlongKeys;
  }
  for (WrittenElement table : source.tables) {
    made.inputs.emplace_back();
    if (const char *reason =
            planOperand(table, WrittenRole::Table, made.inputs.back()))
      return reason;
  }
  node = add(made);
  return nullptr;
}

const char *WrittenAttention::planOperand(WrittenElement element,
                                          unsigned &node) {
  return planOperand(element,
                     hasKey(element.map)     ? WrittenRole::Pair
                     : hasQuery(element.map) ? WrittenRole::QueryNumber
                                             : WrittenRole::Capture,
                     node);
}

const char *WrittenAttention::planOperand(WrittenElement element,
                                          WrittenRole role, unsigned &node) {
  for (auto [number, known] : llvm::enumerate(nodes))
    if (known.kind == WrittenNode::Operand && known.role == role &&
        known.element.value == element.value &&
        known.element.map == element.map) {
      node = number;
      return nullptr;
    }
  // Each index once, or the only element of an axis.
  bool isElement =
      element.map.isProjectedPermutation(/*allowZeroInResults=*/true);
  for (auto [axis, place] : llvm::enumerate(element.map.getResults()))
    isElement &= isa<AffineDimExpr>(place) ||
                 tensorType(element.value).getDimSize(axis) == 1;
  if (!isElement)
    return "an operand is not read element by element";
  WrittenNode made;
  made.kind = WrittenNode::Operand;
  made.role = role;
  made.element = element;
  made.isAlongKeys = role == WrittenRole::Pair;
  node = add(made);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Other readers
//===----------------------------------------------------------------------===//

bool WrittenAttention::takesIn(Operation *op, Operation *reader) const {
  return covered.contains(op) && (covered.contains(reader) || reader == root);
}

const char *WrittenAttention::findOtherReader(
    ArrayRef<const WrittenAttention *> raised) const {
  for (Operation *op : covered) {
    bool isTakenIn = values.value.getDefiningOp() != op;
    for (Operation *reader : op->getUsers())
      isTakenIn &= llvm::any_of(raised, [&](const WrittenAttention *other) {
        return other->takesIn(op, reader);
      });
    if (isTakenIn)
      continue;
    if (op == weights.value.getDefiningOp())
      return "the weights are needed themselves, too; an 'attention' gives "
             "them as one more result with weights=true";
    for (const WrittenNode &node : nodes) {
      if (node.kind != WrittenNode::Softmax)
        continue;
      WrittenSoftmax softmax = *matchSoftmax(node.op->getResult(0));
      if (op == softmax.largest || op == softmax.sum || op == softmax.powers)
        return "the maximum or the sum of a row is needed, too; an "
               "'attention' gives their logarithm with lse=true";
    }
    return "the scores are needed themselves, too; what reads them as well "
           "may stand in an 'attention'";
  }
  return nullptr;
}
