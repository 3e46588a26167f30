// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckInstance.cpp - Parameters, instances, checkpoint names --------===//
//
// A parameter or instance is known by its name, the place of its declaration
// and the counters of the loops around it, so that a second call of the func
// around it finds the same again.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

std::string Checker::Implementation::keyOf(Body &body,
                                           const ParameterSyntax &syntax) {
  std::string key =
      (syntax.name.name + "@" + Twine(syntax.name.range.begin)).str();
  for (int64_t counter : body.counters)
    key += "." + std::to_string(counter);
  return key;
}

/// The name that a key begins with.
static StringRef nameOfKey(StringRef key) { return key.split('@').first; }

std::string Checker::Implementation::pathOf(Body &body,
                                            const ParameterSyntax &syntax) {
  std::string path =
      syntax.checkpointName ? *syntax.checkpointName : syntax.name.name.str();
  for (int64_t counter : body.counters)
    path += (path.empty() ? "" : ".") + std::to_string(counter);
  return path;
}

void Checker::Implementation::declareParameter(Body &body,
                                               const ParameterSyntax &syntax) {
  if (!body.instance)
    return;
  if (syntax.type)
    declareTensor(body, syntax);
  else
    declareInstance(body, syntax);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::optional<double>
Checker::Implementation::initialNumber(Body &body, const Expression &expression,
                                       Element element) {
  Item item = evaluate(body, expression);
  if (item.isError())
    return std::nullopt;
  if (const bool *value = item.boolean(); value && element == Element::Bool)
    return *value ? 1.0 : 0.0;
  return checker.fixedReal(item, "the initial value of a parameter");
}

void Checker::Implementation::declareTensor(Body &body,
                                            const ParameterSyntax &syntax) {
  StringRef name = syntax.name.name;
  Binding binding;
  binding.kind = Binding::Kind::Parameter;
  binding.item = {Erroneous(), syntax.name.range};
  bool good = true;
  if (syntax.checkpointName && syntax.checkpointName->empty()) {
    error(syntax.checkpointRange,
          "a parameter needs a name; `as \"\"` is for an instance");
    good = false;
  }
  std::optional<Shape> shape = shapeOf(body, *syntax.type);
  std::optional<double> initial;
  if (syntax.initial) {
    initial = initialNumber(body, *syntax.initial, elementOf(*syntax.type));
    // An initial value that is not known yet leaves the parameter known.
  }
  if (shape)
    for (auto [size, expression] : llvm::zip(*shape, syntax.type->shape))
      if (!size.constant()) {
        needFixed(size, expression->range,
                  "the shape of the parameter `" + name + "`");
        good &= checker.options.allowUnknown;
      }
  // A name that is taken is reported below, and says the same of the
  // checkpoint's name.
  if (shape && good && !body.find(name))
    if (std::optional<unsigned> number = makeParameter(
            *body.instance, keyOf(body, syntax),
            body.instance->prefix + pathOf(body, syntax) +
                body.instance->suffix,
            typeOf(*syntax.type, *shape), initial, syntax.name.range, body.use))
      binding.item.value = parameterTensor(*number);
  declare(body, syntax.name, std::move(binding));
}

std::optional<unsigned> Checker::Implementation::makeParameter(
    Instance &instance, const std::string &key, const std::string &name,
    TensorType type, std::optional<double> initial, Range declared, Range use) {
  auto &parameters = checker.program().parameters;
  auto known = instance.parameters.find(key);
  if (known != instance.parameters.end()) {
    const TensorType &first = parameters[known->second].type;
    bool same = first.rank() == type.rank() && first.element == type.element;
    for (unsigned i = 0; same && i < type.rank(); ++i)
      same = checker.requireEqual(first.shape[i], type.shape[i], use,
                                  "the shape of the parameter `" + name + "`",
                                  [] {});
    if (same)
      return known->second;
    error(use, "the parameter `" + name + "` is " +
                   str(type, checker.floatType()) + " here and " +
                   str(first, checker.floatType()) + " at its first use")
        .note(parameterUses[known->second], "first used here")
        .note(declared, "declared here")
        .hint("declare another instance for another shape");
    return std::nullopt;
  }

  int64_t elements = 1;
  for (const Size &size : type.shape)
    if (std::optional<int64_t> value = size.constant(); value && elements)
      elements = *value > maximumElements / elements ? maximumElements + 1
                                                     : *value * elements;
  if (elements > maximumElements) {
    error(declared, "the parameter `" + name + "` " +
                        str(type, checker.floatType()) + " is too large");
    return std::nullopt;
  }
  auto [entry, isNew] = parameterNumbers.try_emplace(name, parameters.size());
  if (!isNew) {
    error(declared, "two parameters have the checkpoint name `" + name + "`")
        .note(parameters[entry->second].range, "the other one")
        .hint("to share one, use the first in both places");
    return std::nullopt;
  }
  unsigned number = parameters.size();
  ProgramParameter parameter;
  parameter.name = name;
  parameter.type = std::move(type);
  parameter.initial = initial;
  parameter.range = declared;
  parameters.push_back(std::move(parameter));
  parameterUses.push_back(use);
  instance.parameters[key] = number;
  return number;
}

Tensor Checker::Implementation::parameterTensor(unsigned number) {
  if (parameterNodes.size() <= number)
    parameterNodes.resize(number + 1);
  Value &value = parameterNodes[number];
  if (!value) {
    // One node for each, in the outermost graph, which every body sees.
    const ProgramParameter &parameter = checker.program().parameters[number];
    Graph *inner = std::exchange(graph, &checker.program().body);
    auto &node = checker.make<ParameterNode>(parameter.range);
    graph = inner;
    node.parameter = number;
    node.results.push_back(parameter.type);
    value = {&node, 0};
  }
  return {value, 0};
}

Tensor Checker::layerParameter(Instance &instance, StringRef name,
                               ArrayRef<Size> shape,
                               std::optional<double> initial, Range use) {
  TensorType type{floatType(), Shape(shape.begin(), shape.end())};
  for (const Size &size : shape)
    if (!size.constant())
      impl->needFixed(size, use,
                      "the shape of the parameter `" + instance.prefix + name +
                          "`");
  if (std::optional<unsigned> number = impl->makeParameter(
          instance, name.str(), instance.prefix + name.str() + instance.suffix,
          type, initial, instance.name.range, use))
    return impl->parameterTensor(*number);
  // After an error: anything of that type.
  auto &node = make<ParameterNode>(use);
  node.results.push_back(type);
  return {{&node, 0}, 0};
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

void Checker::Implementation::declareInstance(Body &body,
                                              const ParameterSyntax &syntax) {
  auto &place = body.instance->instances[keyOf(body, syntax)];
  if (!place)
    place = std::make_unique<Instance>();
  Instance &instance = *place;
  Binding binding;
  binding.kind = Binding::Kind::Instance;
  binding.instance = &instance;

  instance.name = syntax.name;
  instance.range = syntax.range;
  instance.calleeName = syntax.instanceOf.name.str();
  instance.settings = evaluateArguments(body, syntax.arguments);
  instance.suffix = body.instance->suffix;
  instance.prefix = body.instance->prefix + pathOf(body, syntax);
  if (!instance.prefix.empty() && instance.prefix.back() != '.')
    instance.prefix += ".";
  instance.layers = 0;
  instance.bidirectional = false;

  StringRef callee = syntax.instanceOf.name;
  unsigned errorsBefore = checker.diagnostics.errorCount();
  Callee target = resolve(syntax.instanceOf, body.file);
  if (syntax.initial)
    error(syntax.initial->range, "an instance has no initial value");
  if (target.kind == Callee::Kind::Declaration) {
    instance.declaration = target.declaration;
    instance.file = target.file;
    if (target.declaration->kind == DeclarationKind::Attention)
      error(syntax.instanceOf.range,
            "`" + callee + "` is an attention and has no parameters")
          .hint("call it where it is used: `" + callee + "(...)`");
    else if (target.declaration->kind == DeclarationKind::Model)
      error(syntax.instanceOf.range,
            "`" + callee + "` is a model and cannot be used in another")
          .hint("make it a func");
    else if (!factsOf(*target.declaration).valid || target.file->broken)
      instance.broken = true;
    else
      checkSettings(instance);
  } else if (target.kind == Callee::Kind::Layer) {
    checkSettings(instance);
  } else if (target.kind == Callee::Kind::Ambiguous) {
    instance.broken = true;
  } else {
    suggestCallable(error(syntax.instanceOf.range,
                          "no cell, func or layer is named `" + callee + "`"),
                    body, callee, /*instances=*/true);
  }
  instance.broken |= checker.diagnostics.errorCount() != errorsBefore;
  declare(body, syntax.name, std::move(binding));
}

void Checker::Implementation::checkSettings(Instance &instance) {
  std::set<StringRef> seen;
  for (const EvaluatedArgument &argument : instance.settings) {
    if (!argument.name && argument.item.isError())
      return;
    if (!argument.name) {
      error(argument.item.range, "settings of an instance are given by name")
          .note(instance.name.range, "tensors are given where `" +
                                         instance.name.name + "` is called");
      return;
    }
    if (!seen.insert(argument.name->name).second)
      error(argument.name->range,
            "`" + argument.name->name + "` is given twice");
  }
  if (!instance.declaration) {
    if (llvm::any_of(instance.settings, [](const EvaluatedArgument &argument) {
          return argument.item.isError();
        }))
      return;
    // A size that is not whole: say what it was made of.
    for (const EvaluatedArgument &argument : instance.settings) {
      const Number *number = argument.item.number();
      if (number && number->kind == Number::Kind::Real && body &&
          llvm::isUpper(argument.name->name.front()) &&
          !dimensionFrom(argument.item, body, argument.expression))
        return;
    }
    checker.checkLayerSettings(instance);
    return;
  }

  const DeclarationFacts &facts = factsOf(*instance.declaration);
  bool isCell = instance.declaration->kind == DeclarationKind::Cell;
  std::vector<EvaluatedArgument> settings;
  for (EvaluatedArgument &argument : instance.settings) {
    StringRef name = argument.name->name;
    if (isCell && name == "layers" && !facts.input(name)) {
      std::optional<int64_t> layers =
          checker.fixedWhole(argument.item, "`layers`");
      if (layers && (*layers < 1 || *layers > maximumCount))
        error(argument.item.range, "`layers` must be 1 to " +
                                       Twine(maximumCount) + ", found " +
                                       Twine(*layers));
      instance.broken |= !layers;
      instance.layers = layers.value_or(1);
    } else if (isCell && name == "bidirectional" && !facts.input(name)) {
      const bool *value = argument.item.boolean();
      if (!value && !argument.item.isError())
        error(argument.item.range,
              "`bidirectional` must be `true` or `false`, found " +
                  checker.describe(argument.item));
      instance.broken |= !value;
      instance.bidirectional = value && *value;
    } else {
      // Names that do not exist are reported here, values where they are bound.
      Body scratch(*instance.declaration, facts, *instance.file);
      scratch.use = instance.range;
      bindGiven(scratch, argument, instance.name.name);
      settings.push_back(std::move(argument));
    }
  }
  instance.settings = std::move(settings);
}

Instance &Checker::Implementation::layerOf(Instance &instance, int64_t layer,
                                           bool backward) {
  if (!instance.layers && !instance.bidirectional)
    return instance;
  std::string suffix = "_l" + std::to_string(layer);
  if (backward)
    suffix += "_reverse";
  auto &place = instance.instances["@" + suffix];
  if (!place)
    place = std::make_unique<Instance>();
  place->name = instance.name;
  place->range = instance.range;
  place->calleeName = instance.calleeName;
  place->declaration = instance.declaration;
  place->file = instance.file;
  place->settings = instance.settings;
  place->prefix = instance.prefix;
  place->suffix = suffix + instance.suffix;
  place->used = true;
  return *place;
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

/// Calls back for the parameters of an instance with the names that they have
/// as its members: those of layers with their suffix.
static void
forEachParameter(Instance &instance, StringRef suffix,
                 llvm::function_ref<void(std::string, unsigned)> callback) {
  for (const auto &[key, number] : instance.parameters)
    callback((nameOfKey(key) + suffix).str(), number);
  for (const auto &[key, inside] : instance.instances)
    if (StringRef(key).starts_with("@"))
      forEachParameter(*inside, StringRef(key).drop_front(), callback);
}

std::optional<unsigned>
Checker::Implementation::findParameter(Instance &instance, StringRef name) {
  std::optional<unsigned> found;
  forEachParameter(instance, "", [&](std::string known, unsigned number) {
    if (known == name && !found)
      found = number;
  });
  return found;
}

Instance *Checker::Implementation::findInstance(Instance &instance,
                                                StringRef name) {
  for (const auto &[key, inside] : instance.instances)
    if (nameOfKey(key) == name && !name.empty())
      return inside.get();
  return nullptr;
}

std::vector<StringRef>
Checker::Implementation::memberNames(Instance &instance) {
  std::vector<StringRef> names;
  forEachParameter(instance, "", [&](std::string known, unsigned number) {
    const std::string &full = checker.program().parameters[number].name;
    // A slice of the checkpoint name outlives this call.
    size_t place = full.rfind(known);
    if (place != std::string::npos)
      names.push_back(StringRef(full).substr(place, known.size()));
  });
  for (const auto &[key, inside] : instance.instances)
    if (!nameOfKey(key).empty())
      names.push_back(nameOfKey(key));
  return names;
}
