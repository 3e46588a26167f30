// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Entry.cpp - The entry of a program and its interface ---------------===//
//
// Finds the entry; keeps its interface in an attribute.
//
//===----------------------------------------------------------------------===//

#include "passes/support/Entry.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/Description.h"
#include <limits>

using namespace mlir;
using namespace gatefold;

FailureOr<func::FuncOp> gatefold::findEntry(ModuleOp module) {
  func::FuncOp entry, other;
  unsigned publicFunctions = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    if (function->hasAttr(attribute_names::entry)) {
      if (entry) {
        InFlightDiagnostic diagnostic =
            function.emitError("a second entry; one is compiled at a time");
        diagnostic.attachNote(entry.getLoc()) << "the first one";
        return diagnostic;
      }
      entry = function;
    } else if (function.isPublic()) {
      other = function;
      ++publicFunctions;
    }
  }
  if (entry)
    return entry;
  if (publicFunctions == 1)
    return other;
  return module.emitError("no entry: needs a function with ")
         << attribute_names::entry << ", or a single public function; found "
         << publicFunctions;
}

std::optional<SizeBinding> gatefold::getSizeBinding(AffineExpr size,
                                                    unsigned symbolCount) {
  SmallVector<int64_t> coefficients;
  // Divisions make flattening add local variables, which are then no symbols.
  if (!size.isPureAffine() ||
      failed(getFlattenedAffineExpr(size, /*numDims=*/0, symbolCount,
                                    &coefficients)) ||
      coefficients.size() != symbolCount + 1)
    return std::nullopt;
  std::optional<SizeBinding> binding;
  for (unsigned symbol = 0; symbol < symbolCount; ++symbol) {
    if (coefficients[symbol] == 0)
      continue;
    if (binding || coefficients[symbol] < 0)
      return std::nullopt;
    binding = SizeBinding{symbol, coefficients[symbol], coefficients.back()};
  }
  return binding;
}

SmallVector<const InterfaceTensor *> Interface::getInputs() const {
  SmallVector<const InterfaceTensor *> selected;
  for (const InterfaceTensor &tensor : tensors)
    if (!tensor.isResult && !tensor.isConstant())
      selected.push_back(&tensor);
  return selected;
}

SmallVector<const InterfaceTensor *> Interface::getResults() const {
  SmallVector<const InterfaceTensor *> selected;
  for (const InterfaceTensor &tensor : tensors)
    if (tensor.isResult)
      selected.push_back(&tensor);
  return selected;
}

SmallVector<const InterfaceTensor *> Interface::getParameters() const {
  SmallVector<const InterfaceTensor *> selected;
  for (const InterfaceTensor &tensor : tensors)
    if (tensor.role == InterfaceTensor::Role::Parameter)
      selected.push_back(&tensor);
  return selected;
}

SmallVector<const InterfaceTensor *> Interface::getPrepared() const {
  SmallVector<const InterfaceTensor *> selected;
  for (const InterfaceTensor &tensor : tensors)
    if (tensor.role == InterfaceTensor::Role::Prepared)
      selected.push_back(&tensor);
  return selected;
}

SmallVector<AffineExpr> Interface::getSizes() const {
  SmallVector<AffineExpr> sizes;
  auto append = [&](AffineMap map) {
    if (map)
      llvm::append_range(sizes, map.getResults());
  };
  for (const InterfaceTensor *tensor : getInputs())
    append(tensor->shape);
  for (const InterfaceTensor *tensor : getResults())
    append(tensor->shape);
  for (const InterfaceTensor *tensor : getParameters())
    append(tensor->shape);
  for (const InterfaceTensor *tensor : getPrepared())
    append(tensor->shape);
  for (const InterfaceTensor *tensor : getInputs()) {
    append(tensor->below);
    append(tensor->atMost);
  }
  for (AffineMap map : equal)
    append(map);
  return sizes;
}

DictionaryAttr Interface::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> tensorAttributes;
  for (const InterfaceTensor &tensor : tensors) {
    NamedAttrList entries;
    entries.set("role",
                builder.getI64IntegerAttr(static_cast<int64_t>(tensor.role)));
    if (tensor.isResult)
      entries.set("result", builder.getUnitAttr());
    if (tensor.isPrepareOnly)
      entries.set("prepare_only", builder.getUnitAttr());
    if (tensor.isInPlace)
      entries.set("in_place", builder.getUnitAttr());
    entries.set("name", builder.getStringAttr(tensor.name));
    entries.set("type", TypeAttr::get(tensor.type));
    entries.set("shape", AffineMapAttr::get(tensor.shape));
    if (tensor.initial)
      entries.set("initial", builder.getF64FloatAttr(*tensor.initial));
    if (tensor.below)
      entries.set("below", AffineMapAttr::get(tensor.below));
    if (tensor.atMost)
      entries.set("at_most", AffineMapAttr::get(tensor.atMost));
    tensorAttributes.push_back(entries.getDictionary(context));
  }
  auto strings = [&](ArrayRef<std::string> values) {
    return builder.getStrArrayAttr(llvm::to_vector(llvm::map_range(
        values, [](const std::string &value) { return StringRef(value); })));
  };
  NamedAttrList entries;
  entries.set("entry", builder.getStringAttr(entry));
  entries.set("dimensions", strings(dimensions));
  entries.set("tensors", builder.getArrayAttr(tensorAttributes));
  entries.set("equal", builder.getAffineMapArrayAttr(equal));
  entries.set("messages", strings(equalMessages));
  if (!failures.empty())
    entries.set("failures", strings(failures));
  return entries.getDictionary(context);
}

FailureOr<Interface> Interface::fromModule(ModuleOp module) {
  auto attribute = module->getAttrOfType<DictionaryAttr>(descriptionName);
  auto fail = [&]() {
    return module.emitError("needs a well-formed ")
           << descriptionName << ", as gf-size-functions leaves it";
  };
  if (!attribute)
    return fail();
  auto entry = attribute.getAs<StringAttr>("entry");
  auto dimensions = attribute.getAs<ArrayAttr>("dimensions");
  auto tensors = attribute.getAs<ArrayAttr>("tensors");
  auto equal = attribute.getAs<ArrayAttr>("equal");
  auto messages = attribute.getAs<ArrayAttr>("messages");
  if (!entry || !dimensions || !tensors || !equal || !messages ||
      equal.size() != messages.size())
    return fail();

  Interface result;
  result.entry = entry.str();
  auto readStrings = [](ArrayAttr from, SmallVectorImpl<std::string> &to) {
    for (Attribute value : from) {
      auto string = dyn_cast<StringAttr>(value);
      if (!string)
        return failure();
      to.push_back(string.str());
    }
    return success();
  };
  if (failed(readStrings(dimensions, result.dimensions)) ||
      failed(readStrings(messages, result.equalMessages)))
    return fail();
  if (auto failures = attribute.getAs<ArrayAttr>("failures"))
    if (failed(readStrings(failures, result.failures)))
      return fail();
  // Every map is over the open dimensions.
  auto isOverSymbols = [&](AffineMap map) {
    return map.getNumDims() == 0 &&
           map.getNumSymbols() == result.dimensions.size();
  };
  for (Attribute value : equal) {
    auto map = dyn_cast<AffineMapAttr>(value);
    if (!map || !isOverSymbols(map.getValue()) ||
        map.getValue().getNumResults() != 2)
      return fail();
    result.equal.push_back(map.getValue());
  }
  for (Attribute value : tensors) {
    auto dictionary = dyn_cast<DictionaryAttr>(value);
    if (!dictionary)
      return fail();
    auto role = dictionary.getAs<IntegerAttr>("role");
    auto name = dictionary.getAs<StringAttr>("name");
    auto type = dictionary.getAs<TypeAttr>("type");
    auto shape = dictionary.getAs<AffineMapAttr>("shape");
    auto tensorType =
        type ? dyn_cast<RankedTensorType>(type.getValue()) : nullptr;
    if (!role || role.getInt() < 0 || role.getInt() > 4 || !name ||
        !tensorType || !shape || !isOverSymbols(shape.getValue()) ||
        shape.getValue().getNumResults() != tensorType.getRank())
      return fail();
    InterfaceTensor tensor;
    tensor.role = static_cast<InterfaceTensor::Role>(role.getInt());
    tensor.isResult = dictionary.contains("result");
    tensor.isPrepareOnly = dictionary.contains("prepare_only");
    tensor.isInPlace = dictionary.contains("in_place");
    tensor.name = name.str();
    tensor.type = tensorType;
    tensor.shape = shape.getValue();
    if (auto initial = dictionary.getAs<FloatAttr>("initial"))
      tensor.initial = initial.getValueAsDouble();
    if (auto below = dictionary.getAs<AffineMapAttr>("below"))
      tensor.below = below.getValue();
    if (auto atMost = dictionary.getAs<AffineMapAttr>("at_most"))
      tensor.atMost = atMost.getValue();
    for (AffineMap bound : {tensor.below, tensor.atMost})
      if (bound && (!isOverSymbols(bound) || bound.getNumResults() != 1))
        return fail();
    result.tensors.push_back(std::move(tensor));
  }
  return result;
}

FailureOr<int32_t> gatefold::failureCode(cf::AssertOp assertion) {
  auto place = assertion->getAttrOfType<IntegerAttr>(failureName);
  if (!place || !place.getType().isSignlessInteger(32) || place.getInt() < 0 ||
      place.getInt() >
          std::numeric_limits<int32_t>::max() - GATEFOLD_RUN_FAILURE) {
    assertion.emitOpError("needs '")
        << failureName << "', as gf-size-functions leaves it";
    return failure();
  }
  return GATEFOLD_RUN_FAILURE + static_cast<int32_t>(place.getInt());
}

FailureOr<SmallVector<EntryFunction, 2>>
gatefold::findEntryFunctions(ModuleOp module, const Interface &interface,
                             bool haveArena) {
  SmallVector<EntryFunction, 2> functions;
  if (auto prepare = module.lookupSymbol<func::FuncOp>(prepareFunction)) {
    EntryFunction &entry = functions.emplace_back(
        EntryFunction{prepare, interface.getParameters(), 0,
                      prepareArenaFunction, /*hasOpenArena=*/false});
    entry.argumentCount = entry.tensors.size();
    llvm::append_range(entry.tensors, interface.getPrepared());
  }
  EntryFunction &run = functions.emplace_back(
      EntryFunction{module.lookupSymbol<func::FuncOp>(runFunction),
                    {},
                    0,
                    arenaFunction,
                    /*hasOpenArena=*/true});
  for (const InterfaceTensor &tensor : interface.tensors) {
    run.tensors.push_back(&tensor);
    run.argumentCount += !tensor.isResult;
  }
  bool isMissing = functions.size() == 1 && !interface.getPrepared().empty();
  for (EntryFunction &each : functions)
    isMissing |=
        !each.function || each.function.isDeclaration() ||
        each.function.getNumArguments() + each.function.getNumResults() !=
            each.tensors.size() + haveArena;
  if (isMissing)
    return module.emitError("has no entry that agrees with ")
           << descriptionName;
  return functions;
}

LogicalResult gatefold::visitEntryFunctions(
    ModuleOp module, bool haveArena,
    llvm::function_ref<LogicalResult(EntryFunction &, const Interface &)>
        visit) {
  FailureOr<Interface> interface = Interface::fromModule(module);
  if (failed(interface))
    return failure();
  auto functions = findEntryFunctions(module, *interface, haveArena);
  if (failed(functions))
    return failure();
  for (EntryFunction &function : *functions)
    if (failed(visit(function, *interface)))
      return failure();
  return success();
}

FailureOr<func::FuncOp> gatefold::findRun(ModuleOp module) {
  if (auto run = module.lookupSymbol<func::FuncOp>(runFunction))
    return run;
  return module.emitError("has no function '") << runFunction << "'";
}
