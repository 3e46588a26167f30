// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Caches.cpp - States that rows are written into ---------------------===//
//
// Follows a state from where a function gives it back, or a step its next
// value, to where it came in: through slices that are written into it, loops
// around these, and recurrences whose steps do so.
//
//===----------------------------------------------------------------------===//

#include "passes/simplify/Caches.h"
#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace gatefold;

static bool isHalfElement(Type type) { return type.isF16() || type.isBF16(); }

static bool isHalf(Type type) {
  return isa<RankedTensorType>(type) &&
         isHalfElement(getElementTypeOrSelf(type));
}

static bool hasHalfBits(Value value, const llvm::SetVector<Value> &caches);

/// Collects what a state is on its way from `from` to `value`; false if it is
/// made of anything else, or of nothing.
static bool follow(Value value, Value from, llvm::SetVector<Value> &values) {
  values.insert(value);
  if (value == from)
    return true;
  if (auto write = value.getDefiningOp<tensor::InsertSliceOp>())
    return follow(write.getDest(), from, values);
  if (auto cast = value.getDefiningOp<tensor::CastOp>())
    return follow(cast.getSource(), from, values);
  auto result = dyn_cast<OpResult>(value);
  if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    BlockArgument argument = loop.getTiedLoopRegionIterArg(result);
    return follow(loop.getTiedLoopYieldedValue(argument)->get(), argument,
                  values) &&
           follow(loop.getTiedLoopInit(result)->get(), from, values);
  }
  auto recurrence = value.getDefiningOp<RecurrenceOp>();
  if (!recurrence || result.getResultNumber() < recurrence.getNumOutputs())
    return false;
  unsigned number = result.getResultNumber();
  unsigned state = number - recurrence.getNumOutputs();
  if (recurrence.getResets() &&
      !hasHalfBits(recurrence.getResetStates()[state], /*caches=*/{}))
    return false;
  return follow(recurrence.getYield().getOperand(number),
                recurrence.getStateArguments()[state], values) &&
         follow(recurrence.getInitials()[state], from, values);
}

//===----------------------------------------------------------------------===//
// States of recurrences
//===----------------------------------------------------------------------===//

/// Whether a number that a body makes is one of 16 bits, in f32 too.
static bool hasHalfBitsInBody(Value number, linalg::GenericOp body,
                              const llvm::SetVector<Value> &caches) {
  if (auto argument = dyn_cast<BlockArgument>(number))
    return body && argument.getOwner() == body.getBody() &&
           hasHalfBits(body->getOperand(argument.getArgNumber()), caches);
  if (number.getDefiningOp<arith::ConstantOp>())
    return isHalfElement(number.getType());
  if (auto select = number.getDefiningOp<arith::SelectOp>())
    return hasHalfBitsInBody(select.getTrueValue(), body, caches) &&
           hasHalfBitsInBody(select.getFalseValue(), body, caches);
  auto rounding = number.getDefiningOp<arith::TruncFOp>();
  if (!rounding || !isHalfElement(number.getType()))
    return false;
  if (rounding.getRoundingmode())
    return true;
  // It only names a type: the number stays what it is.
  FloatAttr constant;
  if (!matchPattern(rounding.getIn(), m_Constant(&constant)))
    return false;
  bool losesInfo;
  APFloat rounded = constant.getValue();
  rounded.convert(cast<FloatType>(number.getType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  return !losesInfo;
}

/// Whether all elements of a tensor are numbers of 16 bits, in f32 too: they
/// were rounded, or came as such.
static bool hasHalfBits(Value value, const llvm::SetVector<Value> &caches) {
  if (caches.contains(value) || value.getDefiningOp<ParameterOp>())
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function && function.isPublic() &&
           !function.getArgAttr(argument.getArgNumber(),
                                attribute_names::state);
  }
  Operation *made = value.getDefiningOp();
  if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp>(made))
    return hasHalfBits(made->getOperand(0), caches);
  if (auto fill = dyn_cast<linalg::FillOp>(made))
    return hasHalfBitsInBody(fill.value(), /*body=*/{}, caches);
  auto generic = dyn_cast<linalg::GenericOp>(made);
  if (!generic || generic.getNumLoops() != generic.getNumParallelLoops())
    return false;
  unsigned result = cast<OpResult>(value).getResultNumber();
  return hasHalfBitsInBody(
      generic.getBody()->getTerminator()->getOperand(result), generic, caches);
}

/// Adds what the states of a recurrence are that lose nothing in 16 bits.
static void addCaches(RecurrenceOp op, llvm::SetVector<Value> &caches) {
  for (auto [argument, initial, next, final] :
       llvm::zip(op.getStateArguments(), op.getInitials(),
                 op.getYield().getValues().drop_front(op.getNumOutputs()),
                 op.getFinals())) {
    llvm::SetVector<Value> values;
    if (!isHalf(argument.getType()) || caches.contains(argument) ||
        next == argument || !follow(next, argument, values))
      continue;
    values.insert(final);
    llvm::SetVector<Value> known = caches;
    known.insert(values.begin(), values.end());
    bool isExact = hasHalfBits(initial, known);
    if (op.getResets())
      isExact =
          isExact && hasHalfBits(op.getResetStates()[argument.getArgNumber() -
                                                     op.getSequences().size()],
                                 known);
    for (Value value : values)
      if (auto write = value.getDefiningOp<tensor::InsertSliceOp>())
        isExact = isExact && hasHalfBits(write.getSource(), known);
    if (isExact)
      caches = known;
  }
}

//===----------------------------------------------------------------------===//
// States of functions
//===----------------------------------------------------------------------===//

/// Number of the result that is the state's next value, if there is one.
static std::optional<unsigned> findResult(func::FuncOp function,
                                          unsigned argument) {
  Attribute name = function.getArgAttr(argument, attribute_names::name);
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (name && function.getResultAttr(i, attribute_names::state) &&
        function.getResultAttr(i, attribute_names::name) == name)
      return i;
  return std::nullopt;
}

/// Adds what the states at a function's interface are.
static void addCaches(func::FuncOp function, llvm::SetVector<Value> &caches) {
  if (!function.isPublic() || !function.getBody().hasOneBlock())
    return;
  Operation *end = function.getBody().front().getTerminator();
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!isHalf(argument.getType()) ||
        !function.getArgAttr(number, attribute_names::state))
      continue;
    std::optional<unsigned> result = findResult(function, number);
    llvm::SetVector<Value> values;
    if (result && end->getOperand(*result) != argument &&
        follow(end->getOperand(*result), argument, values))
      caches.insert(values.begin(), values.end());
  }
}

llvm::SetVector<Value> gatefold::findCaches(func::FuncOp function) {
  llvm::SetVector<Value> caches;
  addCaches(function, caches);
  // What is around a step comes before what is in it.
  function.walk<WalkOrder::PreOrder>(
      [&](RecurrenceOp op) { addCaches(op, caches); });
  return caches;
}

bool gatefold::isOfCache(OpOperand &use, const llvm::SetVector<Value> &caches) {
  Operation *user = use.getOwner();
  if (isa<tensor::DimOp>(user))
    return true;
  if (auto write = dyn_cast<tensor::InsertSliceOp>(user))
    return write.getDestMutable().getOperandNumber() ==
               use.getOperandNumber() &&
           caches.contains(write.getResult());
  if (isa<tensor::CastOp>(user))
    return caches.contains(user->getResult(0));
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return llvm::is_contained(loop.getInitArgs(), use.get()) &&
           caches.contains(loop.getTiedLoopResult(&use));
  if (auto recurrence = dyn_cast<RecurrenceOp>(user)) {
    auto numberIn = [&](OperandRange range) -> std::optional<unsigned> {
      unsigned first = range.getBeginOperandIndex();
      unsigned number = use.getOperandNumber();
      if (number < first || number >= first + range.size())
        return std::nullopt;
      return number - first;
    };
    std::optional<unsigned> state = numberIn(recurrence.getInitials());
    if (!state)
      state = numberIn(recurrence.getResetStates());
    return state && caches.contains(recurrence.getFinals()[*state]);
  }
  if (isa<scf::YieldOp, YieldOp>(user))
    return user->getParentOp()->getNumResults() > use.getOperandNumber() &&
           caches.contains(
               user->getParentOp()->getResult(use.getOperandNumber()));
  auto function = dyn_cast<func::FuncOp>(user->getParentOp());
  return isa<func::ReturnOp>(user) && function &&
         function.getResultAttr(use.getOperandNumber(), attribute_names::state);
}
