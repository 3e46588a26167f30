// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CompleteInterface.cpp - Names and shapes of an entry ---------------===//
//
// Fills in what an entry leaves out of its interface, and refuses what cannot
// be compiled.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/CallInterfaces.h"
#include "passes/split/Passes.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

namespace gatefold {
#define GEN_PASS_DEF_COMPLETEINTERFACE
#include "passes/split/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

namespace {
class Completion {
public:
  explicit Completion(func::FuncOp entry)
      : entry(entry), builder(entry.getContext()) {}
  LogicalResult run();

private:
  InFlightDiagnostic error(bool isArgument, unsigned index) {
    Location loc =
        isArgument ? entry.getArgument(index).getLoc() : entry.getLoc();
    return mlir::emitError(loc)
           << "entry '" << entry.getName() << "', "
           << (isArgument ? "argument #" : "result #") << index << ": ";
  }
  LogicalResult checkType(bool isArgument, unsigned index, Type type);
  void resizeMaps(unsigned symbols);
  LogicalResult checkBindings(unsigned symbols);

  func::FuncOp entry;
  Builder builder;
};
} // namespace

LogicalResult Completion::checkType(bool isArgument, unsigned index,
                                    Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return error(isArgument, index) << "needs a ranked tensor, found " << type;
  Type element = tensor.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32() &&
      !element.isF64() && !element.isInteger(1) && !element.isInteger(32) &&
      !element.isInteger(64))
    return error(isArgument, index) << "elements are f16, bf16, f32, f64, i32, "
                                       "i64 or i1 at the interface, "
                                       "found "
                                    << element;
  if (tensor.getEncoding())
    return error(isArgument, index)
           << "not compiled yet: a tensor with an encoding";
  return success();
}

/// Gives every map of the function `symbols` symbols, the first ones as before.
void Completion::resizeMaps(unsigned symbols) {
  auto resize = [&](AffineMapAttr map) {
    return AffineMapAttr::get(AffineMap::get(
        0, symbols, map.getValue().getResults(), entry.getContext()));
  };
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i)
    for (StringRef name : {attribute_names::shape, attribute_names::below,
                           attribute_names::atMost})
      if (auto map = entry.getArgAttrOfType<AffineMapAttr>(i, name))
        entry.setArgAttr(i, name, resize(map));
  for (unsigned i = 0, e = entry.getNumResults(); i < e; ++i)
    if (auto map =
            entry.getResultAttrOfType<AffineMapAttr>(i, attribute_names::shape))
      entry.setResultAttr(i, attribute_names::shape, resize(map));
  if (auto maps = entry->getAttrOfType<ArrayAttr>(attribute_names::equal)) {
    SmallVector<Attribute> resized;
    for (Attribute map : maps)
      resized.push_back(resize(cast<AffineMapAttr>(map)));
    entry->setAttr(attribute_names::equal, builder.getArrayAttr(resized));
  }
}

/// Each open dimension follows from some argument: a run finds it there.
LogicalResult Completion::checkBindings(unsigned symbols) {
  llvm::SmallBitVector unbound(symbols, true);
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i) {
    auto shape =
        entry.getArgAttrOfType<AffineMapAttr>(i, attribute_names::shape);
    for (AffineExpr size : shape.getValue().getResults())
      if (std::optional<SizeBinding> binding = getSizeBinding(size, symbols))
        unbound.reset(binding->symbol);
  }
  if (unbound.none())
    return success();
  auto names = entry->getAttrOfType<ArrayAttr>(attribute_names::dimensions);
  return entry.emitError("open dimension ")
         << names[unbound.find_first()]
         << " does not follow from the shape of any input";
}

LogicalResult Completion::run() {
  if (!entry.getBody().hasOneBlock())
    return entry.emitError("not compiled yet: an entry with branches");
  // Calls were inlined, but for those of itself and of what has no body.
  WalkResult calls = entry.walk([&](CallOpInterface call) {
    call.emitError("not compiled yet: a call that cannot be inlined");
    return WalkResult::interrupt();
  });
  if (calls.wasInterrupted())
    return failure();
  SmallVector<Attribute> dimensions;
  if (auto names = entry->getAttrOfType<ArrayAttr>(attribute_names::dimensions))
    llvm::append_range(dimensions, names);
  llvm::StringSet<> taken;
  for (Attribute name : dimensions)
    taken.insert(cast<StringAttr>(name).getValue());

  unsigned arguments = entry.getNumArguments(), results = entry.getNumResults();
  // Shapes of new maps; the number of symbols is known only at the end.
  SmallVector<std::pair<unsigned, SmallVector<AffineExpr>>> argumentShapes,
      resultShapes;
  for (unsigned i = 0; i < arguments; ++i) {
    Type type = entry.getArgumentTypes()[i];
    if (failed(checkType(/*isArgument=*/true, i, type)))
      return failure();
    if (!entry.getArgAttr(i, attribute_names::name)) {
      std::string name = arguments == 1 ? "input" : ("input" + Twine(i)).str();
      entry.setArgAttr(i, attribute_names::name, builder.getStringAttr(name));
    }
    if (entry.getArgAttr(i, attribute_names::shape))
      continue;
    StringRef name =
        entry.getArgAttrOfType<StringAttr>(i, attribute_names::name).getValue();
    auto &shape =
        argumentShapes.emplace_back(i, SmallVector<AffineExpr>()).second;
    for (auto [dim, size] :
         llvm::enumerate(cast<RankedTensorType>(type).getShape())) {
      if (!ShapedType::isDynamic(size)) {
        shape.push_back(builder.getAffineConstantExpr(size));
        continue;
      }
      std::string symbol = (name + "_" + Twine(dim)).str();
      while (!taken.insert(symbol).second)
        symbol += "_";
      shape.push_back(builder.getAffineSymbolExpr(dimensions.size()));
      dimensions.push_back(builder.getStringAttr(symbol));
    }
  }
  for (unsigned i = 0; i < results; ++i) {
    Type type = entry.getResultTypes()[i];
    if (failed(checkType(/*isArgument=*/false, i, type)))
      return failure();
    if (!entry.getResultAttr(i, attribute_names::name)) {
      std::string name = results == 1 ? "output" : ("output" + Twine(i)).str();
      entry.setResultAttr(i, attribute_names::name,
                          builder.getStringAttr(name));
    }
    if (entry.getResultAttr(i, attribute_names::shape))
      continue;
    auto &shape =
        resultShapes.emplace_back(i, SmallVector<AffineExpr>()).second;
    for (auto [dim, size] :
         llvm::enumerate(cast<RankedTensorType>(type).getShape())) {
      if (ShapedType::isDynamic(size))
        return error(/*isArgument=*/false, i)
               << "dimension " << dim << " is dynamic; '"
               << attribute_names::shape
               << "' has to say which size it is of the arguments' sizes";
      shape.push_back(builder.getAffineConstantExpr(size));
    }
  }

  unsigned symbols = dimensions.size();
  entry->setAttr(attribute_names::dimensions, builder.getArrayAttr(dimensions));
  resizeMaps(symbols);
  auto makeMap = [&](ArrayRef<AffineExpr> shape) {
    return AffineMapAttr::get(
        AffineMap::get(0, symbols, shape, entry.getContext()));
  };
  for (auto &[i, shape] : argumentShapes)
    entry.setArgAttr(i, attribute_names::shape, makeMap(shape));
  for (auto &[i, shape] : resultShapes)
    entry.setResultAttr(i, attribute_names::shape, makeMap(shape));
  // Last, since it asks the verifier to look at all of them.
  entry->setAttr(attribute_names::entry, builder.getUnitAttr());
  return checkBindings(symbols);
}

namespace {
struct CompleteInterface
    : gatefold::impl::CompleteInterfaceBase<CompleteInterface> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry) || failed(Completion(*entry).run()))
      signalPassFailure();
  }
};
} // namespace
