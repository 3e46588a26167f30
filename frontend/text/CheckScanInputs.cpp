// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckScanInputs.cpp - What a scan or step is given -----------------===//

#include "frontend/text/CheckRecurrence.h"
#include "frontend/text/Operations.h"

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
    checks
        .error(call.steps->range,
               "`steps` is for a cell that is given no sequence")
        .hint("leave `steps` out: a sequence has its own length");
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
  Value count = lengths->tensor.value;
  if (std::optional<Size> known = knownSize(count)) {
    if (!requireWithin(checker, *known, *time, call.lengths->range,
                       "lengths is " + known->str() + ", found a size of " +
                           time->str()))
      return false;
  } else {
    checker.requireValues(count, *time, /*inclusive=*/true);
  }
  Shape padded(own.begin(), own.end());
  padded.resize(extras.size(), Size(1));
  lengths->tensor = checker.enterCallee(
      checker.reshapeOwn(lengths->tensor, padded, call.range), extras.size(),
      extras.size(), {}, call.range);
  return true;
}
