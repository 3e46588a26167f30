// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckStatement.cpp - Statements and the scope of names -------------===//

#include "frontend/text/CheckBody.h"
#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

void Checker::Implementation::runStatements(Body &body,
                                            ArrayRef<StatementPtr> statements,
                                            bool inFor) {
  ++depth;
  for (const StatementPtr &statement : statements) {
    if (!spend(statement->range))
      break;
    common->work +=
        (statement->range.end - statement->range.begin) / bytesOfWork;
    switch (statement->kind) {
    case Statement::Kind::Parameters:
      for (const ParameterSyntax &syntax :
           llvm::cast<ParametersStatement>(*statement).parameters)
        declareParameter(body, syntax);
      break;
    case Statement::Kind::States:
      for (const StateSyntax &syntax :
           llvm::cast<StatesStatement>(*statement).states)
        declareState(body, syntax);
      break;
    case Statement::Kind::For:
      runFor(body, llvm::cast<ForStatement>(*statement));
      break;
    case Statement::Kind::Return:
      body.returned =
          evaluate(body, *llvm::cast<ReturnStatement>(*statement).value);
      break;
    case Statement::Kind::Assign:
      runAssign(body, llvm::cast<AssignStatement>(*statement), inFor);
      break;
    }
    if (body.statesOnly && body.states.size() == body.facts.states.size())
      break;
  }
  --depth;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool Checker::Implementation::declare(Body &body, Identifier name,
                                      Binding binding) {
  binding.declared = name.range;
  if (body.facts.isDimension(name.name)) {
    error(name.range, "`" + name.name + "` is a dimension of `" +
                          body.declaration.name.name +
                          "` and cannot be declared again");
    return false;
  }
  auto [entry, isNew] =
      body.names.try_emplace(name.name.str(), std::move(binding));
  if (isNew)
    body.madeNames.push_back(entry->first);
  else
    error(name.range, "`" + name.name + "` is declared twice in `" +
                          body.declaration.name.name + "`")
        .note(entry->second.declared, "first declared here");
  return isNew;
}

void Checker::Implementation::warnUnused(const Binding &binding) {
  const Instance *instance = binding.instance;
  if (instance && !instance->used && !instance->broken)
    checker.diagnostics.warning(binding.declared,
                                "`" + instance->name.name +
                                    "` is never used and has no parameters");
}

void Checker::Implementation::runAssign(Body &body,
                                        const AssignStatement &statement,
                                        bool inFor) {
  Item item = evaluate(body, *statement.value);
  if (statement.targets.size() == 1)
    assign(body, statement.targets.front(), item, statement.value.get(), inFor);
  else
    assignTuple(body, statement.targets, item, inFor);
}

void Checker::Implementation::assignTuple(Body &body, ArrayRef<Target> targets,
                                          const Item &item, bool inFor) {
  const Tuple *tuple = item.tuple();
  if (tuple && tuple->elements.size() == targets.size()) {
    for (auto [target, element] : llvm::zip(targets, tuple->elements))
      assign(body, target, element, nullptr, inFor);
    return;
  }
  if (!item.isError()) {
    Range range = targets.front().range;
    range.end = targets.back().range.end;
    Diagnostic &diagnostic = error(
        range, Twine(targets.size()) +
                   (targets.size() == 1 ? " name" : " names") +
                   " on the left, " + checker.describe(item) + " on the right");
    if (tuple && llvm::any_of(tuple->elements, [](const Item &element) {
          return element.tuple() != nullptr;
        }))
      diagnostic.hint("a tuple inside is taken apart by parentheses: "
                      "`y, (h, c) = ...`");
  }
  for (const Target &target : targets)
    assign(body, target, {Erroneous(), item.range}, nullptr, inFor);
}

void Checker::Implementation::assign(Body &body, const Target &target,
                                     Item item, const Expression *source,
                                     bool inFor) {
  if (target.kind == Target::Kind::Tuple)
    return assignTuple(body, target.elements, item, inFor);
  if (target.kind == Target::Kind::Next)
    return assignNext(body, target, item, inFor);
  StringRef name = target.name.name;
  if (name == "_")
    return;
  auto keepsValue = [&](StringRef what, Range declared) {
    Diagnostic &diagnostic =
        error(target.name.range, "`" + name + "` is " + what + " of `" +
                                     body.declaration.name.name +
                                     "` and keeps its value");
    if (declared.end)
      diagnostic.note(declared, "declared here");
  };
  if (body.facts.isDimension(name)) {
    auto found = body.dimensions.find(name.str());
    return keepsValue("a dimension",
                      found == body.dimensions.end() || !body.isEntry
                          ? Range()
                          : found->second.from);
  }
  Binding binding;
  binding.declared = target.name.range;
  binding.source = source;
  if (Binding *before = body.find(name)) {
    switch (before->kind) {
    case Binding::Kind::State:
      error(target.name.range, "`" + name +
                                   "` is a state; assign its next "
                                   "value `" +
                                   name + "'`")
          .note(before->declared, "declared here");
      return;
    case Binding::Kind::Input:
    case Binding::Kind::Local:
      binding.declared = before->declared;
      break;
    default:
      return keepsValue(spelling(before->kind), before->declared);
    }
  }
  binding.item = std::move(item);
  auto [entry, isNew] =
      body.names.insert_or_assign(name.str(), std::move(binding));
  if (isNew)
    body.madeNames.push_back(entry->first);
}

//===----------------------------------------------------------------------===//
// For
//===----------------------------------------------------------------------===//

void Checker::Implementation::runFor(Body &body,
                                     const ForStatement &statement) {
  Item countItem = evaluate(body, *statement.count);
  unsigned errorsBefore = checker.diagnostics.errorCount();
  std::optional<int64_t> count =
      checker.fixedWhole(countItem, "the count of a `for`");
  bool unknown = !count && !countItem.isError() &&
                 checker.diagnostics.errorCount() == errorsBefore;
  if (count && (*count < 0 || *count > maximumCount)) {
    error(statement.count->range, "the count of a `for` must be 0 to " +
                                      Twine(maximumCount) + ", found " +
                                      Twine(*count));
    count.reset();
  }
  // The body is looked at once where its count is not known yet.
  if (!count)
    count = unknown ? 1 : 0;

  const size_t outside = body.madeNames.size();
  for (int64_t turn = 0; turn < *count && !exhausted; ++turn) {
    Binding counter;
    counter.kind = Binding::Kind::Counter;
    Range range = statement.counter.range;
    counter.item =
        unknown ? sizeItem(Size(newUnknown(statement.counter.name)), range)
                : numberItem(turn, range);
    if (!declare(body, statement.counter, std::move(counter)))
      break;
    body.counters.push_back(turn);
    size_t errors = checker.diagnostics.errorCount();
    runStatements(body, statement.body, /*inFor=*/true);
    body.counters.pop_back();
    bool good = checker.diagnostics.errorCount() == errors;
    for (; body.madeNames.size() > outside; body.madeNames.pop_back()) {
      auto entry = body.names.find(body.madeNames.back());
      if (good)
        warnUnused(entry->second);
      body.names.erase(entry);
    }
    // Further turns would find the same errors.
    if (!good)
      break;
    spend(statement.range);
  }
  if (checker.diagnostics.errorCount() == errorsBefore && !countItem.isError())
    return;
  // What the turns would have left is not known.
  walk(statement.body, [&](const Statement &inner, bool) {
    if (auto *assign = llvm::dyn_cast<AssignStatement>(&inner))
      for (const Target &target : assign->targets)
        forEachName(target, [&](Identifier name) {
          Binding *binding = body.find(name.name);
          if (binding && (binding->kind == Binding::Kind::Local ||
                          binding->kind == Binding::Kind::Input))
            binding->item = {Erroneous(), name.range};
        });
  });
}
