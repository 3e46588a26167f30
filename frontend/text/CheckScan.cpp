// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckScan.cpp - One layer of a cell in one direction ---------------===//

#include "frontend/text/CheckRecurrence.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

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
  else {
    Diagnostic &diagnostic = checks.error(
        call.untilRange,
        "`" + instance.calleeName + "` has no state `" + *call.until + "`");
    diagnostic.suggest(*call.until, candidates);
    if (diagnostic.hints.empty())
      diagnostic.hint(
          candidates.empty()
              ? "declare a state bool[] in `" + instance.calleeName + "`"
              : "its states bool[]: `" + llvm::join(candidates, "`, `") + "`");
  }
  return false;
}

/// Lets a state to which rows are appended, and nothing else is done, round
/// these where its text says that it has 16 bits, as a model's state does.
static void roundRows(const StateSlot &slot, Value before, Value next) {
  if (!slot.syntax->type.element || !isHalf(slot.type.element))
    return;
  llvm::SmallVector<AppendNode *> appended;
  while (auto *append = llvm::dyn_cast<AppendNode>(next.node)) {
    appended.push_back(append);
    next = append->operands.front();
  }
  if (next.node == before.node)
    for (AppendNode *append : appended)
      append->rounds = true;
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

  auto argument = [&](Element element, ArrayRef<Size> own, Value source,
                      StringRef name = "") {
    Graph *outer = checker.setGraph(&node->body);
    auto &made = checker.make<ArgumentNode>(call.range);
    checker.setGraph(outer);
    made.number = node->body.arguments.size();
    made.name = name.str();
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
    slot.current = {argument(slot.type.element, slot.type.shape, start.value,
                             slot.syntax->name.name),
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
    unsigned number = node->sequences.size();
    for (const StateSlot &slot : body.states) {
      node->body.results.push_back(
          full(*slot.next->tensor(), slot.type.shape).value);
      roundRows(slot, node->body.arguments[number++],
                node->body.results.back());
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
