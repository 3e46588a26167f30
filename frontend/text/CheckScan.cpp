// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckScan.cpp - One layer of a cell in one direction ---------------===//

#include "frontend/text/CheckRecurrence.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// What is given
//===----------------------------------------------------------------------===//

bool CellPass::bindInputs(Body &body) {
  // Settings, and dimensions by name. In a further layer a dimension that only
  // the first input has is that of the layer below.
  auto isInputOnly = [&](StringRef name) {
    Body empty(declaration, facts, body.file);
    auto mentions = [&](const TypeSyntax &type) {
      return llvm::any_of(type.shape, [&](const ExpressionPtr &expression) {
        return llvm::is_contained(checks.unknownNames(empty, *expression),
                                  name);
      });
    };
    bool inFirst = false;
    for (const InputSyntax &input : declaration.inputs) {
      if (!input.type || !mentions(*input.type))
        continue;
      if (&input != inputs.front().syntax)
        return false;
      inFirst = true;
    }
    for (const StateSyntax *state : facts.states)
      if (mentions(state->type))
        return false;
    for (const ResultSyntax &result : declaration.results)
      if (mentions(result.type))
        return false;
    return inFirst;
  };

  std::vector<Item> items = sequences;
  llvm::append_range(items, call.with);
  size_t next = 0;
  for (const InputSyntax &syntax : declaration.inputs)
    if (syntax.type) {
      Input &input = inputs.emplace_back();
      input.syntax = &syntax;
      input.isSequence = !call.single && next < sequences.size();
      ++next;
    }
  for (const EvaluatedArgument &argument : instance.settings)
    if (!isFurtherLayer || inputs.empty() ||
        !facts.isDimension(argument.name->name) ||
        !isInputOnly(argument.name->name))
      checks.bindGiven(body, argument, instance.name.name);

  bool good = true;
  std::vector<GivenTensor> given;
  auto take = [&](Input &input, const Item &item, StringRef name,
                  const TypeSyntax &type, Range declared) {
    std::optional<Tensor> tensor =
        checks.asTensor(item, checks.elementOf(type),
                        "`" + name + "` of `" + instance.calleeName + "`");
    if (!tensor) {
      good = false;
      return;
    }
    input.tensor = *tensor;
    GivenTensor entry;
    entry.name = name;
    entry.type = &type;
    entry.declared = declared;
    entry.item = {*tensor, item.range};
    good &= checks.givenTensor(entry, input.extraRank, input.tensor,
                               input.isSequence);
    given.push_back(std::move(entry));
  };
  for (auto [input, item] : llvm::zip(inputs, items))
    take(input, item, input.syntax->name.name, *input.syntax->type,
         input.syntax->range);
  if (initial)
    for (auto [state, item] : llvm::zip(facts.states, *initial))
      take(initialInputs.emplace_back(), item, state->name.name, state->type,
           state->name.range);
  return good && checks.bindShapes(body, given);
}

bool CellPass::findTime() {
  StringRef name = instance.name.name;
  if (call.single)
    return true;
  const Input *first = nullptr;
  for (const Input &input : inputs) {
    if (!input.isSequence)
      continue;
    const Size &steps = input.tensor.own()[input.extraRank];
    if (!time) {
      time = steps;
      first = &input;
      continue;
    }
    std::string message =
        ("the sequences of `" + name + "` have " + time->str() + " steps in `" +
         first->syntax->name.name + "` and " + steps.str() + " in `" +
         input.syntax->name.name + "`")
            .str();
    if (!checker.requireEqual(*time, steps, call.range, message,
                              [&] { checks.error(call.range, message); }))
      return false;
  }
  if (time && call.steps) {
    checks.error(call.steps->range,
                 "`steps` is for a cell that is given no sequence");
    return false;
  }
  if (!time && !call.steps) {
    checks.error(call.range, "`scan` needs a sequence, or `steps=`")
        .hint("write `scan(" + name + ", x)` or `scan(" + name + ", steps=n)`");
    return false;
  }
  if (!time)
    time = checker.wholeSize(*call.steps, "`steps`");
  return time.has_value();
}

bool CellPass::findLead() {
  // The caller's lead, and the extras, each broadcast together.
  llvm::SmallVector<ArrayRef<Size>> callers, own;
  auto add = [&](const Input &input) {
    callers.push_back(input.tensor.lead());
    own.push_back(input.tensor.own().take_front(input.extraRank));
  };
  for (const Input &input : inputs)
    add(input);
  for (const Input &input : initialInputs)
    add(input);
  if (resets)
    add(*resets);
  if (lengths)
    callers.push_back(lengths->tensor.lead());
  std::optional<Shape> caller =
      checks.commonShape(callers, instance.name.name, call.range);
  std::optional<Shape> common =
      checks.commonShape(own, instance.name.name, call.range);
  if (!caller || !common)
    return false;
  extras = *common;
  lead = *caller;
  llvm::append_range(lead, extras);
  return true;
}

bool CellPass::bindResets() {
  if (!call.resets)
    return true;
  std::optional<Tensor> tensor =
      checks.asTensor(*call.resets, Element::Bool, "`reset`");
  if (!tensor)
    return false;
  std::string message = "reset is " + checker.describe(*call.resets) +
                        ", expected [.., " + time->str() +
                        "], one for each step";
  auto report = [&] { checks.error(call.resets->range, message); };
  if (tensor->own().empty()) {
    report();
    return false;
  }
  resets.emplace();
  resets->tensor = *tensor;
  resets->extraRank = tensor->own().size() - 1;
  return checker.requireEqual(tensor->own().back(), *time, call.resets->range,
                              message, report);
}

bool CellPass::bindLengths() {
  if (!lengths)
    return true;
  ArrayRef<Size> own = lengths->tensor.own();
  std::string message = "lengths is " + checker.describe(own) +
                        ", expected the first of " + checker.describe(extras);
  auto report = [&] { checks.error(call.lengths->range, message); };
  if (own.size() > extras.size()) {
    report();
    return false;
  }
  for (auto [size, expected] : llvm::zip(own, extras))
    if (!checker.requireEqual(size, expected, call.lengths->range, message,
                              report))
      return false;
  checker.requireValues(lengths->tensor.value, *time, /*inclusive=*/true);
  Shape padded(own.begin(), own.end());
  padded.resize(extras.size(), Size(1));
  lengths->tensor = checker.enterCallee(
      checker.reshapeOwn(lengths->tensor, padded, call.range), extras.size(),
      extras.size(), {}, call.range);
  return true;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

bool CellPass::startStates(Body &body) {
  std::optional<std::vector<StateSlot>> found = checks.statesOf(body);
  if (!found)
    return false;
  slots = std::move(*found);
  for (auto [number, slot] : llvm::enumerate(slots)) {
    slot.next.reset();
    slot.nextRange = Range();
    bool isNumber = slot.initial.number() || slot.initial.boolean();
    std::optional<Tensor> declared =
        isNumber ? checks.asTensor(slot.initial, slot.type.element,
                                   "the initial value")
                 : checks.stateValue(body, slot, slot.initial,
                                     "the initial value of `" +
                                         slot.syntax->name.name + "`");
    if (!declared)
      return false;
    declaredStarts.push_back(full(*declared, slot.type.shape));
    if (!initial) {
      starts.push_back(declaredStarts.back());
      continue;
    }
    Input &input = initialInputs[number];
    Tensor start =
        checker.enterCallee(input.tensor, input.extraRank, extras.size(),
                            slot.type.shape, call.range);
    starts.push_back(full(start, slot.type.shape));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

bool CellPass::run() {
  Body body(declaration, facts, *instance.file);
  body.use = call.range;
  body.instance = &instance;
  body.isEntry = &declaration == checks.entryDeclaration;
  if (!bindInputs(body) || !findTime() || !bindResets())
    return false;
  if (call.lengths) {
    const Item &item = *call.lengths;
    const Tensor *tensor = item.tensor();
    if (tensor ? !isInteger(tensor->element()) : !item.number()) {
      checks.error(item.range,
                   "lengths must be integers, found " + checker.describe(item));
      return false;
    }
    std::optional<Tensor> integers =
        checks.asTensor(item, Element::I64, "`lengths`");
    if (!integers)
      return false;
    lengths.emplace();
    lengths->tensor = *integers;
  }
  if (!findLead() || !bindLengths())
    return false;

  for (Input &input : inputs) {
    Binding binding;
    binding.kind = Binding::Kind::Input;
    binding.declared = input.syntax->name.range;
    binding.item = {Erroneous(), call.range};
    std::optional<Shape> own = checks.shapeOf(body, *input.syntax->type);
    if (!own)
      return false;
    if (input.isSequence)
      own->insert(own->begin(), *time);
    input.tensor = checker.enterCallee(input.tensor, input.extraRank,
                                       extras.size(), *own, call.range);
    // Of a step too, the initial values are not made of its input.
    bool differs = &input < inputs.data() + sequences.size();
    if (!differs)
      binding.item.value = input.tensor;
    body.names[input.syntax->name.name.str()] = std::move(binding);
  }
  if (!startStates(body))
    return false;
  body.givenStates = &slots;
  return call.single ? runStep(body) : runScan(body);
}

bool CellPass::runStep(Body &body) {
  for (const Input &input : inputs)
    body.find(input.syntax->name.name)->item.value = input.tensor;
  for (auto [slot, start] : llvm::zip(slots, starts))
    slot.current = {start, slot.syntax->name.range};
  std::optional<std::vector<Item>> results = checks.run(body);
  if (!results)
    return false;
  for (const Item &item : *results)
    outputs.push_back(
        {checker.leaveCallee(*item.tensor(), extras, call.range), call.range});
  for (const StateSlot &slot : body.states)
    states.push_back(
        {checker.leaveCallee(full(*slot.next->tensor(), slot.type.shape),
                             extras, call.range),
         call.range});
  return true;
}

bool CellPass::findUntil(std::optional<unsigned> &until) {
  if (!call.until)
    return true;
  std::vector<StringRef> candidates;
  for (auto [number, slot] : llvm::enumerate(slots)) {
    StringRef name = slot.syntax->name.name;
    if (slot.type.element == Element::Bool && slot.type.shape.empty())
      candidates.push_back(name);
    if (name == *call.until)
      until = number;
  }
  if (until && llvm::is_contained(candidates, StringRef(*call.until)))
    return true;
  if (until)
    checks
        .error(call.untilRange,
               "`until` needs a state bool[], found `" + *call.until + "` " +
                   str(slots[*until].type, checker.floatType()))
        .note(slots[*until].syntax->name.range, "declared here");
  else
    checks
        .error(call.untilRange, "`" + instance.calleeName + "` has no state `" +
                                    *call.until + "`")
        .suggest(*call.until, candidates);
  return false;
}

bool CellPass::runScan(Body &body) {
  auto node = std::make_unique<RecurrenceNode>();
  node->timeAxis = lead.size();
  node->reverse = backward;
  if (!findUntil(node->until))
    return false;
  if (sequences.empty())
    node->steps = time;
  if (lengths)
    node->lengths = full(lengths->tensor, {}).value;
  if (resets)
    node->resets = full(checker.enterCallee(resets->tensor, resets->extraRank,
                                            extras.size(), {*time}, call.range),
                        {*time})
                       .value;

  auto argument = [&](Element element, ArrayRef<Size> own, Value source) {
    Graph *outer = checker.setGraph(&node->body);
    auto &made = checker.make<ArgumentNode>(call.range);
    checker.setGraph(outer);
    made.number = node->body.arguments.size();
    TensorType type{element, lead};
    llvm::append_range(type.shape, own);
    made.results.push_back(std::move(type));
    Value value{&made, 0};
    node->body.arguments.push_back(value);
    if (source)
      checks.argumentSources[&made] = source;
    return Tensor{value, unsigned(lead.size())};
  };
  for (Input &input : inputs) {
    if (!input.isSequence)
      continue;
    Shape own(input.tensor.own().begin(), input.tensor.own().end());
    Tensor sequence = full(input.tensor, own);
    node->sequences.push_back(sequence.value);
    body.find(input.syntax->name.name)->item.value =
        argument(input.tensor.element(), ArrayRef<Size>(own).drop_front(),
                 sequence.value);
  }
  for (auto [slot, start, declared] :
       llvm::zip(slots, starts, declaredStarts)) {
    node->initials.push_back(start.value);
    if (resets)
      node->resetStates.push_back(declared.value);
    slot.current = {argument(slot.type.element, slot.type.shape, Value()),
                    slot.syntax->name.range};
  }

  Graph *outer = checker.setGraph(&node->body);
  std::optional<std::vector<Item>> results = checks.run(body);
  if (results) {
    for (const Item &item : *results) {
      const Tensor &tensor = *item.tensor();
      Shape own(tensor.own().begin(), tensor.own().end());
      node->body.results.push_back(full(tensor, own).value);
      TensorType type{tensor.element(), lead};
      type.shape.push_back(*time);
      llvm::append_range(type.shape, own);
      node->results.push_back(std::move(type));
    }
    for (const StateSlot &slot : body.states) {
      node->body.results.push_back(
          full(*slot.next->tensor(), slot.type.shape).value);
      TensorType type{slot.type.element, lead};
      llvm::append_range(type.shape, slot.type.shape);
      node->results.push_back(std::move(type));
    }
  }
  checker.setGraph(outer);
  if (!results)
    return false;

  RecurrenceNode *made = node.get();
  checks.append(std::move(node), call.range);
  unsigned callerRank = lead.size() - extras.size();
  for (unsigned i = 0; i < made->results.size(); ++i)
    (i < results->size() ? outputs : states)
        .push_back({Tensor{{made, i}, callerRank}, call.range});
  return true;
}
