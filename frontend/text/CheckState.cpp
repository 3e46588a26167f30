// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckState.cpp - States of cells and models ------------------------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

std::optional<Tensor> Checker::Implementation::stateValue(Body &body,
                                                          const StateSlot &slot,
                                                          const Item &item,
                                                          const Twine &what) {
  if (item.isError())
    return std::nullopt;
  StringRef name = slot.syntax->name.name;
  std::string message = (what + " is " + checker.describe(item) +
                         ", expected the shape of its state, " +
                         describeDeclared(slot.syntax->type, slot.type.shape))
                            .str();
  auto report = [&] {
    error(item.range, message)
        .note(slot.syntax->name.range, "`" + name + "` is declared here");
  };
  // A number takes the type and the shape of the state that it meets.
  if (item.number() || item.boolean()) {
    std::optional<Tensor> tensor = asTensor(item, slot.type.element, what);
    if (!tensor)
      return std::nullopt;
    return checker.broadcast(*tensor, {}, slot.type.shape, item.range);
  }
  const Tensor *tensor = item.tensor();
  if (!tensor || tensor->own().size() != slot.type.shape.size()) {
    report();
    return std::nullopt;
  }
  if (tensor->element() != slot.type.element) {
    error(item.range, what + " is " + checker.describe(item) +
                          ", expected the type of its state, " +
                          describeDeclared(slot.syntax->type, slot.type.shape))
        .note(slot.syntax->name.range, "`" + name + "` is declared here")
        .hint("convert it: `" + spelling(slot.type.element) + "(x)`");
    return std::nullopt;
  }
  for (auto [size, expected] : llvm::zip(tensor->own(), slot.type.shape))
    if (!checker.requireEqual(size, expected, item.range, message, report))
      return std::nullopt;
  return *tensor;
}

void Checker::Implementation::declareState(Body &body,
                                           const StateSyntax &syntax) {
  StringRef name = syntax.name.name;
  Binding binding;
  binding.kind = Binding::Kind::State;
  binding.item = {Erroneous(), syntax.name.range};
  if (body.givenStates) {
    const StateSlot &slot = (*body.givenStates)[body.states.size()];
    body.addState(slot);
    binding.item = slot.current;
    declare(body, syntax.name, std::move(binding));
    return;
  }

  StateSlot slot;
  slot.syntax = &syntax;
  unsigned errorsBefore = checker.diagnostics.errorCount();
  std::optional<Shape> shape = shapeOf(body, syntax.type);
  slot.type = typeOf(syntax.type, shape.value_or(Shape()));
  slot.initial = slot.type.element == Element::Bool
                     ? Item{false, syntax.name.range}
                     : numberItem(0, syntax.name.range);
  if (syntax.initial) {
    slot.initial = evaluate(body, *syntax.initial);
    if (slot.initial.isError() && body.statesOnly &&
        checker.diagnostics.errorCount() == errorsBefore && !exhausted)
      error(syntax.initial->range, "the initial value of `" + name +
                                       "` is made of what differs at each step")
          .hint("it may be a number, or a tensor made of parameters and of "
                "inputs that are the same at each step");
    // Numbers become tensors where they are needed; their type is checked now.
    if (shape && !slot.initial.isError() &&
        !stateValue(body, slot, slot.initial,
                    "the initial value of `" + name + "`"))
      slot.initial = {Erroneous(), syntax.initial->range};
  }
  slot.failed = checker.diagnostics.errorCount() != errorsBefore;
  body.addState(slot);
  if (body.isEntry && body.declaration.kind == DeclarationKind::Model)
    binding.item = makeStateInput(body.states.back());
  if (slot.failed)
    binding.item = {Erroneous(), syntax.name.range};
  if (!declare(body, syntax.name, std::move(binding)))
    body.states.back().failed = true;
}

void Checker::Implementation::assignNext(Body &body, const Target &target,
                                         const Item &item, bool inFor) {
  StringRef name = target.name.name;
  if (inFor) {
    error(target.range, "a `for` holds no next value");
    return;
  }
  StateSlot *slot = body.state(name);
  if (!slot) {
    if (!body.undefined.insert(name.str()).second)
      return;
    std::vector<StringRef> candidates;
    for (const StateSyntax *state : body.facts.states)
      candidates.push_back(state->name.name);
    error(target.range, "`" + name + "'`: `" + name + "` is not a state")
        .suggest(name, candidates);
    return;
  }
  if (slot->nextRange.end) {
    error(target.range, "`" + name + "'` is given twice")
        .note(slot->nextRange, "first given here");
    return;
  }
  slot->nextRange = target.range;
  slot->next = Item{Erroneous(), target.range};
  if (slot->failed || item.isError())
    return;
  Item pointed = item;
  pointed.range = target.range;
  if (std::optional<Tensor> value =
          stateValue(body, *slot, pointed, "`" + name + "'`"))
    slot->next->value = *value;
}

std::optional<std::vector<StateSlot>>
Checker::Implementation::statesOf(const Body &body) {
  Body prefix = body;
  prefix.statesOnly = true;
  unsigned errorsBefore = checker.diagnostics.errorCount();
  Body *outer = std::exchange(this->body, &prefix);
  runStatements(prefix, prefix.declaration.body, /*inFor=*/false);
  this->body = outer;
  if (checker.diagnostics.errorCount() != errorsBefore || exhausted ||
      prefix.states.size() != prefix.facts.states.size())
    return std::nullopt;
  return std::move(prefix.states);
}
