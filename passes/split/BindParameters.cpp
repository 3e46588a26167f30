// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BindParameters.cpp - Parameters become arguments -------------------===//
//
// One leading argument of the entry for each named weight.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "passes/split/Passes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/MapVector.h"

namespace gatefold {
#define GEN_PASS_DEF_BINDPARAMETERS
#include "passes/split/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

/// The default of a parameter as an attribute of its element type.
static Attribute makeInitial(FloatAttr initial, Type element) {
  double value = initial.getValueAsDouble();
  if (isa<FloatType>(element))
    return FloatAttr::get(element, value);
  return IntegerAttr::get(element, static_cast<int64_t>(value));
}

/// Puts states behind the other arguments and results, each in their order.
static void orderStates(func::FuncOp entry) {
  Block &block = entry.getBody().front();
  MLIRContext *context = entry.getContext();
  auto isState = [](DictionaryAttr attributes) {
    return attributes && attributes.contains(attribute_names::state);
  };
  SmallVector<unsigned> argumentOrder, resultOrder;
  for (bool states : {false, true}) {
    for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
      if (isState(entry.getArgAttrDict(i)) == states)
        argumentOrder.push_back(i);
    for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
      if (isState(entry.getResultAttrDict(i)) == states)
        resultOrder.push_back(i);
  }
  if (llvm::is_sorted(argumentOrder) && llvm::is_sorted(resultOrder))
    return;

  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  auto attributesOf = [&](DictionaryAttr attributes) {
    return attributes ? attributes : DictionaryAttr::get(context);
  };
  unsigned count = entry.getNumArguments();
  for (unsigned i : argumentOrder) {
    BlockArgument old = block.getArgument(i);
    argumentTypes.push_back(old.getType());
    argumentAttributes.push_back(attributesOf(entry.getArgAttrDict(i)));
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  }
  block.eraseArguments(0, count);
  Operation *terminator = block.getTerminator();
  SmallVector<Value> values;
  for (unsigned i : resultOrder) {
    values.push_back(terminator->getOperand(i));
    resultTypes.push_back(entry.getResultTypes()[i]);
    resultAttributes.push_back(attributesOf(entry.getResultAttrDict(i)));
  }
  terminator->setOperands(values);
  entry.setFunctionType(FunctionType::get(context, argumentTypes, resultTypes));
  entry.setAllArgAttrs(argumentAttributes);
  entry.setAllResultAttrs(resultAttributes);
}

namespace {
struct BindParameters : gatefold::impl::BindParametersBase<BindParameters> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> found = findEntry(getOperation());
    if (failed(found))
      return signalPassFailure();
    func::FuncOp entry = *found;
    orderStates(entry);

    struct Parameter {
      RankedTensorType type;
      FloatAttr initial;
      Location loc;
      SmallVector<ParameterOp> uses;
    };
    llvm::MapVector<StringAttr, Parameter> parameters;
    if (auto listed = entry->getAttrOfType<ArrayAttr>(parametersName))
      for (Attribute each : listed) {
        auto known = dyn_cast<DictionaryAttr>(each);
        auto name = known ? known.getAs<StringAttr>("name") : StringAttr();
        auto type = known ? known.getAs<TypeAttr>("type") : TypeAttr();
        auto tensor =
            type ? dyn_cast<RankedTensorType>(type.getValue()) : nullptr;
        if (!name || !tensor || !tensor.hasStaticShape()) {
          entry.emitError("'") << parametersName
                               << "' needs a name and the type of a tensor of "
                                  "fixed size for each, found "
                               << each;
          return signalPassFailure();
        }
        parameters.try_emplace(
            name,
            Parameter{
                tensor, known.getAs<FloatAttr>("initial"), entry.getLoc(), {}});
      }
    entry->removeAttr(parametersName);
    entry.walk([&](ParameterOp op) {
      Parameter &parameter =
          parameters
              .try_emplace(
                  op.getNameAttr(),
                  Parameter{op.getType(), op.getInitialAttr(), op.getLoc(), {}})
              .first->second;
      if (parameter.uses.empty())
        parameter.loc = op.getLoc();
      parameter.uses.push_back(op);
    });
    auto dimensions =
        entry->getAttrOfType<ArrayAttr>(attribute_names::dimensions);
    Builder builder(&getContext());
    unsigned position = 0;
    for (auto &[name, parameter] : parameters) {
      RankedTensorType type = parameter.type;
      Type element = type.getElementType();
      SmallVector<AffineExpr> shape;
      for (int64_t size : type.getShape())
        shape.push_back(builder.getAffineConstantExpr(size));
      NamedAttrList attributes;
      attributes.set(attribute_names::name, name);
      attributes.set(attribute_names::parameter, builder.getUnitAttr());
      attributes.set(
          attribute_names::shape,
          AffineMapAttr::get(AffineMap::get(
              0, dimensions ? dimensions.size() : 0, shape, &getContext())));
      if (parameter.initial)
        attributes.set(attribute_names::initial,
                       makeInitial(parameter.initial, element));
      if (failed(entry.insertArgument(position, type,
                                      attributes.getDictionary(&getContext()),
                                      parameter.loc)))
        return signalPassFailure();
      for (ParameterOp use : parameter.uses) {
        if (use.getType() != type) {
          use.emitError("parameter ")
              << name << " has type " << type << " elsewhere";
          return signalPassFailure();
        }
        use.replaceAllUsesWith(entry.getArgument(position));
        use.erase();
      }
      ++position;
      ++parametersBound;
    }
  }
};
} // namespace
