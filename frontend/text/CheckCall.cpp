// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckCall.cpp - Names of what is called, and calls of funcs --------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;
using Callee = Checker::Implementation::Callee;

Callee Checker::Implementation::resolve(Identifier name, Package::File &file) {
  Callee callee;
  callee.file = &file;
  callee.declaration = file.find(name.name);
  for (Package::File *imported : file.imports) {
    if (callee.declaration && callee.file == &file)
      break;
    const Declaration *found = imported->find(name.name);
    if (!found || found->kind == DeclarationKind::Model)
      continue;
    if (callee.declaration) {
      error(name.range, "`" + name.name + "` is declared in both `" +
                            callee.file->name() + "` and `" + imported->name() +
                            "`")
          .note(callee.declaration->name.range, "declared here")
          .note(found->name.range, "and here")
          .hint("declare it in this file, or rename one");
      callee.kind = Callee::Kind::Ambiguous;
      return callee;
    }
    callee.declaration = found;
    callee.file = imported;
  }
  if (callee.declaration) // one in a text with errors stays silent
    callee.kind = callee.file->broken ? Callee::Kind::Ambiguous
                                      : Callee::Kind::Declaration;
  else if (isBuiltinLayer(name.name))
    callee.kind = Callee::Kind::Layer;
  else if (isBuiltinFunction(name.name) || name.name == "scan" ||
           name.name == "step")
    callee.kind = Callee::Kind::Function;
  // An import that could not be read may well declare it.
  else if (file.incomplete ||
           llvm::any_of(file.imports, [](auto *i) { return i->broken; }))
    callee.kind = Callee::Kind::Ambiguous;
  return callee;
}

std::vector<StringRef> Checker::Implementation::callableNames(Body &body,
                                                              bool instances) {
  std::vector<StringRef> names;
  auto add = [&](Package::File &file, bool own) {
    for (const auto &declaration : file.module->declarations) {
      DeclarationKind kind = declaration->kind;
      bool isCallable = kind == DeclarationKind::Func ||
                        (instances ? kind == DeclarationKind::Cell
                                   : kind == DeclarationKind::Attention);
      if (isCallable && (own || kind != DeclarationKind::Model))
        names.push_back(declaration->name.name);
    }
  };
  if (!instances) {
    for (const auto &[name, binding] : body.names)
      if (binding.instance)
        names.push_back(name);
  }
  add(body.file, true);
  for (Package::File *imported : body.file.imports)
    add(*imported, false);
  llvm::append_range(names,
                     instances ? builtinLayerNames() : builtinFunctionNames());
  if (!instances) {
    names.push_back("scan");
    names.push_back("step");
  }
  return names;
}

void Checker::Implementation::suggestCallable(Diagnostic &diagnostic,
                                              Body &body, StringRef name,
                                              bool instances) {
  diagnostic.suggest(name, callableNames(body, instances));
  if (!diagnostic.hints.empty())
    return;
  // Declared where an import would find it.
  std::vector<StringRef> names;
  for (const auto &[known, file] : checker.package.importable())
    names.push_back(known);
  StringRef wanted = name;
  if (!llvm::is_contained(names, name)) {
    std::optional<StringRef> near = nearestName(name, names);
    if (!near)
      return;
    diagnostic.hint("did you mean `" + *near + "`?");
    wanted = *near;
  }
  for (const auto &[known, file] : checker.package.importable())
    if (known == wanted) {
      diagnostic.hint("`" + wanted + "` comes by `import " + file + "`");
      return;
    }
}

std::vector<EvaluatedArgument>
Checker::Implementation::evaluateArguments(Body &body,
                                           ArrayRef<Argument> arguments) {
  std::vector<EvaluatedArgument> evaluated;
  for (const Argument &argument : arguments)
    evaluated.push_back(
        {argument.name, evaluate(body, *argument.value), argument.value.get()});
  return evaluated;
}

static bool hasError(ArrayRef<EvaluatedArgument> arguments) {
  return llvm::any_of(arguments, [](const EvaluatedArgument &argument) {
    const Tuple *tuple = argument.item.tuple();
    return argument.item.isError() ||
           (tuple && llvm::any_of(tuple->elements, [](const Item &element) {
              return element.isError();
            }));
  });
}

Item Checker::Implementation::evaluateCall(Body &body,
                                           const CallExpression &call) {
  StringRef name = call.callee.name;
  if (Binding *binding = body.find(name); binding && binding->instance)
    return useOf(*binding->instance,
                 [&] { return callInstance(body, *binding->instance, call); });
  Callee callee = resolve(call.callee, body.file);
  bool isRecurrence = callee.kind == Callee::Kind::Function &&
                      (name == "scan" || name == "step");
  if (isRecurrence)
    return evaluateRecurrence(body, call, name == "step");
  if (callee.kind == Callee::Kind::Declaration)
    return callDeclaration(body, callee, call);

  if (callee.kind == Callee::Kind::None) {
    Diagnostic &diagnostic =
        error(call.callee.range, "no function is named `" + name + "`");
    suggestCallable(diagnostic, body, name, /*instances=*/false);
    if (Binding *binding = body.find(name))
      diagnostic.note(binding->declared, "`" + name + "` is a value")
          .hint("`[..]` takes a part of a value");
    else if (diagnostic.hints.empty())
      diagnostic.hint("write a func of this name, or take one of the "
                      "reference's list of functions");
    // It may have been meant to take an instance.
    for (const Argument &argument : call.arguments)
      if (Instance *instance = instanceOf(body, *argument.value))
        instance->used = true;
      else
        evaluate(body, *argument.value);
    return {};
  }
  std::vector<EvaluatedArgument> arguments =
      evaluateArguments(body, call.arguments);
  switch (callee.kind) {
  case Callee::Kind::Function:
    if (hasError(arguments))
      return {};
    return checker.callBuiltin(call.callee, arguments, call.range);
  case Callee::Kind::Layer:
    error(call.callee.range, "`" + name + "` has parameters and needs a name")
        .hint("declare it, `param fc: " + name + "(...)`, and call `fc`");
    return {};
  default:
    return {};
  }
}

Item Checker::Implementation::callDeclaration(Body &body, const Callee &callee,
                                              const CallExpression &call) {
  const Declaration &declaration = *callee.declaration;
  StringRef name = call.callee.name;
  std::vector<EvaluatedArgument> arguments =
      evaluateArguments(body, call.arguments);
  switch (declaration.kind) {
  case DeclarationKind::Cell:
    error(call.callee.range, "`" + name + "` is a cell and cannot be called")
        .hint("declare `param c: " + name +
              "(...)`, then `scan(c, x)` or `step(c, x, s)`");
    return {};
  case DeclarationKind::Model:
    error(call.callee.range, "`" + name + "` is a model and cannot be called")
        .note(declaration.name.range, "declared here")
        .hint("make it a func, which a model may call");
    return {};
  case DeclarationKind::Func:
    if (factsOf(declaration).hasParameters) {
      error(call.callee.range, "`" + name + "` has parameters and needs a name")
          .hint("declare it, `param fc: " + name + "(...)`, and call `fc`");
      return {};
    }
    if (hasError(arguments))
      return {};
    return callFunc(declaration, *callee.file, nullptr, arguments, call.callee,
                    call.range);
  case DeclarationKind::Attention:
    if (hasError(arguments) || callee.file->broken ||
        !factsOf(declaration).valid || common->failed.count(&declaration))
      return {};
    return checker.callAttention(declaration, *callee.file, arguments,
                                 call.callee, call.range);
  }
  return {};
}

Item Checker::Implementation::useOf(Instance &instance,
                                    llvm::function_ref<Item()> use) {
  size_t errorsBefore = checker.diagnostics.errorCount();
  Item result = use();
  instance.complete |=
      !result.isError() && checker.diagnostics.errorCount() == errorsBefore;
  return result;
}

Item Checker::Implementation::callInstance(Body &body, Instance &instance,
                                           const CallExpression &call) {
  instance.used = true;
  std::vector<EvaluatedArgument> arguments =
      evaluateArguments(body, call.arguments);
  if (instance.broken)
    return {};
  if (instance.declaration &&
      instance.declaration->kind == DeclarationKind::Cell) {
    StringRef name = instance.name.name;
    error(call.callee.range, "`" + name + "` is a cell and cannot be called")
        .hint("write `scan(" + name + ", x)` or `step(" + name + ", x, s)`");
    return {};
  }
  if (hasError(arguments) || hasError(instance.settings))
    return {};
  if (!instance.declaration)
    return checker.callLayer(instance, arguments, call.range);
  return callFunc(*instance.declaration, *instance.file, &instance, arguments,
                  call.callee, call.range);
}

Item Checker::Implementation::callFunc(const Declaration &declaration,
                                       Package::File &file, Instance *instance,
                                       ArrayRef<EvaluatedArgument> arguments,
                                       Identifier callee, Range range) {
  const DeclarationFacts &facts = factsOf(declaration);
  std::optional<Matched> matched =
      matchArguments(facts, arguments, {}, instance != nullptr, callee, range);
  if (!matched || !facts.valid || file.broken ||
      common->failed.count(&declaration) || !enter(declaration, range))
    return {};
  AttentionContext *attention = checker.attention();
  if (attention)
    ++attention->functionDepth;
  Item result = callBound(declaration, file, instance, *matched, callee, range);
  if (attention)
    --attention->functionDepth;
  leave();
  return result;
}

Item Checker::Implementation::callBound(const Declaration &declaration,
                                        Package::File &file, Instance *instance,
                                        const Matched &matched,
                                        Identifier callee, Range range) {
  std::vector<Item> inputs;
  std::vector<unsigned> extraRanks;
  std::unique_ptr<Body> body =
      bind(declaration, file,
           instance ? ArrayRef<EvaluatedArgument>(instance->settings)
                    : ArrayRef<EvaluatedArgument>(),
           matched, instance, callee, range, inputs, extraRanks);
  if (!body)
    return {};
  std::vector<Tensor> tensors;
  std::vector<unsigned> tensorExtras;
  for (auto [item, rank] : llvm::zip(inputs, extraRanks))
    if (const Tensor *tensor = item.tensor()) {
      tensors.push_back(*tensor);
      tensorExtras.push_back(rank);
    }
  std::optional<Shape> extras =
      commonExtras(tensors, tensorExtras, callee.name, range);
  if (!extras)
    return {};
  for (auto [number, input] : llvm::enumerate(declaration.inputs)) {
    if (!input.type)
      continue;
    std::optional<Shape> own = shapeOf(*body, *input.type);
    if (!own)
      return {};
    Binding binding;
    binding.kind = Binding::Kind::Input;
    binding.declared = input.name.range;
    binding.item = {checker.enterCallee(*inputs[number].tensor(),
                                        extraRanks[number], extras->size(),
                                        *own, range),
                    inputs[number].range};
    body->names[input.name.name.str()] = std::move(binding);
  }
  std::optional<std::vector<Item>> results = run(*body);
  if (!results)
    return {};
  for (Item &item : *results)
    if (const Tensor *tensor = item.tensor())
      item.value = checker.leaveCallee(*tensor, *extras, range);
  if (results->size() == 1)
    return {results->front().value, range};
  return {Tuple{std::move(*results)}, range};
}
