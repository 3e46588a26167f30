// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckRecurrence.cpp - Calls of scan and step, and layers -----------===//

#include "frontend/text/CheckRecurrence.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A tuple as its elements, another value as one.
static std::vector<Item> elementsOf(const Item &item) {
  if (const Tuple *tuple = item.tuple())
    return tuple->elements;
  return {item};
}

Instance *Checker::Implementation::cellArgument(Body &body,
                                                const CallExpression &call) {
  StringRef function = call.callee.name;
  if (call.arguments.empty() || call.arguments.front().name) {
    error(call.callee.range, "`" + function + "` needs a cell's instance first")
        .hint("declare `param c: lstm(...)`, then `" + function + "(c, x)`");
    return nullptr;
  }
  const Expression &first = *call.arguments.front().value;
  StringRef text = textOf(first.range);
  Instance *instance = instanceOf(body, first);
  if (!instance) {
    auto *name = llvm::dyn_cast<NameExpression>(&first);
    std::vector<StringRef> candidates;
    for (const auto &[known, binding] : body.names)
      if (binding.instance)
        candidates.push_back(known);
    Binding *binding = name ? body.find(name->name) : nullptr;
    if (name && !binding) {
      Diagnostic &diagnostic =
          error(first.range, "no instance is named `" + text + "`");
      diagnostic.suggest(text, candidates);
      if (diagnostic.hints.empty())
        diagnostic.hint("declare `param c: " +
                        (body.file.find(text) ? text : StringRef("lstm")) +
                        "(...)`, then `" + function + "(c, x)`");
      return nullptr;
    }
    if (binding && binding->item.isError())
      return nullptr;
    error(first.range,
          "`" + function + "` needs a cell's instance first, found a value")
        .hint("declare `param c: lstm(...)`, then `" + function + "(c, x)`");
    return nullptr;
  }
  instance->used = true;
  if (instance->broken)
    return nullptr;
  if (!instance->declaration ||
      instance->declaration->kind != DeclarationKind::Cell) {
    error(first.range, "`" + text + "` is an instance of `" +
                           instance->calleeName + "`, which is not a cell")
        .note(instance->name.range, "declared here")
        .hint("call it: `" + text + "(x)`");
    return nullptr;
  }
  return instance;
}

Item Checker::Implementation::evaluateRecurrence(Body &body,
                                                 const CallExpression &call,
                                                 bool single) {
  StringRef function = call.callee.name;
  RecurrenceCall recurrenceCall;
  recurrenceCall.range = call.range;
  recurrenceCall.single = single;
  recurrenceCall.instance = cellArgument(body, call);
  bool good = recurrenceCall.instance != nullptr;
  if (checker.attention()) {
    error(call.callee.range, "an attention holds no `" + function + "`")
        .hint("what needs only queries or only keys is computed before the "
              "call");
    good = false;
  }

  static constexpr StringRef scanOptions[] = {
      "init", "with", "lengths", "reverse", "steps", "until", "reset"};
  static constexpr StringRef stepOptions[] = {"with", "init"};
  ArrayRef<StringRef> options = single ? ArrayRef<StringRef>(stepOptions)
                                       : ArrayRef<StringRef>(scanOptions);
  std::set<StringRef> seen;
  unsigned position = 0;
  for (const Argument &argument :
       ArrayRef(call.arguments)
           .drop_front(std::min<size_t>(1, call.arguments.size()))) {
    Item item = evaluate(body, *argument.value);
    for (const Item &element : elementsOf(item))
      good &= !element.isError();
    good &= !item.isError();
    if (!argument.name) {
      ++position;
      if (position == 1) {
        recurrenceCall.sequences = elementsOf(item);
      } else if (single && position == 2) {
        recurrenceCall.initial = item;
        seen.insert("init");
      } else if (position == (single ? 3u : 2u)) {
        error(argument.value->range,
              "`" + function + "` takes " + Twine(single ? 3 : 2) +
                  " arguments by position, here is one more")
            .hint(single ? "the cell's further inputs go by `with=`"
                         : "the states go by `init=`, the cell's further "
                           "inputs by `with=`");
        good = false;
      }
      continue;
    }
    StringRef name = argument.name->name;
    if (!llvm::is_contained(options, name)) {
      error(argument.name->range,
            "`" + function + "` has no option `" + name + "`")
          .suggest(name, options);
      good = false;
    } else if (!seen.insert(name).second) {
      error(argument.name->range, "`" + name + "` is given twice");
      good = false;
    } else if (!item.isError()) {
      good &= scanOption(recurrenceCall, name, item);
    }
  }
  if (!good)
    return {};
  return useOf(*recurrenceCall.instance,
               [&] { return recurrence(recurrenceCall); });
}

bool Checker::Implementation::scanOption(RecurrenceCall &call, StringRef name,
                                         const Item &item) {
  if (name == "init")
    call.initial = item;
  else if (name == "with")
    call.with = elementsOf(item);
  else if (name == "lengths")
    call.lengths = item;
  else if (name == "reset")
    call.resets = item;
  else if (name == "steps")
    call.steps = item;
  else if (name == "reverse") {
    const bool *value = item.boolean();
    if (!value) {
      error(item.range, "`reverse` must be `true` or `false`, found " +
                            checker.describe(item));
      return false;
    }
    call.reverse = *value;
  } else if (name == "until") {
    const std::string *state = item.string();
    if (!state) {
      error(item.range, "`until` must be the name of a state, as "
                        "`until=\"done\"`, found " +
                            checker.describe(item));
      return false;
    }
    call.until = *state;
    call.untilRange = item.range;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Layers and directions
//===----------------------------------------------------------------------===//

static constexpr const char *instanceForEach =
    "declare an instance for each layer and direction, and `scan` each";

/// The initial states of one layer in one direction: parts of what was given.
bool Checker::Implementation::splitInitial(
    const RecurrenceCall &call, std::vector<std::vector<Item>> &parts) {
  const Instance &instance = *call.instance;
  const DeclarationFacts &facts = factsOf(*instance.declaration);
  std::vector<Item> items = elementsOf(*call.initial);
  if (items.size() != facts.states.size()) {
    error(call.initial->range,
          "cell `" + instance.calleeName + "` has " +
              Twine(facts.states.size()) +
              (facts.states.size() == 1 ? " state" : " states") + ", found " +
              checker.describe(*call.initial))
        .note(facts.states.front()->name.range, "declared here")
        .hint(facts.states.size() == 1
                  ? "give the value of `" + facts.states.front()->name.name +
                        "` alone"
                  : "give a tuple of " + std::to_string(facts.states.size()) +
                        ", in the order in which they are declared");
    return false;
  }
  bool layered = instance.layers || instance.bidirectional;
  for (auto [part, states] : llvm::enumerate(parts))
    for (auto [number, item] : llvm::enumerate(items)) {
      const Tensor *tensor = item.tensor();
      if (!layered || !tensor) {
        states.push_back(item);
        continue;
      }
      std::string count = std::to_string(parts.size());
      std::string message =
          ("state `" + facts.states[number]->name.name + "` of `" +
           instance.name.name + "` is " + checker.describe(item) +
           ", expected layers * directions = " + count + " in front")
              .str();
      auto report = [&, place = item.range] {
        error(place, message).note(instance.name.range, "declared here");
      };
      if (tensor->own().empty()) {
        report();
        return false;
      }
      if (!checker.requireEqual(tensor->own().front(),
                                Size(int64_t(parts.size())), item.range,
                                message, report))
        return false;
      Tensor one = checker.slice(*tensor, 0, Size(int64_t(part)), Size(1), 1,
                                 item.range);
      Shape own(one.own().begin() + 1, one.own().end());
      states.push_back({checker.reshapeOwn(one, own, item.range), item.range});
    }
  return true;
}

Item Checker::Implementation::recurrence(RecurrenceCall &call) {
  Instance &instance = *call.instance;
  const Declaration &declaration = *instance.declaration;
  const DeclarationFacts &facts = factsOf(declaration);
  if (!facts.valid || instance.file->broken ||
      common->failed.count(&declaration))
    return {};
  StringRef name = instance.name.name;
  int64_t layers = std::max<int64_t>(instance.layers, 1);
  unsigned directions = instance.bidirectional ? 2 : 1;
  bool layered = instance.layers || instance.bidirectional;

  size_t inputs = llvm::count_if(declaration.inputs, [](const InputSyntax &i) {
    return i.type.has_value();
  });
  if (call.sequences.size() + call.with.size() != inputs) {
    StringRef unit = call.single ? "input" : "sequence";
    error(call.range, "cell `" + instance.calleeName + "` has " +
                          Twine(inputs) + (inputs == 1 ? " input" : " inputs") +
                          ", found " + Twine(call.sequences.size()) + " " +
                          unit + (call.sequences.size() == 1 ? "" : "s") +
                          " and " + Twine(call.with.size()) + " by `with=`")
        .note(declaration.name.range, "declared here")
        .hint("a tuple feeds the first inputs, `with=` the others");
    return {};
  }
  if (layers > 1 &&
      (call.sequences.size() != 1 || declaration.results.size() != 1)) {
    error(call.range, "`layers` above 1 needs a cell with one sequence and one "
                      "result")
        .note(instance.name.range, "declared here")
        .hint(instanceForEach);
    return {};
  }
  if (instance.bidirectional && call.single) {
    error(call.range, "a bidirectional instance has no step")
        .note(instance.name.range, "`" + name + "` is declared here")
        .hint("the backward direction needs the whole sequence: `scan`");
    return {};
  }
  if (instance.bidirectional && call.reverse) {
    error(call.range, "`" + name + "` is bidirectional and takes no `reverse`")
        .note(instance.name.range, "declared here");
    return {};
  }
  if (call.until && (layers > 1 || directions > 1)) {
    error(call.untilRange, "`until` needs a cell of one layer and direction")
        .note(instance.name.range, "`" + name + "` is declared here")
        .hint(instanceForEach);
    return {};
  }
  if (uint64_t(layers) * directions * facts.states.size() > maximumTupleItems) {
    error(call.range, "`" + name + "` has too many layers and states");
    return {};
  }

  std::vector<std::vector<Item>> initial(layers * directions);
  if (call.initial && !splitInitial(call, initial))
    return {};
  std::vector<Item> sequences = call.sequences, outputs;
  std::vector<std::vector<Tensor>> states(facts.states.size());
  for (int64_t layer = 0; layer < layers; ++layer) {
    std::vector<std::vector<Item>> sides;
    for (unsigned direction = 0; direction < directions; ++direction) {
      bool backward = direction == 1;
      CellPass pass(*this, call, layerOf(instance, layer, backward), sequences,
                    backward || call.reverse);
      if (call.initial)
        pass.initial = initial[layer * directions + direction];
      pass.isFurtherLayer = layer > 0;
      if (!enter(declaration, call.range))
        return {};
      bool good = pass.run();
      leave();
      if (!good)
        return {};
      for (auto [slot, state] : llvm::zip(states, pass.states))
        slot.push_back(*state.tensor());
      sides.push_back(std::move(pass.outputs));
    }
    outputs = std::move(sides.front());
    if (directions == 2)
      for (size_t i = 0; i < outputs.size(); ++i) {
        Tensor forward = *outputs[i].tensor(), back = *sides[1][i].tensor();
        if (declaration.results[i].type.shape.empty()) {
          error(call.range, "the result of a bidirectional cell needs a "
                            "dimension, on which the directions are joined")
              .note(declaration.results[i].type.range, "declared here");
          return {};
        }
        outputs[i].value = checker.concat({forward, back},
                                          forward.own().size() - 1, call.range);
      }
    sequences = outputs;
  }

  auto join = [&](std::vector<Item> items) -> Item {
    if (items.size() == 1)
      return {items.front().value, call.range};
    return {Tuple{std::move(items)}, call.range};
  };
  std::vector<Item> finals;
  for (ArrayRef<Tensor> parts : states)
    finals.push_back(
        {layered ? checker.stack(parts, 0, call.range) : parts[0], call.range});
  return join({join(std::move(outputs)), join(std::move(finals))});
}
