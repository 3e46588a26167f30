// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckEntryInputs.cpp - Inputs and results of a program -------------===//

#include "frontend/text/CheckEntry.h"
#include "frontend/text/SyntaxWalk.h"
#include "llvm/ADT/DenseSet.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Leading dimensions
//===----------------------------------------------------------------------===//

/// A size that --dim may fix, of no dimension of the declaration.
Size EntryBuilder::openSize(StringRef name) {
  std::string unique = name.str();
  for (unsigned i = 2;
       facts.isDimension(unique) || llvm::is_contained(leadNames, unique); ++i)
    unique = (name + Twine(i)).str();
  leadNames.push_back(unique);
  auto given = options.dimensions.find(unique);
  if (given != options.dimensions.end() && given->second >= 0) {
    usedDimensions.insert(unique);
    return Size(given->second);
  }
  return Size(checks.newSymbol(unique));
}

bool EntryBuilder::nameLead() {
  if (declaration.kind == DeclarationKind::Model)
    return true;
  unsigned rank = options.leadRank;
  for (const auto &[input, ownRank] : options.leadRanks)
    rank = std::max(rank, ownRank);
  constexpr unsigned maximumRank = 16;
  if (rank > maximumRank) {
    checks.error(place, "an entry has at most " + Twine(maximumRank) +
                            " leading dimensions, found " + Twine(rank));
    return false;
  }
  bool isAttention = declaration.kind == DeclarationKind::Attention;
  for (unsigned i = 0; i < rank; ++i)
    lead.push_back(
        openSize(isAttention && i > 0 && i + 1 == rank ? "heads" : "B"));
  bool isGrouped = llvm::any_of(callOptions, [](const auto &option) {
    const bool *value = option.item.boolean();
    return option.name->name == "gqa" && value && *value;
  });
  if (isAttention && isGrouped && rank)
    keyHeads = openSize("key_heads");
  if (declaration.kind == DeclarationKind::Cell && takesSequence())
    time = openSize("T");
  return true;
}

bool EntryBuilder::mentions(const TypeSyntax &type, StringRef dimension) const {
  bool found = false;
  for (const ExpressionPtr &size : type.shape)
    walk(*size, [&](const Expression &expression) {
      auto *use = llvm::dyn_cast<NameExpression>(&expression);
      found |= use && use->name == dimension;
    });
  return found;
}

Shape EntryBuilder::leadOf(const InputSyntax &input) {
  size_t rank = std::min<size_t>(options.leadRank, lead.size());
  auto given = options.leadRanks.find(input.name.name.str());
  if (given != options.leadRanks.end())
    rank = std::min<size_t>(given->second, lead.size());
  ArrayRef<Size> last = ArrayRef<Size>(lead).take_back(rank);
  Shape shape(last.begin(), last.end());
  if (keyHeads && rank && mentions(*input.type, "S"))
    shape.back() = *keyHeads;
  return shape;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Tensor EntryBuilder::addInput(StringRef name, TensorType type, Range range) {
  return checks.addInput(name, std::move(type), range);
}

Tensor Checker::Implementation::addInput(StringRef name, TensorType type,
                                         Range range) {
  Program &program = checker.program();
  if (program.inputs.size() >= maximumInputs)
    exhaust(range,
            "`" + program.name + "` has more than " + Twine(maximumInputs) +
                " inputs and states",
            "stack tensors of one shape");
  Graph *inner = std::exchange(graph, &program.body);
  auto &node = checker.make<InputNode>(range);
  graph = inner;
  node.input = program.inputs.size();
  node.results.push_back(type);
  ProgramInput input;
  input.name = name.str();
  input.type = std::move(type);
  input.range = range;
  program.inputs.push_back(std::move(input));
  return {{&node, 0}, 0};
}

Item Checker::Implementation::makeStateInput(const StateSlot &slot) {
  TensorType type = slot.type;
  // States between runs are kept in f32 where the model's float type is
  // smaller, but for caches of which the text says otherwise (keepCache).
  if (type.element == Element::F16 || type.element == Element::BF16)
    type.element = Element::F32;
  Range range = slot.syntax->name.range;
  Tensor tensor = addInput(slot.syntax->name.name, type, range);
  ProgramInput &input = checker.program().inputs.back();
  input.isState = true;
  const Number *number = slot.initial.number();
  if (const bool *value = slot.initial.boolean())
    input.initial = *value;
  else if (number && number->isFixed())
    input.initial = number->kind == Number::Kind::Whole
                        ? static_cast<double>(number->whole)
                        : number->real;
  else
    input.hasInitial = false;
  return {checker.convert(tensor, slot.type.element, range), range};
}

bool EntryBuilder::addInputs(std::optional<Size> timeOfFirst) {
  bool good = true;
  for (const InputSyntax &input : declaration.inputs) {
    if (!input.type)
      continue;
    std::optional<Shape> own = checks.shapeOf(scope, *input.type);
    if (!own) {
      good = false;
      continue;
    }
    Shape shape = leadOf(input);
    if (timeOfFirst && inputs.empty())
      shape.push_back(*timeOfFirst);
    llvm::append_range(shape, *own);
    Tensor tensor =
        addInput(input.name.name, {checks.elementOf(*input.type), shape},
                 input.name.range);
    inputs.push_back({&input, {tensor, input.name.range}});
  }
  for (const auto &[name, rank] : options.leadRanks) {
    (void)rank;
    if (!facts.input(name) || !facts.input(name)->type) {
      checks.error(place, "`" + declaration.name.name + "` has no input `" +
                              name + "`");
      good = false;
    }
  }
  return good;
}

/// Input `number` as its declaration sees it: leading dimensions are the lead.
Item EntryBuilder::ownView(size_t number) {
  Item item = inputs[number].item;
  auto &tensor = std::get<Tensor>(item.value);
  tensor.leadRank =
      tensor.own().size() - inputs[number].syntax->type->shape.size();
  return item;
}

bool EntryBuilder::addTensorOptions() {
  bool isCell = declaration.kind == DeclarationKind::Cell;
  std::vector<StringRef> known =
      isCell ? std::vector<StringRef>{"lengths", "reset"}
             : std::vector<StringRef>{"lengths", "mask", "bias", "offset",
                                      "segments"};
  bool good = true;
  for (const auto &[name, rank] : options.tensorOptions) {
    if (!llvm::is_contained(known, name)) {
      checks
          .error(place, "`" + declaration.name.name +
                            "` has no input or option `" + name + "`")
          .suggest(name, known);
      good = false;
      continue;
    }
    size_t first = std::min<size_t>(rank.value_or(1), lead.size());
    Shape leading(lead.begin(), lead.begin() + first);
    auto give = [&](StringRef option, Item item) {
      names.push_back(option.str());
      tensorOptions.push_back(
          {Identifier{names.back(), place}, std::move(item), nullptr});
    };
    // Of an attention [lead.., T, S], of a cell [lead.., T]; the last ones.
    Shape whole = lead;
    if (isCell) {
      if (inputs.empty())
        continue;
      const Tensor &sequence = *inputs.front().item.tensor();
      whole.push_back(
          sequence.own()[sequence.own().size() - 1 -
                         inputs.front().syntax->type->shape.size()]);
    } else {
      whole.push_back(scope.dimensions["T"].size);
      whole.push_back(scope.dimensions["S"].size);
    }
    size_t last = std::min<size_t>(rank.value_or(whole.size()), whole.size());
    Shape trailing(whole.end() - last, whole.end());
    if (name == "lengths" || name == "offset")
      give(name, {addInput(name, {Element::I64, leading}, place), place});
    else if (name == "mask" || name == "reset")
      give(name, {addInput(name, {Element::Bool, trailing}, place), place});
    else if (name == "bias")
      give(name,
           {addInput(name, {checker.floatType(), trailing}, place), place});
    else {
      Tuple pair;
      for (StringRef side : {"T", "S"}) {
        Shape shape = leading;
        shape.push_back(scope.dimensions[side.str()].size);
        pair.elements.push_back(
            {addInput(side == "T" ? "query_segments" : "key_segments",
                      {Element::I64, shape}, place),
             place});
      }
      give(name, {std::move(pair), place});
    }
  }
  return good;
}

std::vector<EvaluatedArgument> EntryBuilder::settings() {
  std::vector<EvaluatedArgument> arguments;
  for (const InputSyntax &input : declaration.inputs)
    if (!input.type)
      if (Binding *binding = scope.find(input.name.name))
        arguments.push_back(
            {Identifier{input.name.name, place}, binding->item, nullptr});
  for (const auto &[name, value] : options.dimensions)
    if (facts.isDimension(name))
      arguments.push_back({Identifier{facts.nameOf(name), place},
                           checks.numberItem(value, place), nullptr});
  return arguments;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::vector<Item> EntryBuilder::split(const Item &item, size_t count) {
  if (count != 1)
    if (const Tuple *tuple = item.tuple())
      return tuple->elements;
  return {item};
}

/// What a cache was before rows were appended to it, at once or in the steps of
/// a cell whose text says that it has 16 bits; null if it is none.
static Value *findBefore(Value next) {
  if (auto *append = llvm::dyn_cast<AppendNode>(next.node))
    return &append->operands.front();
  auto *recurrence = llvm::dyn_cast<RecurrenceNode>(next.node);
  if (!recurrence)
    return nullptr;
  unsigned states = recurrence->initials.size();
  unsigned outputs = recurrence->results.size() - states;
  if (next.index < outputs)
    return nullptr;
  Value inner = recurrence->body.results[next.index];
  while (auto *append = llvm::dyn_cast<AppendNode>(inner.node)) {
    if (!append->rounds)
      return nullptr;
    inner = append->operands.front();
  }
  unsigned state = next.index - outputs;
  Value before =
      recurrence->body.arguments[recurrence->sequences.size() + state];
  return inner.node == before.node ? &recurrence->initials[state] : nullptr;
}

/// Lets a state of 16-bit floats that becomes nothing but itself with rows
/// appended be of 16 bits at the interface, too. Says whether it is one.
bool EntryBuilder::keepCache(StringRef name, Value next) {
  Value *first = nullptr;
  while (Value *before = findBefore(next)) {
    first = before;
    next = *before;
  }
  auto *conversion = llvm::dyn_cast<ElementwiseNode>(next.node);
  if (!first || !conversion || conversion->op != ElementwiseOp::Convert)
    return false;
  Value given = conversion->operands.front();
  auto *input = llvm::dyn_cast<InputNode>(given.node);
  if (!input)
    return false;
  ProgramInput &state = checker.program().inputs[input->input];
  if (!state.isState || state.name != name)
    return false;
  input->results.front().element = state.type.element = next.type().element;
  *first = given;
  return true;
}

void EntryBuilder::addResult(StringRef name, const Item &item, Range range,
                             bool isState, bool keepsHalf) {
  const Tensor *tensor = item.tensor();
  if (!tensor)
    return;
  Program &program = checker.program();
  auto [other, isNew] = resultNames.try_emplace(name, range);
  if (!isNew) {
    // Of a cell only where it is the entry: `check` lists each cell of a file.
    if (options.allowUnknown && declaration.kind == DeclarationKind::Cell)
      return;
    checks.error(range, "two results are named `" + name + "`")
        .note(other->second, "the other one");
    return;
  }
  if (program.results.size() >= Implementation::maximumResults) {
    checks.exhaust(range,
                   "`" + program.name + "` has more than " +
                       Twine(Implementation::maximumResults) +
                       " results and states",
                   "stack tensors of one shape");
    return;
  }
  Tensor value = *tensor;
  if (isState && isHalf(value.element()) &&
      !(keepsHalf && keepCache(name, value.value)))
    value = checker.convert(value, Element::F32, range);
  program.results.push_back({name.str(), value.value, isState, range});
  program.body.results.push_back(value.value);
}

bool EntryBuilder::addResults(std::vector<Item> items) {
  const auto &declared = declaration.results;
  for (auto [number, item] : llvm::enumerate(items)) {
    const ResultSyntax &result = declared[number];
    std::string name = "output";
    if (declared.size() > 1)
      name += std::to_string(number);
    if (result.name)
      name = result.name->name.str();
    addResult(name, item, result.name ? result.name->range : result.type.range,
              /*isState=*/false);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What no result depends on
//===----------------------------------------------------------------------===//

namespace {
class Sweeper {
public:
  void sweep(Graph &graph) {
    for (Value value : graph.results)
      use(value);
    for (auto &node : llvm::reverse(graph.nodes)) {
      bool isKept = llvm::isa<InputNode, ArgumentNode>(node.get());
      if (!isKept && !used.contains(node.get()))
        continue;
      used.insert(node.get());
      useOperands(*node);
    }
    llvm::erase_if(graph.nodes, [&](const auto &node) {
      return !used.contains(node.get());
    });
  }

private:
  void use(Value value) {
    if (value)
      used.insert(value.node);
  }
  void use(ArrayRef<Value> values) {
    for (Value value : values)
      use(value);
  }
  void useOperands(Node &node) {
    use(node.operands);
    if (auto *recurrence = llvm::dyn_cast<RecurrenceNode>(&node)) {
      use(recurrence->sequences);
      use(recurrence->initials);
      use(recurrence->resetStates);
      use(recurrence->lengths);
      use(recurrence->resets);
      sweep(recurrence->body);
    } else if (auto *attention = llvm::dyn_cast<AttentionNode>(&node)) {
      use(attention->queries);
      use(attention->keys);
      use(attention->pairs);
      use(attention->captures);
      for (Value value : {attention->lengths, attention->mask, attention->bias,
                          attention->offset, attention->querySegments,
                          attention->keySegments})
        use(value);
      sweep(attention->body);
    }
  }

  llvm::DenseSet<const Node *> used;
};
} // namespace

void gatefold::text::removeUnused(Program &program) {
  Sweeper().sweep(program.body);
}

bool gatefold::text::checkTensorSizes(const Graph &graph,
                                      Diagnostics &diagnostics) {
  constexpr int64_t maximum = Checker::Implementation::maximumElements;
  for (const auto &node : graph.nodes) {
    for (const TensorType &type : node->results) {
      int64_t elements = 1;
      for (const Size &size : type.shape)
        if (int64_t value = size.constant().value_or(1); value && elements)
          elements =
              value > maximum / elements ? maximum + 1 : elements * value;
      if (elements > maximum) {
        diagnostics.error(node->trace.place,
                          "the tensor " + str(type) + " here is too large");
        return false;
      }
    }
    const Graph *body = nullptr;
    if (auto *recurrence = llvm::dyn_cast<RecurrenceNode>(node.get()))
      body = &recurrence->body;
    else if (auto *attention = llvm::dyn_cast<AttentionNode>(node.get()))
      body = &attention->body;
    if (body && !checkTensorSizes(*body, diagnostics))
      return false;
  }
  return true;
}
