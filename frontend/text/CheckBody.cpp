// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckBody.cpp - Evaluating a declaration's body --------------------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Calls around
//===----------------------------------------------------------------------===//

bool Checker::Implementation::enter(const Declaration &declaration,
                                    Range site) {
  StringRef name = declaration.name.name;
  auto begin = llvm::find_if(calls, [&](const Call &call) {
    return call.declaration == &declaration;
  });
  if (begin != calls.end()) {
    Diagnostic &diagnostic = error(site, "`" + name + "` calls itself");
    for (auto call = begin; call + 1 != calls.end() && call - begin < 10;
         ++call)
      diagnostic.note((call + 1)->site,
                      "`" + call->declaration->name.name + "` calls `" +
                          (call + 1)->declaration->name.name + "` here");
    diagnostic.note(site, "`" + calls.back().declaration->name.name +
                              "` calls `" + name + "` here");
    common->failed.insert(calls.back().declaration);
    // Its notes tell all calls already.
    complete.insert(checker.diagnostics.all().size() - 1);
    return false;
  }
  if (calls.size() >= maximumCalls) {
    error(site, "calls nest more than " + Twine(maximumCalls) + " deep");
    return false;
  }
  common->work += callWork;
  calls.push_back(
      {&declaration, site, caller, checker.diagnostics.all().size()});
  caller = std::make_shared<Trace>(Trace{site, caller});
  return true;
}

void Checker::Implementation::leave() {
  Call call = std::move(calls.back());
  calls.pop_back();
  caller = call.caller;
  // Tell where a body was used in which an error was found.
  auto &diagnostics = checker.diagnostics.all();
  const Declaration &declaration = *call.declaration;
  auto isInside = [&](Range range) {
    return range.file == declaration.range.file &&
           range.begin >= declaration.range.begin &&
           range.end <= declaration.range.end;
  };
  constexpr size_t maximumNotes = 8;
  for (size_t i = call.diagnosticsBefore; i < diagnostics.size(); ++i) {
    Diagnostic &diagnostic = diagnostics[i];
    if (diagnostic.severity != Severity::Error || complete.count(i))
      continue;
    bool isOwn = isInside(diagnostic.range) && !isInside(call.site);
    bool isFurther = !diagnostic.notes.empty() &&
                     StringRef(diagnostic.notes.back().message)
                         .starts_with("in this use of `") &&
                     !isInside(call.site);
    if (isInside(diagnostic.range) || isFurther)
      common->failed.insert(&declaration);
    if ((isOwn || isFurther) && diagnostic.notes.size() < maximumNotes)
      diagnostic.note(call.site,
                      "in this use of `" + declaration.name.name + "`");
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::optional<std::vector<Item>> Checker::Implementation::run(Body &body) {
  Body *outer = std::exchange(this->body, &body);
  unsigned errorsBefore = checker.diagnostics.errorCount();
  runStatements(body, body.declaration.body, /*inFor=*/false);
  bool good = checker.diagnostics.errorCount() == errorsBefore && !exhausted;
  for (const StateSlot &slot : body.states)
    if (!slot.next && !slot.nextRange.end && good) {
      StringRef name = slot.syntax->name.name;
      error(slot.syntax->name.range, "state `" + name + "` has no next value")
          .hint("assign `" + name + "'`");
    }
  if (good)
    for (const auto &[name, binding] : body.names)
      warnUnused(binding);
  std::optional<std::vector<Item>> results;
  if (body.returned)
    results = checkResults(body, *body.returned);
  this->body = outer;
  if (checker.diagnostics.errorCount() != errorsBefore || exhausted)
    return std::nullopt;
  return results;
}

std::optional<std::vector<Item>>
Checker::Implementation::checkResults(Body &body, const Item &value) {
  if (value.isError())
    return std::nullopt;
  const auto &declared = body.declaration.results;
  std::vector<Item> items;
  if (declared.size() == 1)
    items.push_back(value);
  else if (const Tuple *tuple = value.tuple())
    items = tuple->elements;
  if (items.size() != declared.size()) {
    error(value.range, "`" + body.declaration.name.name + "` has " +
                           Twine(declared.size()) + " results, found " +
                           checker.describe(value))
        .note(declared.front().type.range, "declared here");
    return std::nullopt;
  }

  bool good = true;
  for (auto [number, item] : llvm::enumerate(items)) {
    const ResultSyntax &result = declared[number];
    if (item.isError()) {
      good = false;
      continue;
    }
    std::string what = "the result";
    if (declared.size() > 1)
      what = result.name ? ("result `" + result.name->name + "`").str()
                         : "result " + std::to_string(number + 1);
    const Item found = item;
    Element element = elementOf(result.type);
    if (!item.tensor()) {
      std::optional<Tensor> tensor = asTensor(item, element, what);
      if (!tensor) {
        good = false;
        continue;
      }
      item.value = *tensor;
    }
    const Tensor &tensor = *item.tensor();
    bindResult(body, result.type, tensor.own(), item.range);
    std::optional<Shape> shape = shapeOf(body, result.type);
    if (!shape) {
      good = false;
      continue;
    }
    std::string message = what + " is " + checker.describe(found) +
                          ", expected " + describeDeclared(result.type, *shape);
    auto report = [&, place = item.range] {
      error(place, message).note(result.type.range, "declared here");
    };
    if (tensor.own().size() != shape->size() || tensor.element() != element) {
      report();
      good = false;
      continue;
    }
    for (auto [size, expected] : llvm::zip(tensor.own(), *shape))
      if (!checker.requireEqual(size, expected, item.range, message, report)) {
        good = false;
        break;
      }
  }
  if (!good)
    return std::nullopt;
  return items;
}

std::optional<std::vector<Item>> Checker::evaluateBody(
    const Declaration &declaration, Package::File &file, ArrayRef<Item> inputs,
    ArrayRef<std::pair<std::string, Size>> dimensions,
    AttentionContext *attention, Graph &graph, Range callSite) {
  if (!impl->enter(declaration, callSite))
    return std::nullopt;
  Body body(declaration, impl->factsOf(declaration), file);
  body.use = callSite;
  body.isEntry = &declaration == impl->entryDeclaration;
  body.attentionBody = attention != nullptr;
  for (const auto &[name, size] : dimensions)
    body.dimensions[name] = {size, callSite, ""};
  for (auto [input, item] : llvm::zip(declaration.inputs, inputs)) {
    Binding binding;
    binding.kind = input.type ? Binding::Kind::Input : Binding::Kind::Setting;
    binding.declared = input.name.range;
    binding.item = item;
    body.names[input.name.name.str()] = std::move(binding);
  }
  Graph *outer = setGraph(&graph);
  if (attention)
    attentionStack.push_back(attention);
  auto results = impl->run(body);
  if (attention)
    attentionStack.pop_back();
  setGraph(outer);
  impl->leave();
  return results;
}
