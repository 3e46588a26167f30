// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WidenHalf.cpp - Floats of 16 bits inside a program to f32 ----------===//
//
// Changes the types of values in place, and converts where the interface
// begins.
//
// Exactness: an extension is exact, and every operation in f32 is at least as
// exact as the one in 16 bits that it stands for; a result rounds once.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/simplify/Caches.h"
#include "passes/simplify/Extension.h"
#include "passes/simplify/Passes.h"

namespace gatefold {
#define GEN_PASS_DEF_WIDENHALF
#include "passes/simplify/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

static Type widened(Type type) {
  return isHalf(type) ? withElement(type, Float32Type::get(type.getContext()))
                      : type;
}

/// Whether a function holds what this pass does not know how to widen: buffers
/// or vectors.
static bool hasOtherHalves(func::FuncOp function) {
  auto isOther = [](Type type) {
    return isHalf(type) && isa<ShapedType>(type) &&
           !isa<RankedTensorType>(type);
  };
  auto search = [&](Operation *op) {
    bool found = llvm::any_of(op->getResultTypes(), isOther);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        found |= llvm::any_of(block.getArgumentTypes(), isOther);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  };
  return function.walk(search).wasInterrupted();
}

namespace {
class Widening {
public:
  explicit Widening(ModuleOp module)
      : module(module), builder(module.getContext()),
        wide(builder.getF32Type()) {}
  LogicalResult run();

  int64_t values = 0, roundings = 0;

private:
  LogicalResult widenFunction(func::FuncOp function);
  SmallVector<Value> widenArguments(func::FuncOp function);
  LogicalResult widenOperation(Operation *op);
  void widenReturns(func::FuncOp function);
  void widenCall(func::CallOp call);
  void roundOperand(OpOperand &use, Type element);
  void roundBeginning(RecurrenceOp op, unsigned state);
  void roundRows();
  void extend(Value narrow, llvm::function_ref<bool(OpOperand &)> reads);
  void setType(Value value) {
    if (!isHalf(value.getType()) || caches.contains(value))
      return;
    value.setType(widened(value.getType()));
    ++values;
  }

  ModuleOp module;
  OpBuilder builder;
  Type wide;
  /// Values of states that stay narrow.
  llvm::SetVector<Value> caches;
  /// Extensions, and what they extend.
  SmallVector<std::pair<Value, Value>> extensions;
};
} // namespace

//===----------------------------------------------------------------------===//
// Extensions
//===----------------------------------------------------------------------===//

/// Those readers of a value that stays narrow read its extension, if there are
/// any.
void Widening::extend(Value narrow,
                      llvm::function_ref<bool(OpOperand &)> reads) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : narrow.getUses())
    if (reads(use))
      uses.push_back(&use);
  if (uses.empty())
    return;
  builder.setInsertionPointAfterValue(narrow);
  Value extended = convertElement(builder, narrow.getLoc(), narrow, wide);
  for (OpOperand *use : uses)
    use->set(extended);
  extensions.push_back({extended, narrow});
}

/// What fills a cache fills one of 16 bits.
void Widening::roundOperand(OpOperand &use, Type element) {
  if (isHalf(use.get().getType()))
    return;
  Operation *op = use.getOwner();
  Location loc = op->getLoc();
  auto fill = use.get().getDefiningOp<linalg::FillOp>();
  builder.setInsertionPoint(op);
  if (!fill) {
    use.set(convertElement(builder, loc, use.get(), element));
    return;
  }
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, use.get()), element);
  Value number = convertElement(builder, loc, fill.value(), element);
  use.set(linalg::FillOp::create(builder, loc, number, empty).getResult(0));
}

/// What a cache of a recurrence begins with, where a sequence does too.
void Widening::roundBeginning(RecurrenceOp op, unsigned state) {
  Type element = getElementTypeOrSelf(op.getStateArguments()[state]);
  auto round = [&](OperandRange range) {
    roundOperand(op->getOpOperand(range.getBeginOperandIndex() + state),
                 element);
  };
  round(op.getInitials());
  if (op.getResets())
    round(op.getResetStates());
}

/// What is written into a cache is rounded, and what it begins with; who reads
/// it extends.
void Widening::roundRows() {
  for (Value value : caches) {
    if (auto recurrence = value.getDefiningOp<RecurrenceOp>())
      roundBeginning(recurrence, cast<OpResult>(value).getResultNumber() -
                                     recurrence.getNumOutputs());
    auto write = value.getDefiningOp<tensor::InsertSliceOp>();
    if (!write || isHalf(write.getSource().getType()))
      continue;
    builder.setInsertionPoint(write);
    write.getSourceMutable().assign(
        convertElement(builder, write.getLoc(), write.getSource(),
                       getElementTypeOrSelf(value.getType())));
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult widenConstant(arith::ConstantOp op) {
  Type type = widened(op.getType()), element = getElementTypeOrSelf(type);
  const llvm::fltSemantics &semantics = llvm::APFloat::IEEEsingle();
  auto convertValue = [&](APFloat value) {
    bool losesInfo;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return value;
  };
  TypedAttr wide;
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    wide = FloatAttr::get(element, convertValue(number.getValue()));
  } else if (auto numbers = dyn_cast<DenseFPElementsAttr>(op.getValue())) {
    wide = numbers.mapValues(element, [&](const APFloat &value) {
      return convertValue(value).bitcastToAPInt();
    });
  } else {
    return op.emitError("not compiled yet: a constant of ")
           << op.getType() << " that is not written out";
  }
  op.setValueAttr(wide);
  op.getResult().setType(wide.getType());
  return success();
}

/// Gives the results and the block arguments of an operation their new types,
/// once its operands have theirs.
LogicalResult Widening::widenOperation(Operation *op) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  if (isa<ParameterOp>(op))
    return success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (!isHalf(constant.getType()))
      return success();
    ++values;
    return widenConstant(constant);
  }
  if (auto extension = dyn_cast<arith::ExtFOp>(op)) {
    // What it extends is wide already.
    setType(extension.getOut());
    if (extension.getIn().getType() == extension.getOut().getType()) {
      extension.replaceAllUsesWith(extension.getIn());
      extension.erase();
    }
    return success();
  }
  if (auto rounding = dyn_cast<arith::TruncFOp>(op);
      rounding && isHalf(rounding.getType())) {
    Value value = rounding.getIn();
    if (getElementTypeOrSelf(value.getType()) != wide)
      value = arith::TruncFOp::create(
          builder, loc, withElement(value.getType(), wide), value);
    if (rounding.getRoundingmode()) {
      ++roundings;
      // The mode stays, so that a second run keeps it too.
      Value half = arith::TruncFOp::create(
          builder, loc, rounding.getType(), value,
          rounding.getRoundingmodeAttr(), rounding.getFastmathAttr());
      value = arith::ExtFOp::create(builder, loc, value.getType(), half);
    }
    rounding.replaceAllUsesWith(value);
    rounding.erase();
    return success();
  }
  if (auto cast = dyn_cast<arith::BitcastOp>(op);
      cast && isHalf(cast.getType())) {
    // Its bits are those of 16 bits.
    Value bits =
        arith::BitcastOp::create(builder, loc, cast.getType(), cast.getIn());
    Value extended =
        arith::ExtFOp::create(builder, loc, widened(cast.getType()), bits);
    cast.replaceAllUsesWith(extended);
    cast.erase();
    return success();
  }
  for (Value result : op->getResults())
    setType(result);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        setType(argument);
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Widens the arguments that are not at the interface, and states; gives those
/// that stay narrow.
SmallVector<Value> Widening::widenArguments(func::FuncOp function) {
  SmallVector<Value> narrow;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (!isHalf(argument.getType()) || caches.contains(argument))
      continue;
    if (function.isPublic() &&
        !function.getArgAttr(i, attribute_names::state)) {
      narrow.push_back(argument);
      continue;
    }
    setType(argument);
    if (auto initial =
            function.getArgAttrOfType<FloatAttr>(i, attribute_names::initial))
      function.setArgAttr(i, attribute_names::initial,
                          FloatAttr::get(wide, initial.getValueAsDouble()));
  }
  for (Block &block : llvm::drop_begin(function.getBody()))
    for (BlockArgument argument : block.getArguments())
      setType(argument);
  return narrow;
}

/// Results at the interface round, but for states.
void Widening::widenReturns(func::FuncOp function) {
  SmallVector<Type> results(function.getResultTypes());
  for (auto [i, type] : llvm::enumerate(results)) {
    if (!isHalf(type))
      continue;
    if (!function.isPublic() ||
        function.getResultAttr(i, attribute_names::state)) {
      Operation *end = function.getBody().back().getTerminator();
      if (!isa<func::ReturnOp>(end) || !caches.contains(end->getOperand(i)))
        type = widened(type);
      continue;
    }
    function.walk([&, i = i, type = type](func::ReturnOp op) {
      builder.setInsertionPoint(op);
      op.setOperand(i, convertElement(builder, op.getLoc(), op.getOperand(i),
                                      getElementTypeOrSelf(type)));
    });
  }
  function.setFunctionType(FunctionType::get(
      module.getContext(), function.getBody().getArgumentTypes(), results));
}

LogicalResult Widening::widenFunction(func::FuncOp function) {
  extensions.clear();
  caches = findCaches(function);
  SmallVector<Operation *> operations;
  function.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    if (auto cast = dyn_cast<arith::BitcastOp>(op);
        cast && isHalf(cast.getIn().getType())) {
      // The operand is about to become f32.
      builder.setInsertionPoint(op);
      cast.getInMutable().assign(arith::TruncFOp::create(
          builder, op->getLoc(), cast.getIn().getType(), cast.getIn()));
    }
  SmallVector<Value> narrow = widenArguments(function);
  for (Operation *op : operations)
    if (isa<ParameterOp>(op) && isHalf(op->getResult(0).getType()))
      narrow.push_back(op->getResult(0));
  for (Value value : narrow)
    extend(value, [](OpOperand &) { return true; });
  for (Value value : caches)
    extend(value, [&](OpOperand &use) { return !isOfCache(use, caches); });
  for (Operation *op : operations)
    if (failed(widenOperation(op)))
      return failure();
  roundRows();
  widenReturns(function);
  for (auto [extended, value] : extensions)
    sinkExtension(builder, extended, value);
  return success();
}

/// A call passes and takes what its callee has.
void Widening::widenCall(func::CallOp call) {
  auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
  if (!callee)
    return;
  auto adapt = [&](Value value, Type type) {
    Type element = getElementTypeOrSelf(type);
    return getElementTypeOrSelf(value.getType()) == element
               ? value
               : convertElement(builder, call.getLoc(), value, element);
  };
  builder.setInsertionPoint(call);
  for (auto [operand, type] :
       llvm::zip(call->getOpOperands(), callee.getArgumentTypes()))
    operand.set(adapt(operand.get(), type));
  builder.setInsertionPointAfter(call);
  for (auto [result, type] :
       llvm::zip(call.getResults(), callee.getResultTypes())) {
    Type before = result.getType();
    if (before == type)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    result.setType(type);
    Value adapted = adapt(result, before);
    for (OpOperand *use : uses)
      use->set(adapted);
  }
}

LogicalResult Widening::run() {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !hasOtherHalves(function) &&
        failed(widenFunction(function)))
      return failure();
  module.walk([&](func::CallOp call) { widenCall(call); });
  return success();
}

namespace {
struct WidenHalf : gatefold::impl::WidenHalfBase<WidenHalf> {
  void runOnOperation() override {
    Widening widening(getOperation());
    if (failed(widening.run()))
      signalPassFailure();
    valuesWidened += widening.values;
    roundingsKept += widening.roundings;
  }
};
} // namespace
