// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckEntry.cpp - A declaration as the entry of a program -----------===//

#include "frontend/text/CheckEntry.h"
#include "frontend/text/Parser.h"
#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

EntryBuilder::EntryBuilder(Implementation &checks, const EntryOptions &options,
                           const Declaration &declaration, Package::File &file)
    : checks(checks), checker(checks.checker), options(options),
      declaration(declaration), facts(checks.factsOf(declaration)), file(file),
      place(declaration.name.range), scope(declaration, facts, file) {
  scope.isEntry = true;
  scope.use = place;
  scope.instance = &root;
  root.name = declaration.name;
  root.range = place;
  root.calleeName = declaration.name.name.str();
  root.declaration = &declaration;
  root.file = &file;
  root.used = true;
}

bool EntryBuilder::build() {
  Program &program = checker.program();
  program.name = declaration.name.name.str();
  program.kind = declaration.kind;
  checks.entryDeclaration = &declaration;
  if (!facts.valid || file.broken)
    return false;
  if (!bindArguments() || !nameLead())
    return false;
  bool takesTensorOptions = declaration.kind == DeclarationKind::Cell ||
                            declaration.kind == DeclarationKind::Attention;
  if (!options.tensorOptions.empty() && !takesTensorOptions) {
    checks.error(place, "`" + declaration.name.name + "` has no input `" +
                            options.tensorOptions.front().first + "`");
    return false;
  }
  if (!bindDimensions() || !checks.bindDefaults(scope))
    return false;
  switch (declaration.kind) {
  case DeclarationKind::Model:
    return buildModel();
  case DeclarationKind::Func:
    return buildFunc();
  case DeclarationKind::Cell:
    return buildCell();
  case DeclarationKind::Attention:
    return buildAttention();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// --dim and --arg
//===----------------------------------------------------------------------===//

bool EntryBuilder::bindDimensions() {
  StringRef name = declaration.name.name;
  bool good = true;
  for (const auto &[dimension, value] : options.dimensions) {
    if (usedDimensions.count(dimension))
      continue;
    if (!facts.isDimension(dimension)) {
      std::vector<StringRef> candidates = facts.dimensions;
      llvm::append_range(candidates, leadNames);
      Diagnostic &error =
          checks.error(place, "`" + name + "` has no dimension `" + dimension +
                                  "`, given by `--dim`");
      const InputSyntax *input = facts.input(dimension);
      if (input && !input->type)
        error.hint("give a setting by `--arg " + dimension + "=...`");
      else
        error.suggest(dimension, candidates);
      good = false;
    } else if (value < 0) {
      checks.error(place, "`--dim " + dimension + "=" + Twine(value) +
                              "`: a dimension is not negative");
      good = false;
    } else {
      checks.bindDimension(scope, dimension, Size(value), place, "");
    }
  }
  // What inputs and states have may stay open.
  bool hasStates = declaration.kind == DeclarationKind::Model ||
                   declaration.kind == DeclarationKind::Cell;
  auto open = [&](const TypeSyntax &type) {
    for (const ExpressionPtr &size : type.shape)
      walk(*size, [&](const Expression &expression) {
        auto *use = llvm::dyn_cast<NameExpression>(&expression);
        if (use && facts.isDimension(use->name) &&
            !scope.dimensions.count(use->name.str()))
          checks.bindDimension(scope, use->name,
                               Size(checks.newSymbol(use->name)), use->range,
                               "");
      });
  };
  for (const InputSyntax &input : declaration.inputs)
    if (input.type)
      open(*input.type);
  if (hasStates)
    for (const StateSyntax *state : facts.states)
      open(state->type);
  return good;
}

/// The value of --arg NAME=TEXT: an expression of literals.
std::optional<Item> EntryBuilder::parseArgument(StringRef name,
                                                StringRef text) {
  Diagnostics &diagnostics = checker.diagnostics;
  unsigned errorsBefore = diagnostics.errorCount();
  // The text as what a func returns.
  uint32_t number = diagnostics.getSources().add(
      ("--arg " + name).str(),
      ("func argument() -> [] {\n  return " + text + "\n}\n").str());
  std::unique_ptr<Module> module = parse(number, diagnostics);
  if (diagnostics.errorCount() != errorsBefore)
    return std::nullopt;
  const ReturnStatement *statement = nullptr;
  if (module->declarations.size() == 1 &&
      module->declarations[0]->body.size() == 1)
    statement =
        llvm::dyn_cast<ReturnStatement>(module->declarations[0]->body[0].get());
  bool isLiteral = statement != nullptr;
  if (statement)
    walk(*statement->value, [&](const Expression &part) {
      isLiteral &= !llvm::isa<NameExpression, NextExpression, CallExpression,
                              IndexExpression, MemberExpression>(&part);
    });
  if (!isLiteral) {
    diagnostics.error({number, 0, 0},
                      "`--arg " + name +
                          "` must be a number, `true`, `false`, "
                          "a string or a tuple of them");
    return std::nullopt;
  }
  Package::File empty;
  empty.module = std::move(module);
  const Declaration &wrapper = *empty.module->declarations[0];
  DeclarationFacts none;
  none.declaration = &wrapper;
  Body body(wrapper, none, empty);
  Item item = checks.evaluate(body, *statement->value);
  if (item.isError() || diagnostics.errorCount() != errorsBefore)
    return std::nullopt;
  item.range = place;
  return item;
}

bool EntryBuilder::bindArguments() {
  static constexpr StringRef attentionOptions[] = {
      "causal", "window", "offset", "gqa", "lse", "weights"};
  static constexpr StringRef cellOptions[] = {"layers", "bidirectional",
                                              "reverse", "steps", "until"};
  ArrayRef<StringRef> known;
  if (declaration.kind == DeclarationKind::Attention)
    known = attentionOptions;
  else if (declaration.kind == DeclarationKind::Cell)
    known = cellOptions;
  bool good = true;
  for (const auto &[name, text] : options.arguments) {
    const InputSyntax *input = facts.input(name);
    bool isSetting = input && !input->type;
    if (!isSetting && !llvm::is_contained(known, name)) {
      std::vector<StringRef> candidates(known.begin(), known.end());
      for (const InputSyntax &other : declaration.inputs)
        if (!other.type)
          candidates.push_back(other.name.name);
      Diagnostic &diagnostic = checks.error(
          place, "`" + declaration.name.name + "` has no setting `" + name +
                     "`, given by `--arg`");
      if (input)
        diagnostic.note(input->range, "`" + name + "` is a tensor");
      if (facts.isDimension(name))
        diagnostic.hint("give a dimension by `--dim " + name + "=...`");
      else
        diagnostic.suggest(name, candidates);
      good = false;
      continue;
    }
    std::optional<Item> item = parseArgument(name, text);
    if (!item) {
      good = false;
      continue;
    }
    names.push_back(name);
    EvaluatedArgument argument{Identifier{names.back(), place}, *item, nullptr};
    if (isSetting)
      good &= checks.bindGiven(scope, argument, declaration.name.name);
    else
      callOptions.push_back(std::move(argument));
  }
  return good;
}

//===----------------------------------------------------------------------===//
// By kind
//===----------------------------------------------------------------------===//

bool EntryBuilder::buildModel() {
  if (!addInputs(std::nullopt))
    return false;
  for (const Input &input : inputs)
    scope.names[input.syntax->name.name.str()] = {
        Binding::Kind::Input, input.syntax->name.range, input.item};
  if (!checks.enter(declaration, place))
    return false;
  std::optional<std::vector<Item>> results = checks.run(scope);
  checks.leave();
  if (!results || !addResults(std::move(*results)))
    return false;
  for (const StateSlot &slot : scope.states)
    addResult(slot.syntax->name.name, *slot.next, slot.syntax->name.range,
              /*isState=*/true, slot.syntax->type.element.has_value());
  return true;
}

bool EntryBuilder::buildFunc() {
  if (!addInputs(std::nullopt))
    return false;
  std::vector<EvaluatedArgument> arguments;
  for (const Input &input : inputs)
    arguments.push_back({input.syntax->name, input.item, nullptr});
  root.settings = settings();
  Item result = checks.callFunc(declaration, file, &root, arguments,
                                declaration.name, place);
  return !result.isError() &&
         addResults(split(result, declaration.results.size()));
}

bool EntryBuilder::buildAttention() {
  bool logSumExp = false, weights = false;
  for (const EvaluatedArgument &option : callOptions) {
    const bool *value = option.item.boolean();
    StringRef name = option.name->name;
    logSumExp |= name == "lse" && value && *value;
    weights |= name == "weights" && value && *value;
  }
  if (!addInputs(std::nullopt) || !addTensorOptions())
    return false;
  std::vector<EvaluatedArgument> arguments;
  for (const Input &input : inputs)
    arguments.push_back({input.syntax->name, input.item, nullptr});
  llvm::append_range(arguments, settings());
  llvm::append_range(arguments, callOptions);
  llvm::append_range(arguments, tensorOptions);
  Item result = checker.callAttention(declaration, file, arguments,
                                      declaration.name, place);
  if (result.isError())
    return false;
  size_t count = declaration.results.size();
  std::vector<Item> items = split(result, count + logSumExp + weights);
  std::vector<Item> further(items.begin() + std::min(count, items.size()),
                            items.end());
  items.resize(std::min(count, items.size()));
  if (!addResults(std::move(items)))
    return false;
  auto addFurther = [&](StringRef name, const Item &item) {
    if (const Tuple *tuple = item.tuple()) {
      for (auto [number, element] : llvm::enumerate(tuple->elements))
        addResult((name + Twine(number)).str(), element, place, false);
      return;
    }
    addResult(name, item, place, false);
  };
  if (logSumExp && !further.empty())
    addFurther("lse", further.front());
  if (weights && !further.empty())
    addFurther("weights", further.back());
  return true;
}

//===----------------------------------------------------------------------===//
// The public functions
//===----------------------------------------------------------------------===//

static const Declaration *findEntry(Package &package, StringRef name) {
  Package::File &file = package.main();
  Diagnostics &diagnostics = package.getDiagnostics();
  if (!name.empty())
    if (const Declaration *declaration = file.find(name))
      return declaration;
  Range place{file.module->file, 0, 0};
  std::vector<StringRef> all, models;
  for (const auto &declaration : file.module->declarations) {
    all.push_back(declaration->name.name);
    if (declaration->kind == DeclarationKind::Model)
      models.push_back(declaration->name.name);
  }
  if (name.empty() && models.size() == 1)
    return file.find(models.front());
  if (name.empty()) {
    Diagnostic &diagnostic = diagnostics.error(
        place, "`" + file.name() + "` has " +
                   (models.empty() ? Twine("no model")
                                   : Twine(models.size()) + " models") +
                   ", so the entry must be named");
    const auto &candidates = models.empty() ? all : models;
    if (!candidates.empty())
      diagnostic.hint("write `--entry NAME`, one of " +
                      llvm::join(ArrayRef(candidates).take_front(8), ", "));
    return nullptr;
  }
  diagnostics.error(place, "`" + file.name() + "` declares no `" + name + "`")
      .suggest(name, all);
  return nullptr;
}

std::unique_ptr<Program>
gatefold::text::checkEntry(Package &package, const EntryOptions &options,
                           std::vector<std::string> *missing) {
  Diagnostics &diagnostics = package.getDiagnostics();
  if (package.main().broken)
    return nullptr;
  const Declaration *declaration = findEntry(package, options.entry);
  if (!declaration)
    return nullptr;
  unsigned errorsBefore = diagnostics.errorCount();
  Checker checker(package, options);
  bool good = EntryBuilder(checker.implementation(), options, *declaration,
                           package.main())
                  .build();
  if (missing)
    *missing = checker.implementation().missingOrder;
  if (!good || diagnostics.errorCount() != errorsBefore)
    return nullptr;
  removeUnused(checker.program());
  if (!checkTensorSizes(checker.program().body, diagnostics))
    return nullptr;
  return checker.takeProgram();
}

void gatefold::text::checkFile(Package &package, Element floatType) {
  Package::File &file = package.main();
  if (file.broken)
    return;
  auto common = std::make_shared<FileChecks>();
  for (const auto &declaration : file.module->declarations) {
    EntryOptions options;
    options.floatType = floatType;
    options.allowUnknown = true;
    Checker checker(package, options);
    checker.implementation().common = common;
    if (!EntryBuilder(checker.implementation(), options, *declaration, file)
             .build())
      common->failed.insert(declaration.get());
    if (common->work > Checker::Implementation::maximumWork)
      break; // reported
  }
}
