// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeFunctions.cpp - The interface and its sizes --------------------===//
//
// Describes the entry's interface in one attribute, and computes its sizes.
//
//===----------------------------------------------------------------------===//

#include "passes/split/Passes.h"
#include "passes/support/CheckedSizes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/StringMap.h"

namespace gatefold {
#define GEN_PASS_DEF_SIZEFUNCTIONS
#include "passes/split/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static std::optional<double> toNumber(Attribute attribute) {
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getType().isInteger(1)
               ? static_cast<double>(number.getValue().getBoolValue())
               : static_cast<double>(number.getInt());
  return std::nullopt;
}

/// Whether a value is `state` with a part of it written over, or all of it as
/// it was.
static bool isWrittenOver(Value value, Value state) {
  while (value != state) {
    Operation *by = value.getDefiningOp();
    if (auto insertion = dyn_cast_or_null<tensor::InsertSliceOp>(by)) {
      value = insertion.getDest();
    } else if (auto view = dyn_cast_or_null<tensor::CastOp>(by)) {
      value = view.getSource();
    } else if (auto loop = dyn_cast_or_null<scf::ForOp>(by)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (!isWrittenOver(loop.getYieldedValues()[number],
                         loop.getRegionIterArg(number)))
        return false;
      value = loop.getInitArgs()[number];
    } else if (auto choice = dyn_cast_or_null<scf::IfOp>(by)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      return isWrittenOver(choice.thenYield().getOperand(number), state) &&
             isWrittenOver(choice.elseYield().getOperand(number), state);
    } else {
      return false;
    }
  }
  return true;
}

/// Marks the states that can stay where they are.
static void findStatesInPlace(func::FuncOp entry, Interface &interface) {
  unsigned arguments = entry.getNumArguments();
  auto results = entry.getBody().front().getTerminator()->getOperands();
  for (auto [index, value] : llvm::enumerate(results)) {
    InterfaceTensor &result = interface.tensors[arguments + index];
    if (result.role != InterfaceTensor::Role::State)
      continue;
    for (BlockArgument argument : entry.getArguments()) {
      InterfaceTensor &state = interface.tensors[argument.getArgNumber()];
      if (state.role == InterfaceTensor::Role::State &&
          state.name == result.name && state.type == result.type)
        state.isInPlace = result.isInPlace = isWrittenOver(value, argument);
    }
  }
}

/// Takes the interface from the attributes of a complete entry.
static FailureOr<Interface> readInterface(func::FuncOp entry) {
  Interface result;
  result.entry = entry.getName().str();
  if (auto names = entry->getAttrOfType<ArrayAttr>(attribute_names::dimensions))
    for (Attribute name : names)
      result.dimensions.push_back(cast<StringAttr>(name).str());
  auto add = [&](bool isResult, DictionaryAttr attributes, Type type) {
    auto tensorType = dyn_cast<RankedTensorType>(type);
    auto prepared =
        attributes ? attributes.getAs<StringAttr>(preparedName) : nullptr;
    auto name = prepared || !attributes
                    ? prepared
                    : attributes.getAs<StringAttr>(attribute_names::name);
    auto shape = attributes
                     ? attributes.getAs<AffineMapAttr>(attribute_names::shape)
                     : nullptr;
    if (!tensorType || !name || !shape) {
      entry.emitError("needs a complete interface, as gf-complete-interface "
                      "leaves it");
      return failure();
    }
    using Role = InterfaceTensor::Role;
    InterfaceTensor &tensor = result.tensors.emplace_back();
    tensor.isResult = isResult;
    tensor.role = prepared ? Role::Prepared
                  : attributes.contains(attribute_names::parameter)
                      ? Role::Parameter
                  : attributes.contains(attribute_names::state) ? Role::State
                  : isResult                                    ? Role::Result
                                                                : Role::Input;
    tensor.name = name.str();
    tensor.type = tensorType;
    tensor.shape = shape.getValue();
    tensor.initial = toNumber(attributes.get(attribute_names::initial));
    if (auto map = attributes.getAs<AffineMapAttr>(attribute_names::below))
      tensor.below = map.getValue();
    if (auto map = attributes.getAs<AffineMapAttr>(attribute_names::atMost))
      tensor.atMost = map.getValue();
    return success();
  };
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
    if (failed(add(/*isResult=*/false, entry.getArgAttrDict(i),
                   entry.getArgumentTypes()[i])))
      return failure();
  // What the run does not read, `prepare` has read.
  for (auto [tensor, argument] :
       llvm::zip(result.tensors, entry.getArguments()))
    tensor.isPrepareOnly =
        tensor.role == InterfaceTensor::Role::Parameter && argument.use_empty();
  for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
    if (failed(add(/*isResult=*/true, entry.getResultAttrDict(i),
                   entry.getResultTypes()[i])))
      return failure();
  if (auto maps = entry->getAttrOfType<ArrayAttr>(attribute_names::equal))
    for (Attribute map : maps)
      result.equal.push_back(cast<AffineMapAttr>(map).getValue());
  if (auto messages =
          entry->getAttrOfType<ArrayAttr>(attribute_names::equalMessages))
    for (Attribute message : messages)
      result.equalMessages.push_back(cast<StringAttr>(message).str());
  findStatesInPlace(entry, result);
  return result;
}

/// gatefold_sizes(symbols, sizes).
static void makeSizes(ModuleOp module, const Interface &interface) {
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto function =
      func::FuncOp::create(builder, loc, sizesFunction,
                           builder.getFunctionType({pointer, pointer}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  Type i64 = builder.getI64Type();
  auto place = [&](Value base, int64_t index) -> Value {
    return LLVM::GEPOp::create(builder, loc, pointer, i64, base,
                               ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(index)});
  };
  SmallVector<Value> symbols;
  for (unsigned i = 0, e = interface.dimensions.size(); i < e; ++i)
    symbols.push_back(LLVM::LoadOp::create(builder, loc, i64,
                                           place(function.getArgument(0), i)));
  CheckedSizes sizes(builder, loc);
  for (auto [index, expression] : llvm::enumerate(interface.getSizes())) {
    sizes.reset();
    Value size = sizes.evaluate(expression, symbols);
    LLVM::StoreOp::create(builder, loc, sizes.orMinusOne(size),
                          place(function.getArgument(1), index));
  }
  func::ReturnOp::create(builder, loc);
}

/// Tells each assertion the place of its message among the failures.
static void numberFailures(ModuleOp module, Interface &interface) {
  llvm::StringMap<int32_t> places;
  Builder builder(module.getContext());
  module.walk([&](cf::AssertOp assertion) {
    auto [place, isNew] =
        places.try_emplace(assertion.getMsg(), interface.failures.size());
    if (isNew)
      interface.failures.push_back(assertion.getMsg().str());
    assertion->setAttr(failureName, builder.getI32IntegerAttr(place->second));
  });
}

namespace {
struct SizeFunctions : gatefold::impl::SizeFunctionsBase<SizeFunctions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry = findEntry(module);
    if (failed(entry))
      return signalPassFailure();
    FailureOr<Interface> interface = readInterface(*entry);
    if (failed(interface))
      return signalPassFailure();
    for (StringRef name :
         {sizesFunction, arenaFunction, prepareArenaFunction, runFunction}) {
      if (module.lookupSymbol(name)) {
        (*entry).emitError() << "the module has a '" << name << "' already";
        return signalPassFailure();
      }
    }
    numberFailures(module, *interface);
    (*entry).setName(runFunction);
    (*entry).setPublic();
    module->setAttr(descriptionName, interface->toAttribute(&getContext()));
    (*entry).removeArgAttrsAttr();
    (*entry).removeResAttrsAttr();
    for (StringRef name :
         {attribute_names::equal, attribute_names::equalMessages,
          attribute_names::dimensions, attribute_names::entry})
      (*entry)->removeAttr(name);
    makeSizes(module, *interface);
  }
};
} // namespace
