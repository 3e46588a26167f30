// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckDeclaration.cpp - What a declaration's text alone says --------===//

#include "frontend/text/CheckBody.h"
#include "frontend/text/SyntaxWalk.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;

static bool isCapitalised(StringRef name) {
  return !name.empty() && llvm::isUpper(name.front());
}

namespace {
/// Finds the facts of one declaration, and the errors of its head and of where
/// its statements stand.
class FactFinder {
public:
  FactFinder(const Declaration &declaration, Diagnostics &diagnostics,
             DeclarationFacts &facts)
      : declaration(declaration), diagnostics(diagnostics), facts(facts) {}

  void find() {
    facts.declaration = &declaration;
    for (const InputSyntax &input : declaration.inputs)
      facts.inputs.try_emplace(input.name.name, &input);
    checkNames();
    findAssigned();
    for (const InputSyntax &input : declaration.inputs)
      if (input.type)
        addDimensions(*input.type, /*inHead=*/true);
    walk(declaration.body, [&](const Statement &statement, bool) {
      if (llvm::isa<StatesStatement>(statement))
        forEachType(statement, [&](auto &type) { addDimensions(type, false); });
    });
    walk(declaration.body, [&](const Statement &statement, bool) {
      if (llvm::isa<ParametersStatement>(statement))
        forEachType(statement, [&](auto &type) { addDimensions(type, false); });
    });
    size_t before = facts.dimensions.size();
    for (const ResultSyntax &result : declaration.results)
      addDimensions(result.type, /*inHead=*/true);
    facts.resultOnly.insert(facts.dimensions.begin() + before,
                            facts.dimensions.end());
    checkStatements();
  }

private:
  Diagnostic &error(Range range, const Twine &message) {
    facts.valid = false;
    return diagnostics.error(range, message);
  }

  void declareOnce(Identifier name) {
    auto [entry, isNew] = seen.try_emplace(name.name, name.range);
    if (!isNew)
      error(name.range, "`" + name.name + "` is declared twice in `" +
                            declaration.name.name + "`")
          .note(entry->second, "first declared here");
  }

  void checkNames() {
    for (const InputSyntax &input : declaration.inputs)
      declareOnce(input.name);
    llvm::StringMap<Range> inputs = std::move(seen);
    seen = {};
    for (const ResultSyntax &result : declaration.results)
      if (result.name)
        declareOnce(*result.name);
  }

  void findAssigned() {
    walk(declaration.body, [&](const Statement &statement, bool) {
      if (auto *loop = llvm::dyn_cast<ForStatement>(&statement))
        assigned.insert(loop->counter.name);
      if (auto *assign = llvm::dyn_cast<AssignStatement>(&statement))
        for (const Target &target : assign->targets)
          forEachName(target,
                      [&](Identifier name) { assigned.insert(name.name); });
    });
  }

  void addDimensions(const TypeSyntax &type, bool inHead) {
    for (const ExpressionPtr &size : type.shape)
      walk(*size, [&](const Expression &expression) {
        auto *name = llvm::dyn_cast<NameExpression>(&expression);
        if (!name)
          return;
        const InputSyntax *input = facts.input(name->name);
        if (input && !input->type)
          return;
        if (!isCapitalised(name->name) || input) {
          if (inHead && misnamed.insert(name->name).second)
            error(name->range, "`" + name->name +
                                   "` in a shape is not a setting of `" +
                                   declaration.name.name + "`")
                .hint("a dimension begins with a capital letter");
          return;
        }
        if (!inHead && assigned.count(name->name))
          return;
        facts.addDimension(name->name);
      });
  }

  void checkStatements() {
    bool mayHaveState = declaration.kind == DeclarationKind::Cell ||
                        declaration.kind == DeclarationKind::Model;
    walk(declaration.body, [&](const Statement &statement, bool inFor) {
      if (auto *states = llvm::dyn_cast<StatesStatement>(&statement)) {
        if (!mayHaveState)
          error(statement.range, "only a cell or a model has state");
        else if (inFor)
          error(statement.range, "a `for` holds no `state`");
        for (const StateSyntax &state : states->states)
          facts.states.push_back(&state);
      } else if (llvm::isa<ParametersStatement>(statement)) {
        facts.hasParameters = true;
        if (declaration.kind == DeclarationKind::Attention)
          error(statement.range, "an attention has no parameters")
              .hint("make it an input; a func around it can own the parameter");
      } else if (llvm::isa<ReturnStatement>(statement)) {
        if (inFor)
          error(statement.range, "a `for` holds no `return`");
        else if (&statement != declaration.body.back().get())
          error(statement.range, "only the last statement returns");
      }
    });
    if (declaration.body.empty() ||
        !llvm::isa<ReturnStatement>(*declaration.body.back()))
      error(declaration.name.range, "`" + declaration.name.name +
                                        "` does not return: its last statement "
                                        "must be `return`");
    if (declaration.kind == DeclarationKind::Cell && facts.states.empty())
      error(declaration.name.range,
            "cell `" + declaration.name.name + "` has no state")
          .hint("declare one, `state h: [H]`, or make it a func");
  }

  const Declaration &declaration;
  Diagnostics &diagnostics;
  DeclarationFacts &facts;
  llvm::StringMap<Range> seen;
  std::set<StringRef> assigned;
  std::set<StringRef> misnamed; // reported as no dimensions
};
} // namespace

const DeclarationFacts &
Checker::Implementation::factsOf(const Declaration &declaration) {
  auto [entry, isNew] = common->facts.try_emplace(&declaration);
  if (isNew)
    FactFinder(declaration, checker.diagnostics, entry->second).find();
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Settings that are not given
//===----------------------------------------------------------------------===//

/// Options of built-in functions, layers and attentions that are not numbers.
static bool isSwitch(StringRef option) {
  return llvm::StringSwitch<bool>(option)
      .Cases({"bias", "affine", "bidirectional", "causal", "gqa", "lse"}, true)
      .Cases({"weights", "keep", "interleaved", "reverse"}, true)
      .Cases({"mode", "scope", "until", "window"}, true)
      .Default(false);
}

Item Checker::Implementation::unknownSetting(const Declaration &declaration,
                                             Package::File &file,
                                             const InputSyntax &input) {
  StringRef name = input.name.name;
  auto isIt = [&](const ExpressionPtr &expression) {
    auto *use = llvm::dyn_cast<NameExpression>(expression.get());
    return use && use->name == name;
  };
  bool isOther = false;
  auto look = [&](const Expression &expression) {
    if (auto *binary = llvm::dyn_cast<BinaryExpression>(&expression)) {
      if (binary->op == BinaryOperator::And || binary->op == BinaryOperator::Or)
        isOther |= isIt(binary->left) || isIt(binary->right);
    } else if (auto *unary = llvm::dyn_cast<UnaryExpression>(&expression)) {
      isOther |= unary->op == UnaryOperator::Not && isIt(unary->operand);
    }
  };
  auto lookAtArguments = [&](Identifier callee,
                             llvm::ArrayRef<Argument> arguments) {
    for (const Argument &argument : arguments) {
      if (!argument.value || !isIt(argument.value))
        continue;
      Callee target = resolve(callee, file);
      const InputSyntax *setting =
          argument.name && target.kind == Callee::Kind::Declaration
              ? factsOf(*target.declaration).input(argument.name->name)
              : nullptr;
      // What a default says of the setting that it is passed on to.
      if (setting && setting->defaultValue)
        isOther |= llvm::isa<BooleanExpression, StringExpression>(
            setting->defaultValue.get());
      else
        isOther |= argument.name && isSwitch(argument.name->name);
    }
  };
  walk(declaration.body, [&](const Statement &statement, bool) {
    if (auto *p = llvm::dyn_cast<ParametersStatement>(&statement))
      for (const ParameterSyntax &parameter : p->parameters)
        lookAtArguments(parameter.instanceOf, parameter.arguments);
    forEachExpression(statement, [&](const Expression &expression) {
      walk(expression, [&](const Expression &inner) {
        look(inner);
        if (auto *call = llvm::dyn_cast<CallExpression>(&inner))
          lookAtArguments(call->callee, call->arguments);
      });
    });
  });
  if (isOther)
    return {Erroneous(), input.name.range};
  return sizeItem(Size(newUnknown(name)), input.name.range);
}
