// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EntryAttributes.cpp - Attributes of an entry of a program ----------===//
//
// Verifies the discardable attributes of entries, their arguments and results,
// which the description of the dialect lists. One attribute by itself is
// checked wherever it stands; `gf.entry` adds what only the whole can show:
// names and shapes everywhere, states in pairs, one type for each parameter.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "dialect/SharedSizes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gatefold;

/// An argument or result of a function, with the words that name it.
namespace {
struct Place {
  // The accessors of an interface are not const.
  mutable FunctionOpInterface function;
  unsigned index;
  bool isArgument;

  Type getType() const {
    return isArgument ? function.getArgumentTypes()[index]
                      : function.getResultTypes()[index];
  }
  Attribute get(StringRef name) const {
    return isArgument ? function.getArgAttr(index, name)
                      : function.getResultAttr(index, name);
  }
  StringAttr getName() const {
    return dyn_cast_or_null<StringAttr>(get(attribute_names::name));
  }
  InFlightDiagnostic emitError() const {
    return function->emitOpError()
           << (isArgument ? "argument #" : "result #") << index << ": ";
  }
};
} // namespace

/// The number of open dimensions, which are the symbols of every map.
static unsigned getNumDimensions(Operation *function) {
  auto names = function->getAttrOfType<ArrayAttr>(attribute_names::dimensions);
  return names ? names.size() : 0;
}

/// A map from the open dimensions to `results` sizes (any number if negative).
template <typename EmitError>
static FailureOr<AffineMap> verifySizes(Attribute attribute, StringRef name,
                                        Operation *function, int64_t results,
                                        EmitError emitError) {
  auto map = dyn_cast<AffineMapAttr>(attribute);
  if (!map) {
    emitError() << "'" << name << "' needs an affine map, found " << attribute;
    return failure();
  }
  unsigned symbols = getNumDimensions(function);
  if (map.getValue().getNumDims() != 0 ||
      map.getValue().getNumSymbols() != symbols) {
    emitError() << "the map of '" << name << "' needs no dimensions and one "
                << "symbol for each of the " << symbols << " names in '"
                << attribute_names::dimensions << "', found " << attribute;
    return failure();
  }
  if (results >= 0 && map.getValue().getNumResults() != results) {
    emitError() << "the map of '" << name << "' needs " << results
                << (results == 1 ? " result" : " results") << ", found "
                << map.getValue().getNumResults();
    return failure();
  }
  for (AffineExpr size : map.getValue().getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(size))
      if (constant.getValue() < 0) {
        emitError() << "'" << name << "' gives a negative size, "
                    << constant.getValue();
        return failure();
      }
    // The analyses of such expressions take it for granted.
    WalkResult divisions = size.walk([&](AffineExpr part) {
      auto binary = dyn_cast<AffineBinaryOpExpr>(part);
      if (!binary || part.getKind() == AffineExprKind::Add ||
          part.getKind() == AffineExprKind::Mul)
        return WalkResult::advance();
      auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
      return divisor && divisor.getValue() < 1 ? WalkResult::interrupt()
                                               : WalkResult::advance();
    });
    if (divisions.wasInterrupted()) {
      emitError() << "'" << name << "' divides by less than 1, found "
                  << attribute;
      return failure();
    }
  }
  return map.getValue();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

static LogicalResult verifyShape(const Place &place, Attribute attribute) {
  auto shaped = dyn_cast<ShapedType>(place.getType());
  // A lowered function may hold pointers, which say nothing of a shape.
  bool known = (shaped && shaped.hasRank()) || place.getType().isIntOrFloat();
  int64_t rank = shaped && shaped.hasRank() ? shaped.getRank() : 0;
  FailureOr<AffineMap> map =
      verifySizes(attribute, attribute_names::shape, place.function,
                  known ? rank : -1, [&] { return place.emitError(); });
  if (failed(map))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (auto size = dyn_cast<AffineConstantExpr>(map->getResult(i)))
      if (!agree(size.getValue(), shaped.getDimSize(i)))
        return place.emitError()
               << "'" << attribute_names::shape << "' gives dimension " << i
               << " the size " << size.getValue() << ", its type has "
               << shaped.getDimSize(i);
  return success();
}

/// gf.below, gf.at_most: on integers, but not booleans.
static LogicalResult verifyBound(const Place &place, NamedAttribute attribute) {
  StringRef name = attribute.getName().strref();
  Type element = getElementTypeOrSelf(place.getType());
  if (!isa<IntegerType, IndexType>(element) || element.isInteger(1))
    if (isa<ShapedType>(place.getType()) || place.getType().isIntOrFloat())
      return place.emitError()
             << "'" << name << "' bounds integers, found " << place.getType();
  return verifySizes(attribute.getValue(), name, place.function, 1,
                     [&] { return place.emitError(); });
}

static LogicalResult verifyInitial(const Place &place, Attribute attribute) {
  if (!place.get(attribute_names::state) &&
      !place.get(attribute_names::parameter))
    return place.emitError() << "'" << attribute_names::initial << "' needs '"
                             << attribute_names::state << "' or '"
                             << attribute_names::parameter << "' beside it";
  auto value = dyn_cast<TypedAttr>(attribute);
  if (!value || !isa<FloatAttr, IntegerAttr>(attribute))
    return place.emitError() << "'" << attribute_names::initial
                             << "' needs a number, found " << attribute;
  auto shaped = dyn_cast<ShapedType>(place.getType());
  if (shaped && value.getType() != shaped.getElementType())
    return place.emitError()
           << "'" << attribute_names::initial << "' needs a number of type "
           << shaped.getElementType() << ", found " << attribute;
  return success();
}

static LogicalResult verifyPlaceAttribute(const Place &place,
                                          NamedAttribute attribute) {
  StringRef name = attribute.getName().strref();
  auto needArgument = [&]() -> LogicalResult {
    if (place.isArgument)
      return success();
    return place.emitError() << "'" << name << "' belongs on an argument";
  };
  auto needUnit = [&]() -> LogicalResult {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return place.emitError() << "'" << name << "' takes no value";
  };

  if (name == attribute_names::name) {
    auto value = dyn_cast<StringAttr>(attribute.getValue());
    if (!value || value.empty())
      return place.emitError()
             << "'" << name << "' needs a name, found " << attribute.getValue();
    return success();
  }
  if (name == attribute_names::shape)
    return verifyShape(place, attribute.getValue());
  if (name == attribute_names::below || name == attribute_names::atMost)
    return failure(failed(needArgument()) ||
                   failed(verifyBound(place, attribute)));
  if (name == attribute_names::initial)
    return failure(failed(needArgument()) ||
                   failed(verifyInitial(place, attribute.getValue())));
  if (name == attribute_names::state) {
    if (failed(needUnit()))
      return failure();
    if (!place.getName())
      return place.emitError() << "'" << name << "' needs '"
                               << attribute_names::name << "' beside it";
    if (place.get(attribute_names::parameter))
      return place.emitError() << "is both '" << name << "' and '"
                               << attribute_names::parameter << "'";
    return success();
  }
  if (name == attribute_names::parameter)
    return failure(failed(needArgument()) || failed(needUnit()));
  for (StringRef onFunction :
       {attribute_names::entry, attribute_names::dimensions,
        attribute_names::equal, attribute_names::equalMessages})
    if (name == onFunction)
      return place.emitError() << "'" << name << "' belongs on the function";
  return success();
}

LogicalResult GfDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << attribute.getName().strref()
                             << "' belongs on an argument of a function";
  return verifyPlaceAttribute({function, index, true}, attribute);
}

LogicalResult GfDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << attribute.getName().strref()
                             << "' belongs on a result of a function";
  return verifyPlaceAttribute({function, index, false}, attribute);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

static LogicalResult verifyDimensions(Operation *op, Attribute attribute) {
  auto names = dyn_cast<ArrayAttr>(attribute);
  llvm::StringSet<> seen;
  for (Attribute element : names ? names.getValue() : ArrayRef<Attribute>()) {
    auto name = dyn_cast<StringAttr>(element);
    if (!name || name.empty())
      return op->emitOpError() << "'" << attribute_names::dimensions
                               << "' needs names, found " << element;
    if (!seen.insert(name).second)
      return op->emitOpError() << "'" << attribute_names::dimensions << "' has "
                               << name << " twice";
  }
  if (!names)
    return op->emitOpError()
           << "'" << attribute_names::dimensions
           << "' needs an array of names, found " << attribute;
  return success();
}

static LogicalResult verifyEqual(Operation *op, Attribute attribute) {
  auto maps = dyn_cast<ArrayAttr>(attribute);
  if (!maps)
    return op->emitOpError() << "'" << attribute_names::equal
                             << "' needs an array of maps, found " << attribute;
  for (Attribute map : maps)
    if (failed(verifySizes(map, attribute_names::equal, op, 2,
                           [&] { return op->emitOpError(); })))
      return failure();
  auto messages = op->getAttrOfType<ArrayAttr>(attribute_names::equalMessages);
  unsigned count = messages ? messages.size() : 0;
  if (count != maps.size())
    return op->emitOpError()
           << "'" << attribute_names::equal << "' has " << maps.size()
           << " maps, '" << attribute_names::equalMessages << "' has " << count
           << " messages";
  return success();
}

static LogicalResult verifyEqualMessages(Operation *op, Attribute attribute) {
  auto messages = dyn_cast<ArrayAttr>(attribute);
  if (!messages || !llvm::all_of(messages, llvm::IsaPred<StringAttr>))
    return op->emitOpError()
           << "'" << attribute_names::equalMessages
           << "' needs an array of strings, found " << attribute;
  if (!messages.empty() && !op->hasAttr(attribute_names::equal))
    return op->emitOpError()
           << "'" << attribute_names::equalMessages << "' needs '"
           << attribute_names::equal << "' beside it";
  return success();
}

/// Names differ, of inputs and of parameters apart: a weight may have the name
/// of an input.
static LogicalResult verifyNames(ArrayRef<Place> places) {
  llvm::StringSet<> inputs, parameters;
  for (const Place &place : places) {
    StringAttr name = place.getName();
    auto &seen = place.get(attribute_names::parameter) ? parameters : inputs;
    if (name && !seen.insert(name).second)
      return place.emitError() << "the name " << name << " is taken";
  }
  return success();
}

/// Each state has a partner of its name and type among the others.
static LogicalResult verifyStates(ArrayRef<Place> states,
                                  ArrayRef<Place> others) {
  for (const Place &state : states) {
    if (!state.get(attribute_names::state))
      continue;
    const Place *partner = llvm::find_if(others, [&](const Place &other) {
      return other.get(attribute_names::state) &&
             other.getName() == state.getName();
    });
    if (partner == others.end())
      return state.emitError()
             << "state " << state.getName() << " has no "
             << (state.isArgument ? "result" : "argument") << " of its name";
    if (partner->getType() != state.getType())
      return state.emitError()
             << "state " << state.getName() << " has type " << state.getType()
             << ", its partner " << partner->getType();
  }
  return success();
}

/// Parameters of one name are one weight.
static LogicalResult verifyParameters(Operation *op) {
  llvm::StringMap<ParameterOp> parameters;
  WalkResult result = op->walk([&](ParameterOp parameter) {
    auto [entry, isNew] =
        parameters.try_emplace(parameter.getName(), parameter);
    if (isNew || (entry->second.getType() == parameter.getType() &&
                  entry->second.getInitialAttr() == parameter.getInitialAttr()))
      return WalkResult::advance();
    InFlightDiagnostic error =
        parameter.emitOpError()
        << "'" << parameter.getName()
        << "' has another type or initial value elsewhere";
    error.attachNote(entry->second.getLoc()) << "here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult verifyEntry(Operation *op, Attribute attribute) {
  if (!isa<UnitAttr>(attribute))
    return op->emitOpError()
           << "'" << attribute_names::entry << "' takes no value";
  auto function = cast<FunctionOpInterface>(op);
  SmallVector<Place> arguments, results;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    arguments.push_back({function, i, true});
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    results.push_back({function, i, false});
  // Once bufferized, results have become arguments, and what follows no longer
  // holds of them.
  auto isTensor = [](const Place &place) {
    return isa<RankedTensorType>(place.getType());
  };
  if (!llvm::all_of(arguments, isTensor) || !llvm::all_of(results, isTensor))
    return success();
  return failure(
      failed(verifyNames(arguments)) || failed(verifyNames(results)) ||
      failed(verifyStates(arguments, results)) ||
      failed(verifyStates(results, arguments)) || failed(verifyParameters(op)));
}

LogicalResult GfDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName().strref();
  using Verify = LogicalResult (*)(Operation *, Attribute);
  for (auto [known, verify] :
       {std::pair<StringRef, Verify>(attribute_names::entry, verifyEntry),
        {attribute_names::dimensions, verifyDimensions},
        {attribute_names::equal, verifyEqual},
        {attribute_names::equalMessages, verifyEqualMessages}}) {
    if (name != known)
      continue;
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError() << "'" << name << "' belongs on a function";
    return verify(op, attribute.getValue());
  }
  for (StringRef onPlace :
       {attribute_names::name, attribute_names::shape, attribute_names::below,
        attribute_names::atMost, attribute_names::state,
        attribute_names::initial, attribute_names::parameter})
    if (name == onPlace)
      return op->emitOpError() << "'" << name << "' belongs on an argument or "
                               << "result of a function";
  return success();
}
