// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckEntryCell.cpp - A cell as the entry of a program --------------===//
//
// A scan over the first input, with the states as inputs and outputs. Where a
// state starts from the first input, that one is the same at each step: then
// the cell is given no sequence and runs for `steps`.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/CheckEntry.h"
#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// Is an initial value made of the first input, maybe through locals.
bool EntryBuilder::startsFromFirstInput() const {
  std::set<StringRef> made;
  for (const InputSyntax &input : declaration.inputs)
    if (input.type && made.empty())
      made.insert(input.name.name);
  bool found = false;
  auto isMade = [&](const Expression &expression) {
    bool isMade = false;
    walk(expression, [&](const Expression &part) {
      auto *name = llvm::dyn_cast<NameExpression>(&part);
      isMade |= name && made.count(name->name);
    });
    return isMade;
  };
  walk(declaration.body, [&](const Statement &statement, bool) {
    if (auto *assign = llvm::dyn_cast<AssignStatement>(&statement)) {
      if (isMade(*assign->value))
        for (const Target &target : assign->targets)
          forEachName(target, [&](Identifier name) { made.insert(name.name); });
    } else if (llvm::isa<StatesStatement>(statement)) {
      forEachExpression(statement, [&](const Expression &initial) {
        found |= isMade(initial);
      });
    }
  });
  return found;
}

/// Is the first input a sequence.
bool EntryBuilder::takesSequence() const {
  bool hasSteps = llvm::any_of(callOptions, [](const auto &option) {
    return option.name->name == "steps";
  });
  bool hasInput = llvm::any_of(declaration.inputs, [](const auto &input) {
    return input.type.has_value();
  });
  return hasInput && !hasSteps && !startsFromFirstInput();
}

bool EntryBuilder::findSteps(RecurrenceCall &call) {
  if (call.steps || time)
    return true;
  if (options.allowUnknown) {
    checks.note("--arg steps=...");
    call.steps = checks.sizeItem(Size(checks.newUnknown("steps")), place);
    return true;
  }
  checks
      .error(place, "as an entry `" + declaration.name.name +
                        "` is given no sequence and needs `steps`")
      .hint("give it: `--arg steps=...`");
  return false;
}

/// The states as inputs; their shapes are found as a scan would find them.
std::optional<std::vector<StateSlot>>
EntryBuilder::addStates(RecurrenceCall &call) {
  Body probe = scope;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    Binding binding;
    binding.kind = Binding::Kind::Input;
    binding.declared = input.syntax->name.range;
    binding.item = {Erroneous(), place};
    if (number >= call.sequences.size())
      binding.item = ownView(number);
    probe.names[input.syntax->name.name.str()] = std::move(binding);
  }
  probe.instance = &checks.layerOf(root, 0, false);
  if (!checks.enter(declaration, place))
    return std::nullopt;
  std::optional<std::vector<StateSlot>> slots = checks.statesOf(probe);
  checks.leave();
  if (!slots)
    return std::nullopt;
  int64_t parts =
      std::max<int64_t>(root.layers, 1) * (root.bidirectional ? 2 : 1);
  Tuple states;
  for (StateSlot &slot : *slots) {
    TensorType type{slot.type.element, lead};
    if (root.layers || root.bidirectional)
      type.shape.insert(type.shape.begin(), Size(parts));
    llvm::append_range(type.shape, slot.type.shape);
    slot.type = std::move(type);
    states.elements.push_back(checks.makeStateInput(slot));
  }
  call.initial =
      states.elements.size() == 1 ? states.elements[0] : Item{states, place};
  return slots;
}

bool EntryBuilder::buildCell() {
  RecurrenceCall call;
  call.instance = &root;
  call.range = place;
  for (const EvaluatedArgument &option : callOptions) {
    StringRef name = option.name->name;
    if (name == "layers" || name == "bidirectional")
      root.settings.push_back(option);
    else if (!checks.scanOption(call, name, option.item))
      return false;
  }
  llvm::append_range(root.settings, settings());
  unsigned errorsBefore = checker.diagnostics.errorCount();
  checks.checkSettings(root);
  if (root.broken || checker.diagnostics.errorCount() != errorsBefore)
    return false;

  if (!findSteps(call) || !addInputs(time) || !addTensorOptions())
    return false;
  for (const Input &input : inputs)
    (call.sequences.empty() && time ? call.sequences : call.with)
        .push_back(input.item);
  for (const EvaluatedArgument &option : tensorOptions)
    checks.scanOption(call, option.name->name, option.item);
  std::optional<std::vector<StateSlot>> slots = addStates(call);
  if (!slots)
    return false;

  Item result = checks.recurrence(call);
  if (result.isError())
    return false;
  const Tuple &pair = *result.tuple();
  if (!addResults(split(pair.elements[0], declaration.results.size())))
    return false;
  std::vector<Item> finals = split(pair.elements[1], slots->size());
  for (auto [slot, item] : llvm::zip(*slots, finals))
    addResult(slot.syntax->name.name, item, slot.syntax->name.range,
              /*isState=*/true, slot.syntax->type.element.has_value());
  return true;
}
