// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceEnd.cpp - Steps that no sequence takes -------------------===//
//
// Finds the state, one bool for each sequence, by which a recurrence ends: a
// step gives 0 and leaves all states where it is true. So a step need not be
// computed where it is true of all sequences.
//
// The region says so by selects alone: with the state taken as true its yielded
// values are folded, element by element.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Matchers.h"
#include "passes/PassCommon.h"
#include "passes/tile/RecurrenceSteps.h"
#include "passes/tile/Slices.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// What the values of a step are where all sequences have ended.
class EndedValues {
public:
  explicit EndedValues(Value ended) : ended(ended) {}

  bool isZero(Value tensor);
  bool isSame(Value tensor, Value state);
  bool writesNothing(ArrayRef<tensor::InsertSliceOp> writes);

private:
  OpFoldResult fold(Value number, linalg::GenericOp body);
  bool isEnded(Value tensor);

  Value ended;
};
} // namespace

/// Whether a tensor is the state that says so, or a part of it.
bool EndedValues::isEnded(Value tensor) {
  while (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>())
    tensor = slice.getSource();
  return tensor == ended;
}

static std::optional<bool> asBool(OpFoldResult value) {
  auto number =
      dyn_cast_or_null<IntegerAttr>(dyn_cast_if_present<Attribute>(value));
  if (!number || !number.getType().isInteger(1))
    return std::nullopt;
  return number.getValue().getBoolValue();
}

/// A constant, or an argument of the body; null for anything else.
OpFoldResult EndedValues::fold(Value number, linalg::GenericOp body) {
  Builder builder(number.getContext());
  if (auto argument = dyn_cast<BlockArgument>(number)) {
    if (argument.getOwner() != body.getBody())
      return {};
    OpOperand *operand = body.getMatchingOpOperand(argument);
    if (body.isDpsInit(operand))
      return {};
    if (isEnded(operand->get()))
      return builder.getBoolAttr(true);
    return argument;
  }
  Attribute constant;
  if (matchPattern(number, m_Constant(&constant)))
    return constant;
  Operation *op = number.getDefiningOp();
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<bool> chosen = asBool(fold(select.getCondition(), body));
    if (!chosen)
      return {};
    return fold(*chosen ? select.getTrueValue() : select.getFalseValue(), body);
  }
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) ||
      !number.getType().isInteger(1))
    return {};
  std::optional<bool> left = asBool(fold(op->getOperand(0), body));
  std::optional<bool> right = asBool(fold(op->getOperand(1), body));
  if (isa<arith::XOrIOp>(op))
    return left && right ? OpFoldResult(builder.getBoolAttr(*left != *right))
                         : OpFoldResult();
  bool decides = isa<arith::OrIOp>(op);
  if (left == decides || right == decides)
    return builder.getBoolAttr(decides);
  return left && right ? OpFoldResult(builder.getBoolAttr(!decides))
                       : OpFoldResult();
}

/// The elementwise operation that makes a tensor, each element at its place.
static linalg::GenericOp findElementwise(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumLoops() != generic.getNumParallelLoops() ||
      !generic.getIndexingMapMatchingResult(cast<OpResult>(tensor))
           .isIdentity())
    return {};
  return generic;
}

static Value yieldedBy(linalg::GenericOp generic, Value tensor) {
  return generic.getBody()->getTerminator()->getOperand(
      cast<OpResult>(tensor).getResultNumber());
}

bool EndedValues::isZero(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp,
                      tensor::CollapseShapeOp, tensor::ExtractSliceOp>(op))
    return isZero(op->getOperand(0));
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return matchPattern(fill.value(), m_PosZeroFloat()) ||
           matchPattern(fill.value(), m_Zero());
  linalg::GenericOp generic = findElementwise(tensor);
  if (!generic)
    return false;
  OpFoldResult folded = fold(yieldedBy(generic, tensor), generic);
  if (auto argument = dyn_cast_if_present<Value>(folded))
    return isZero(
        generic.getMatchingOpOperand(cast<BlockArgument>(argument))->get());
  auto constant = dyn_cast_if_present<Attribute>(folded);
  // The zeros that are written have no sign.
  if (auto number = dyn_cast_or_null<FloatAttr>(constant))
    return number.getValue().isPosZero();
  auto number = dyn_cast_or_null<IntegerAttr>(constant);
  return number && number.getValue().isZero();
}

bool EndedValues::isSame(Value tensor, Value state) {
  if (tensor == state)
    return true;
  if (auto cast = tensor.getDefiningOp<tensor::CastOp>())
    return isSame(cast.getSource(), state);
  linalg::GenericOp generic = findElementwise(tensor);
  if (!generic)
    return false;
  OpFoldResult folded = fold(yieldedBy(generic, tensor), generic);
  if (state == ended)
    return asBool(folded) == true;
  auto argument = dyn_cast_if_present<Value>(folded);
  if (!argument)
    return false;
  OpOperand *operand =
      generic.getMatchingOpOperand(cast<BlockArgument>(argument));
  return generic.getMatchingIndexingMap(operand).isIdentity() &&
         isSame(operand->get(), state);
}

/// Whether each part that is written is what stood there.
bool EndedValues::writesNothing(ArrayRef<tensor::InsertSliceOp> writes) {
  return llvm::all_of(writes, [&](tensor::InsertSliceOp write) {
    linalg::GenericOp generic = findElementwise(write.getSource());
    if (!generic)
      return false;
    auto argument = dyn_cast_if_present<Value>(
        fold(yieldedBy(generic, write.getSource()), generic));
    if (!argument)
      return false;
    OpOperand *operand =
        generic.getMatchingOpOperand(cast<BlockArgument>(argument));
    auto old = operand->get().getDefiningOp<tensor::ExtractSliceOp>();
    return old && generic.getMatchingIndexingMap(operand).isIdentity() &&
           old.getSource() == write.getDest() &&
           old.getMixedOffsets() == write.getMixedOffsets() &&
           old.getMixedSizes() == write.getMixedSizes() &&
           old.getMixedStrides() == write.getMixedStrides();
  });
}

/// The number of that state, if there is one. Where sequences start again none
/// has ended for good.
std::optional<unsigned> RecurrenceSteps::findEndingState() {
  if (isNaive || op.getResets())
    return std::nullopt;
  unsigned outputCount = op.getNumOutputs();
  ValueRange yielded = op.getYield().getValues();
  auto arguments = op.getStateArguments();
  for (auto [number, ended] : llvm::enumerate(arguments)) {
    auto type = cast<RankedTensorType>(ended.getType());
    if (type.getRank() != timeAxis || !type.getElementType().isInteger(1))
      continue;
    EndedValues values(ended);
    bool isEnd =
        llvm::all_of(yielded.take_front(outputCount),
                     [&](Value output) { return values.isZero(output); });
    for (auto [state, next] :
         llvm::zip(arguments, yielded.drop_front(outputCount))) {
      SmallVector<tensor::InsertSliceOp> writes;
      isEnd = isEnd &&
              (values.isSame(next, state) || (findWrites(next, state, writes) &&
                                              values.writesNothing(writes)));
    }
    if (isEnd)
      return number;
  }
  return std::nullopt;
}

/// Whether all sequences have ended.
Value RecurrenceSteps::findAllEnded(Value ended) {
  return reduceBools(
      ended, /*initial=*/true,
      [](OpBuilder &builder, Location loc, Value left, Value right) -> Value {
        return arith::AndIOp::create(builder, loc, left, right);
      });
}

SmallVector<Value>
RecurrenceSteps::makeStep(Value time, ValueRange carried,
                          function_ref<Value(unsigned)> takeStep) {
  std::optional<unsigned> ending = findEndingState();
  if (!ending)
    return makeTakenStep(time, carried, takeStep);
  unsigned outputCount = op.getNumOutputs();
  Value none = findAllEnded(carried[outputCount + *ending]);
  auto choice = scf::IfOp::create(rewriter, loc, carried.getTypes(), none,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  // First, as nothing else may use a state that it keeps in its place.
  rewriter.setInsertionPointToStart(choice.elseBlock());
  SmallVector<Value> next = makeTakenStep(time, carried, takeStep);
  scf::YieldOp::create(rewriter, loc, next);
  rewriter.setInsertionPointToStart(choice.thenBlock());
  SmallVector<Value> kept(carried);
  for (Value &output : MutableArrayRef(kept).take_front(outputCount)) {
    Value step = takeSlice(rewriter, loc, output, {{timeAxis, time}});
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(getElementTypeOrSelf(step)));
    step = linalg::FillOp::create(rewriter, loc, zero, step).getResult(0);
    output = putSlice(rewriter, loc, step, output, {{timeAxis, time}});
  }
  scf::YieldOp::create(rewriter, loc, kept);
  return SmallVector<Value>(choice.getResults());
}
