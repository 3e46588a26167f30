// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EmitDescription.cpp - The description as a constant ----------------===//
//
// Lays out the structures of runtime/Description.h as LLVM constants.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitDescription.h"
#include "passes/emit/ConstantBuilder.h"
#include "passes/emit/DimensionText.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace gatefold;
using llvm::Constant;

gatefold_element gatefold::elementOf(mlir::Type type) {
  uint8_t bits = type.getIntOrFloatBitWidth();
  if (type.isBF16())
    return {4, bits};
  if (mlir::isa<mlir::FloatType>(type))
    return {2, bits};
  if (type.isInteger(1))
    return {6, 8};
  return {0, bits};
}

static llvm::StringRef elementName(mlir::Type type) {
  return type.isF16()         ? "f16"
         : type.isBF16()      ? "bf16"
         : type.isF32()       ? "f32"
         : type.isF64()       ? "f64"
         : type.isInteger(32) ? "i32"
         : type.isInteger(64) ? "i64"
                              : "bool";
}

static bool isEmbedded(const InterfaceTensor &tensor,
                       const EmitOptions &options) {
  return llvm::any_of(options.embeddedWeights, [&](const auto &weight) {
    return weight.first == tensor.name;
  });
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

std::string gatefold::descriptionAsJson(const Interface &interface,
                                        const EmitOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  auto fix = [](llvm::StringRef name) {
    return llvm::json::isUTF8(name) ? name.str() : llvm::json::fixUTF8(name);
  };
  auto tensors = [&](llvm::StringRef key,
                     llvm::ArrayRef<const InterfaceTensor *> list) {
    json.attributeArray(key, [&] {
      for (const InterfaceTensor *tensor : list)
        json.object([&] {
          using Role = InterfaceTensor::Role;
          json.attribute("name", fix(tensor->name));
          json.attribute("role", tensor->role == Role::Input    ? "input"
                                 : tensor->role == Role::State  ? "state"
                                 : tensor->role == Role::Result ? "result"
                                 : tensor->role == Role::Parameter
                                     ? "parameter"
                                     : "prepared");
          json.attribute("element", elementName(tensor->type.getElementType()));
          json.attributeArray("shape", [&] {
            for (mlir::AffineExpr size : tensor->shape.getResults())
              if (auto constant =
                      mlir::dyn_cast<mlir::AffineConstantExpr>(size))
                json.value(constant.getValue());
              else
                json.value(fix(dimensionText(size, interface.dimensions)));
          });
          if (tensor->initial) {
            double initial = *tensor->initial;
            if (std::isnan(initial))
              json.attribute("initial", "nan");
            else if (std::isinf(initial))
              json.attribute("initial", initial < 0 ? "-inf" : "inf");
            else
              json.attribute("initial", initial);
          }
          if (tensor->role == Role::Parameter)
            json.attribute("embedded", isEmbedded(*tensor, options));
        });
    });
  };
  json.object([&] {
    json.attribute("abi_version", GATEFOLD_ABI_VERSION);
    json.attribute("entry", fix(interface.entry));
    json.attributeArray("symbols", [&] {
      for (const std::string &name : interface.dimensions)
        json.value(fix(name));
    });
    tensors("inputs", interface.getInputs());
    tensors("results", interface.getResults());
    tensors("parameters", interface.getParameters());
    tensors("prepared", interface.getPrepared());
  });
  return text;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
class DescriptionEmitter : ConstantBuilder {
public:
  /// `prefix`: what the names of the module's functions of sizes begin with.
  DescriptionEmitter(llvm::Module &module, const Interface &interface,
                     const EmitOptions &options, llvm::StringRef prefix = "")
      : ConstantBuilder(module), interface(interface), options(options),
        prefix(prefix) {}

  llvm::Expected<Constant *> emit(const PackedFunctions &functions,
                                  llvm::ArrayRef<Constant *> variants);

private:
  llvm::Function *getFunction(llvm::StringRef name) {
    return module.getFunction((prefix + name).str());
  }
  Constant *functionOrNull(llvm::Function *function) {
    return function ? static_cast<Constant *>(function) : null();
  }
  Constant *tensor(const InterfaceTensor &tensor);
  Constant *tensors(llvm::ArrayRef<const InterfaceTensor *> list);
  llvm::Expected<Constant *> embedded();

  const Interface &interface;
  const EmitOptions &options;
  llvm::StringRef prefix;
  int64_t nextSize = 0;
};
} // namespace

Constant *DescriptionEmitter::tensor(const InterfaceTensor &tensor) {
  llvm::SmallVector<Constant *> bindings, names;
  bool isBound = !tensor.isResult && !tensor.isConstant();
  for (mlir::AffineExpr size : tensor.shape.getResults()) {
    names.push_back(text(dimensionText(size, interface.dimensions)));
    if (!isBound)
      continue;
    SizeBinding binding{0, 0, 0};
    int32_t symbol = -1;
    if (auto found = getSizeBinding(size, interface.dimensions.size())) {
      binding = *found;
      symbol = binding.symbol;
    }
    bindings.push_back(
        structure({integer(32, symbol), integer(32, 0),
                   integer(64, binding.scale), integer(64, binding.offset)}));
  }
  gatefold_element element = elementOf(tensor.type.getElementType());
  Constant *unused = llvm::ConstantAggregateZero::get(
      llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 3));
  int64_t firstSize = nextSize;
  nextSize += tensor.type.getRank();
  return structure(
      {text(tensor.name), integer(32, static_cast<int32_t>(tensor.role)),
       integer(32, tensor.type.getRank()),
       structure({integer(8, element.code), integer(8, element.bits)}),
       integer(8, tensor.initial.has_value()), integer(8, tensor.isPrepareOnly),
       integer(8, tensor.isInPlace), unused,
       llvm::ConstantFP::get(llvm::Type::getDoubleTy(context),
                             tensor.initial.value_or(0.0)),
       array(bindings), array(names), integer(64, firstSize)});
}

Constant *
DescriptionEmitter::tensors(llvm::ArrayRef<const InterfaceTensor *> list) {
  llvm::SmallVector<Constant *> elements;
  for (const InterfaceTensor *each : list)
    elements.push_back(tensor(*each));
  return array(elements);
}

/// Pointers to the embedded weights, null for those that are not; null for
/// none. All descriptions of a module share them: their parameters are the
/// same.
llvm::Expected<Constant *> DescriptionEmitter::embedded() {
  if (options.embeddedWeights.empty())
    return null();
  constexpr llvm::StringLiteral sharedName = "gatefold.embedded";
  if (llvm::GlobalVariable *shared =
          module.getGlobalVariable(sharedName, /*AllowInternal=*/true))
    return shared;
  llvm::SmallVector<Constant *> pointers;
  unsigned found = 0;
  for (const InterfaceTensor *parameter : interface.getParameters()) {
    Constant *data = null();
    for (const auto &[name, bytes] : options.embeddedWeights) {
      if (name != parameter->name)
        continue;
      uint64_t needed = parameter->type.getNumElements() *
                        (elementOf(parameter->type.getElementType()).bits / 8);
      if (bytes.size() != needed)
        return llvm::createStringError(
            "embedded weight '%s' has %zu bytes, its parameter needs %llu",
            name.c_str(), bytes.size(),
            static_cast<unsigned long long>(needed));
      data =
          ConstantBuilder::bytes({bytes.data(), bytes.size()}, arenaAlignment);
      ++found;
      break;
    }
    pointers.push_back(data);
  }
  if (found != options.embeddedWeights.size())
    return llvm::createStringError(
        "an embedded weight has the name of no parameter, or of one twice");
  llvm::GlobalVariable *shared = global(llvm::ConstantArray::get(
      llvm::ArrayType::get(pointer, pointers.size()), pointers));
  shared->setName(sharedName);
  return shared;
}

llvm::Expected<Constant *>
DescriptionEmitter::emit(const PackedFunctions &functions,
                         llvm::ArrayRef<Constant *> variants) {
  llvm::SmallVector<Constant *> symbols;
  for (const std::string &name : interface.dimensions)
    symbols.push_back(text(name));
  auto inputs = interface.getInputs(), results = interface.getResults(),
       parameters = interface.getParameters(),
       prepared = interface.getPrepared();
  Constant *inputArray = tensors(inputs), *resultArray = tensors(results),
           *parameterArray = tensors(parameters),
           *preparedArray = tensors(prepared);

  // In the order of Interface::getSizes.
  llvm::SmallVector<Constant *> valueChecks, sizeChecks;
  for (auto [index, input] : llvm::enumerate(inputs))
    for (bool inclusive : {false, true})
      if (inclusive ? input->atMost : input->below)
        valueChecks.push_back(
            structure({integer(32, index), integer(32, inclusive),
                       integer(64, nextSize++)}));
  for (const std::string &message : interface.equalMessages) {
    sizeChecks.push_back(structure(
        {integer(64, nextSize), integer(64, nextSize + 1), text(message)}));
    nextSize += 2;
  }
  llvm::SmallVector<Constant *> failures;
  for (const std::string &failure : interface.failures)
    failures.push_back(text(failure));
  llvm::Expected<Constant *> weights = embedded();
  if (!weights)
    return weights.takeError();

  // What prepares is a function here, or a kernel of a variant.
  llvm::Function *prepareArena = getFunction(prepareArenaFunction);
  if (functions.prepare && !prepareArena)
    return llvm::createStringError("the module has no function '%s'",
                                   prepareArenaFunction.data());
  return structure(
      {integer(32, GATEFOLD_ABI_VERSION),
       integer(32, symbols.size()),
       text(interface.entry),
       functions.run ? text(descriptionAsJson(interface, options)) : null(),
       array(symbols),
       integer(64, inputs.size()),
       integer(64, results.size()),
       integer(64, parameters.size()),
       integer(64, prepared.size()),
       inputArray,
       resultArray,
       parameterArray,
       preparedArray,
       integer(64, valueChecks.size()),
       integer(64, sizeChecks.size()),
       array(valueChecks),
       array(sizeChecks),
       integer(64, nextSize),
       functionOrNull(getFunction(sizesFunction)),
       functionOrNull(getFunction(arenaFunction)),
       functionOrNull(getFunction(usefulRanksFunction)),
       functionOrNull(functions.run),
       functionOrNull(prepareArena),
       functionOrNull(functions.prepare),
       *weights,
       integer(64, variants.size()),
       array(variants),
       integer(64, failures.size()),
       array(failures)});
}

llvm::Expected<llvm::GlobalVariable *>
gatefold::emitDescription(llvm::Module &module, const Interface &interface,
                          const EmitOptions &options,
                          const PackedFunctions &functions,
                          llvm::ArrayRef<Constant *> variants) {
  auto value =
      DescriptionEmitter(module, interface, options).emit(functions, variants);
  if (!value)
    return value.takeError();
  auto *description =
      new llvm::GlobalVariable(module, (*value)->getType(), /*isConstant=*/true,
                               llvm::GlobalValue::ExternalLinkage, *value,
                               options.name + "_gatefold_description");
  description->setAlignment(llvm::Align(8));
  return description;
}

llvm::Expected<Constant *> gatefold::emitVariantDescription(
    llvm::Module &module, const Interface &interface,
    const EmitOptions &options, llvm::StringRef prefix) {
  auto value =
      DescriptionEmitter(module, interface, options, prefix).emit({}, {});
  if (!value)
    return value.takeError();
  return ConstantBuilder(module).global(*value);
}
