// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenAttention.cpp - Attention written out on whole tensors ------===//
//
// Finds two products with a softmax between them, and what is done to each
// score before the softmax, as steps of one query's row.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/fuse/RaiseAttention.h"
#include "passes/support/ParameterValues.h"

using namespace mlir;
using namespace gatefold;
using linalg::ContractOp;
using linalg::GenericOp;

// How many values are looked at on the way to a product, at each of them.
static constexpr unsigned mostSteps = 32;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// The softmax
//===----------------------------------------------------------------------===//

static bool isNumber(Value value, double number) {
  APFloat found(0.0f);
  return matchPattern(value, m_ConstantFloat(&found)) &&
         found.convertToDouble() == number;
}

static bool isFilled(Value value, double number) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return fill && isNumber(fill.getInputs()[0], number);
}

static const double minusInfinity = -std::numeric_limits<double>::infinity();

/// The axis along which the operation combines its only input, from `initial`;
/// its other axes are those of the result, in order.
template <typename CombineOp>
static std::optional<int64_t> matchReduction(GenericOp op, double initial) {
  if (!op || op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 1 || !isFilled(op.getOutputs()[0], initial))
    return std::nullopt;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  AffineMap whole = op.getIndexingMapsArray()[0];
  std::optional<unsigned> axis =
      whole.getResultPosition(getAffineDimExpr(reduced[0], op.getContext()));
  if (!whole.isPermutation() || !axis ||
      op.getIndexingMapsArray()[1] != whole.dropResult(*axis))
    return std::nullopt;
  Block *body = op.getBody();
  auto combine = dyn_cast<CombineOp>(body->front());
  if (!combine || body->getOperations().size() != 2 ||
      body->getTerminator()->getOperand(0) != combine.getResult())
    return std::nullopt;
  Value element = body->getArgument(0), result = body->getArgument(1);
  if ((combine.getLhs() != result || combine.getRhs() != element) &&
      (combine.getLhs() != element || combine.getRhs() != result))
    return std::nullopt;
  return *axis;
}

/// Whether the operation combines a whole tensor with what is one number along
/// the axis.
static bool isAlongAxis(GenericOp op, int64_t axis) {
  if (!op || op.getNumDpsInputs() != 2 || op.getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return maps[0].isIdentity() && maps[2].isIdentity() &&
         maps[1] == maps[0].dropResult(axis);
}

/// The value, but `instead` where it is `excepted`: what keeps a row without
/// keys from being NaN.
static bool isExcept(Value found, Value value, double excepted,
                     double instead) {
  auto select = found.getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() != value ||
      !isNumber(select.getTrueValue(), instead))
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  return compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
         compare.getLhs() == value && isNumber(compare.getRhs(), excepted);
}

std::optional<WrittenSoftmax> gatefold::matchSoftmax(Value weights) {
  WrittenSoftmax found;
  found.weights = weights.getDefiningOp<GenericOp>();
  if (!found.weights || found.weights.getNumDpsInputs() != 2)
    return std::nullopt;
  found.powers = found.weights.getInputs()[0].getDefiningOp<GenericOp>();
  found.sum = found.weights.getInputs()[1].getDefiningOp<GenericOp>();
  if (!found.powers || found.powers.getNumDpsInputs() != 2)
    return std::nullopt;
  found.largest = found.powers.getInputs()[1].getDefiningOp<GenericOp>();

  std::optional<int64_t> axis = matchReduction<arith::AddFOp>(found.sum, 0.0);
  if (!axis ||
      *axis !=
          matchReduction<arith::MaximumFOp>(found.largest, minusInfinity) ||
      found.sum.getInputs()[0] != found.powers.getResult(0) ||
      found.largest.getInputs()[0] != found.getScores() ||
      !isAlongAxis(found.powers, *axis) || !isAlongAxis(found.weights, *axis))
    return std::nullopt;
  found.axis = *axis;

  Block *powers = found.powers.getBody(), *quotients = found.weights.getBody();
  auto power =
      powers->getTerminator()->getOperand(0).getDefiningOp<math::ExpOp>();
  auto difference =
      power ? power.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  auto quotient =
      quotients->getTerminator()->getOperand(0).getDefiningOp<arith::DivFOp>();
  if (!difference || !quotient ||
      difference.getLhs() != powers->getArgument(0) ||
      !isExcept(difference.getRhs(), powers->getArgument(1), minusInfinity,
                0.0) ||
      quotient.getLhs() != quotients->getArgument(0) ||
      !isExcept(quotient.getRhs(), quotients->getArgument(1), 0.0, 1.0))
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A product of two tensors that sums over one index and starts at 0.
static bool isPlainProduct(ContractOp op) {
  return op && op.getNumResults() == 1 && op.getNumReductionLoops() == 1 &&
         op.getIndexingMapsArray()[2].isProjectedPermutation() &&
         isa<FloatType>(tensorType(op.getResult(0)).getElementType()) &&
         isFilled(op.getOutputs()[0], 0.0);
}

/// The map of an operand, in terms of the result's axes, and `summed` for the
/// index that is summed over.
static AffineMap inTermsOfResult(ContractOp op, unsigned operand,
                                 unsigned summed, unsigned count) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> places(op.getNumLoops(),
                                 getAffineDimExpr(summed, context));
  for (auto [axis, expr] :
       llvm::enumerate(op.getIndexingMapsArray()[2].getResults()))
    places[cast<AffineDimExpr>(expr).getPosition()] =
        getAffineDimExpr(axis, context);
  return op.getIndexingMapsArray()[operand].replaceDimsAndSymbols(places, {},
                                                                  count, 0);
}

static Value throughTransposes(Value value) {
  while (auto transpose = value.getDefiningOp<linalg::TransposeOp>())
    value = transpose.getInput();
  return value;
}

Type AttentionRaise::getElement() {
  return tensorType(valuesProduct.getResult(0)).getElementType();
}

std::optional<WrittenProduct> AttentionRaise::matchProduct(Value value) {
  auto op = value.getDefiningOp<ContractOp>();
  if (!isPlainProduct(op) || op->getBlock() != valuesProduct->getBlock() ||
      tensorType(value).getRank() != leadRank + 2)
    return std::nullopt;
  std::optional<WrittenOperand> query, keys;
  for (unsigned i = 0; i < 2; ++i) {
    WrittenOperand operand = {
        op.getInputs()[i],
        inTermsOfResult(op, i, rowDim(), /*count=*/leadRank + 3)};
    if (tensorType(operand.value).getElementType() != getElement() ||
        !operand.map.isFunctionOfDim(rowDim()) ||
        operand.map.isFunctionOfDim(queryDim()) ==
            operand.map.isFunctionOfDim(keyDim()))
      return std::nullopt;
    (operand.map.isFunctionOfDim(queryDim()) ? query : keys) = operand;
  }
  if (!query || !keys || tensorType(value).getElementType() != getElement())
    return std::nullopt;
  return WrittenProduct{op, *query, *keys};
}

const char *AttentionRaise::matchValues() {
  // In terms of the result: leading axes, the query, a place in the row.
  unsigned summed = leadRank + 2;
  Value weights = softmax.weights.getResult(0);
  unsigned place = valuesProduct.getInputs()[0] == weights ? 0 : 1;
  AffineMap weightsMap =
      inTermsOfResult(valuesProduct, place, summed, leadRank + 3);
  AffineMap valuesMap =
      inTermsOfResult(valuesProduct, 1 - place, summed, leadRank + 3);
  MLIRContext *context = rewriter.getContext();
  SmallVector<AffineExpr> expected;
  for (unsigned i = 0; i <= leadRank; ++i)
    expected.push_back(getAffineDimExpr(i, context));
  expected.push_back(getAffineDimExpr(summed, context));
  if (weightsMap.getResults() != ArrayRef(expected) ||
      valuesMap.isFunctionOfDim(queryDim()) ||
      !valuesMap.isFunctionOfDim(leadRank + 1))
    return "the values do not run along the keys";
  values.value = valuesProduct.getInputs()[1 - place];
  if (tensorType(values.value).getElementType() != getElement())
    return "the values have another type than the scores";
  // The key stands before the place in the row, as in the other operands.
  SmallVector<AffineExpr> order;
  for (unsigned i = 0; i < leadRank + 3; ++i)
    order.push_back(getAffineDimExpr(i, context));
  std::swap(order[leadRank + 1], order[leadRank + 2]);
  values.map = valuesMap.replaceDimsAndSymbols(order, {}, leadRank + 3, 0);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool AttentionRaise::isStep(Value value) {
  auto op = value.getDefiningOp<GenericOp>();
  return op && op->getBlock() == valuesProduct->getBlock() &&
         op.getNumResults() == 1 && op.getNumLoops() == leadRank + 2 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
}

bool AttentionRaise::reachesProduct(Value value) {
  llvm::SetVector<Value> seen;
  seen.insert(value);
  for (unsigned i = 0; i < seen.size() && i < mostSteps; ++i) {
    if (matchProduct(seen[i]))
      return true;
    if (!isStep(seen[i]))
      continue;
    auto op = seen[i].getDefiningOp<GenericOp>();
    for (OpOperand *input : op.getDpsInputOperands())
      if (op.getMatchingIndexingMap(input).isIdentity())
        seen.insert(input->get());
  }
  return false;
}

bool AttentionRaise::find() {
  if (!isPlainProduct(valuesProduct) ||
      valuesProduct->getParentOfType<AttentionOp>())
    return false;
  for (Value input : valuesProduct.getInputs()) {
    std::optional<WrittenSoftmax> found =
        matchSoftmax(throughTransposes(input));
    if (!found || found->weights->getBlock() != valuesProduct->getBlock() ||
        tensorType(found->getScores()).getRank() < 2)
      continue;
    softmax = *found;
    leadRank = tensorType(found->getScores()).getRank() - 2;
    return reachesProduct(softmax.getScores());
  }
  return false;
}

static bool isReadBy(Value value, ArrayRef<Operation *> readers) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return llvm::is_contained(readers, user);
  });
}

const char *AttentionRaise::match() {
  if (softmax.axis != keyDim() ||
      !llvm::is_contained(valuesProduct.getInputs(),
                          softmax.weights.getResult(0)))
    return "the softmax does not run along the keys";
  if (!isReadBy(softmax.weights.getResult(0), valuesProduct.getOperation()) ||
      valuesProduct.getInputs()[0] == valuesProduct.getInputs()[1])
    return "the weights are needed themselves, too";
  Operation *powers = softmax.powers, *sum = softmax.sum,
            *largest = softmax.largest, *weights = softmax.weights;
  if (!isReadBy(powers->getResult(0), {sum, weights}) ||
      !isReadBy(sum->getResult(0), weights) ||
      !isReadBy(largest->getResult(0), powers))
    return "the maximum or the sum of a row is needed, too";
  if (!isReadBy(softmax.getScores(), {largest, powers}))
    return "the scores are needed themselves, too";
  if (tensorType(softmax.getScores()).getElementType() != getElement())
    return "the scores have another type than the result";
  if (tensorType(valuesProduct.getResult(0)).getRank() != leadRank + 2)
    return "the values have other leading dimensions than the scores";
  if (const char *reason = matchValues())
    return reason;
  return planScores(softmax.getScores(), scores);
}

const char *AttentionRaise::planScores(Value value, RowValue &result) {
  if (std::optional<WrittenProduct> product = matchProduct(value)) {
    if (dependsOnParametersOnly(product->keys.value))
      return "the keys are parameters, of which a product packs panels";
    result = {RowValue::Product, unsigned(products.size())};
    products.push_back(*product);
    return nullptr;
  }
  RowStep step = {value.getDefiningOp<GenericOp>(), {}};
  bool hasLeadIndex = llvm::any_of(
      step.op.getBody()->getOps<linalg::IndexOp>(),
      [&](linalg::IndexOp index) { return index.getDim() < leadRank; });
  if (hasLeadIndex)
    return "a score depends on its leading index";
  bool readsMore = llvm::any_of(*step.op.getBody(), [](Operation &op) {
    return !isMemoryEffectFree(&op) || op.getNumRegions() != 0 ||
           llvm::any_of(op.getOperandTypes(), llvm::IsaPred<ShapedType>);
  });
  if (readsMore)
    return "a score is computed from more than its element";
  for (OpOperand *input : step.op.getDpsInputOperands()) {
    RowValue operand = {RowValue::Pair, 0};
    if (const char *reason = planOperand(input, operand))
      return reason;
    step.inputs.push_back(operand);
  }
  result = {RowValue::Step, unsigned(steps.size())};
  steps.push_back(step);
  return nullptr;
}

const char *AttentionRaise::planOperand(OpOperand *input, RowValue &result) {
  auto op = cast<GenericOp>(input->getOwner());
  AffineMap map = op.getMatchingIndexingMap(input);
  if (map.isIdentity() && reachesProduct(input->get())) {
    if (!input->get().hasOneUse())
      return "the scores are needed themselves, too";
    return planScores(input->get(), result);
  }
  // Each index once, or the only element of an axis.
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return "an operand is not read element by element";
  for (auto [axis, expr] : llvm::enumerate(map.getResults()))
    if (isa<AffineConstantExpr>(expr) &&
        tensorType(input->get()).getDimSize(axis) != 1)
      return "an operand is not read element by element";
  bool hasQuery = map.isFunctionOfDim(queryDim()),
       hasKey = map.isFunctionOfDim(keyDim());
  SmallVector<WrittenOperand> &all = hasKey     ? pairs
                                     : hasQuery ? queries
                                                : captures;
  result = {hasKey     ? RowValue::Pair
            : hasQuery ? RowValue::Query
                       : RowValue::Capture,
            unsigned(all.size())};
  all.push_back({input->get(), map});
  return nullptr;
}
