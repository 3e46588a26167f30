// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Cost.cpp - Operations and bytes of a program -----------------------===//

#include "frontend/text/Cost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <array>
#include <map>
#include <set>
#include <tuple>

using namespace llvm;

namespace gatefold::text {
namespace {

enum Part {
  Products,
  Convolutions,
  Scores,
  Elementwise,
  Reductions,
  partCount
};
constexpr StringRef partNames[partCount] = {"products", "convolutions",
                                            "scores and values", "elementwise",
                                            "reductions"};

enum Family {
  InAttentions,
  InRecurrences,
  OtherProducts,
  OtherConvolutions,
  Rest,
  familyCount
};
constexpr StringRef familyNames[familyCount] = {
    "attention", "recurrence", "products", "convolutions", "elementwise"};

std::optional<Size> product(ArrayRef<Size> sizes) {
  Size result(int64_t(1));
  for (const Size &size : sizes) {
    std::optional<Size> next = Size::multiply(result, size);
    if (!next)
      return std::nullopt;
    result = *next;
  }
  return result;
}

std::optional<Size> elementCount(const TensorType &type) {
  return product(type.shape);
}

int64_t elementBytes(Element element) {
  switch (element) {
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::F64:
  case Element::I64:
    return 8;
  case Element::Bool:
    return 1;
  }
  return 0;
}

/// Whether it is computed by a polynomial or by a unit for functions.
bool isFunction(ElementwiseOp op) {
  switch (op) {
  case ElementwiseOp::Power:
  case ElementwiseOp::Exp:
  case ElementwiseOp::Log:
  case ElementwiseOp::Sin:
  case ElementwiseOp::Cos:
  case ElementwiseOp::Tanh:
  case ElementwiseOp::Erf:
  case ElementwiseOp::Sigmoid:
  case ElementwiseOp::LogSigmoid:
  case ElementwiseOp::Softplus:
  case ElementwiseOp::Silu:
  case ElementwiseOp::Gelu:
    return true;
  default:
    return false;
  }
}

/// How many softmaxes are mixed in a value of an attention's body.
int64_t countSoftmaxes(Value value) {
  std::set<const Node *> seen;
  SmallVector<const Node *> open = {value.node};
  int64_t count = 0;
  while (!open.empty()) {
    const Node *node = open.pop_back_val();
    if (!seen.insert(node).second)
      continue;
    if (node->kind == Node::Kind::RowSoftmax) {
      ++count;
      continue;
    }
    for (Value operand : node->operands)
      open.push_back(operand.node);
  }
  return count;
}

/// What is computed once before a row is multiplied, as differences of keys.
void findFoldedScores(const Graph &body, std::set<const Node *> &folded) {
  for (const std::unique_ptr<Node> &node : body.nodes) {
    if (node->kind != Node::Kind::RowNeighbours)
      continue;
    SmallVector<const Node *> open = {node->operands[0].node};
    while (!open.empty()) {
      const Node *inner = open.pop_back_val();
      if (inner->kind == Node::Kind::RowScores)
        folded.insert(inner);
      else if (inner->kind == Node::Kind::Elementwise)
        for (Value operand : inner->operands)
          open.push_back(operand.node);
    }
  }
}

/// Whether both come from the same place, by the same calls.
bool areAlike(const Trace &left, const Trace &right) {
  const Trace *one = &left, *other = &right;
  for (; one && other; one = one->caller.get(), other = other->caller.get())
    if (one->place.file != other->place.file ||
        one->place.begin != other->place.begin)
      return false;
  return one == other;
}

/// Whether one number fills it, which needs no memory to be read from.
bool isFilling(Value value) {
  while (value.node->kind == Node::Kind::Broadcast)
    value = value.node->operands[0];
  return value.node->kind == Node::Kind::Constant;
}

class Counter {
public:
  explicit Counter(function_ref<int64_t(const Trace &)> countBarriers)
      : countBarriers(countBarriers) {}

  bool count(const Graph &graph, const Size &times) {
    return llvm::all_of(graph.nodes, [&](const std::unique_ptr<Node> &node) {
      return count(*node, times);
    });
  }

  std::array<Size, partCount> parts;
  std::array<CostFamily, familyCount> families;

private:
  /// Adds factor * work * times; false on overflow.
  bool add(Size &to, int64_t factor, std::optional<Size> work,
           const Size &times) {
    if (!work)
      return false;
    std::optional<Size> total = product({Size(factor), *work, times});
    if (!total)
      return false;
    // Symbols of an attention's body stand for its own T and S.
    total = total->substitute([&](const Symbol *symbol) -> std::optional<Size> {
      auto known = bodySizes.find(symbol);
      return known == bodySizes.end() ? Size(symbol) : known->second;
    });
    if (!total)
      return false;
    std::optional<Size> sum = Size::add(to, *total);
    if (!sum)
      return false;
    to = *sum;
    return true;
  }

  /// The 16-bit type in which a value lies in memory, or could lie without
  /// another rounding: of what is computed nothing.
  std::optional<Element> findHalf(Value value) const {
    const Node *node = value.node;
    Element element = value.type().element;
    switch (node->kind) {
    case Node::Kind::Input:
    case Node::Kind::Parameter:
      return isHalf(element) ? std::optional(element) : std::nullopt;
    case Node::Kind::Argument: {
      auto source = sources.find(node);
      return source == sources.end() ? std::nullopt : findHalf(source->second);
    }
    case Node::Kind::Elementwise: {
      const auto &elementwise = cast<ElementwiseNode>(*node);
      if (elementwise.op != ElementwiseOp::Convert)
        return std::nullopt;
      if (elementwise.rounds && isHalf(element))
        return element;
      return findHalf(node->operands[0]);
    }
    case Node::Kind::Append: {
      std::optional<Element> found = findHalf(node->operands[0]);
      if (found && !cast<AppendNode>(*node).rounds &&
          findHalf(node->operands[1]) != found)
        return std::nullopt;
      return found;
    }
    case Node::Kind::Concat: {
      std::optional<Element> found = findHalf(node->operands[0]);
      bool areAlike = llvm::all_of(node->operands, [&](const Value &operand) {
        return findHalf(operand) == found;
      });
      return areAlike ? found : std::nullopt;
    }
    case Node::Kind::Reshape:
    case Node::Kind::Permute:
    case Node::Kind::Slice:
    case Node::Kind::Broadcast:
    case Node::Kind::Pad:
    case Node::Kind::Flip:
    case Node::Kind::Take:
      return findHalf(node->operands[0]);
    default:
      return std::nullopt;
    }
  }
  /// Where the operations of a product of such operands belong.
  static Size &productsOf(CostFamily &family, std::optional<Element> left,
                          std::optional<Element> right) {
    if (left && right)
      return left == right ? family.halfProducts : family.mixedProducts;
    return left || right ? family.mixedProducts : family.products;
  }

  /// What belongs to an attention or a recurrence does so whatever it is.
  CostFamily &family(Family elsewhere) {
    return families[around.value_or(elsewhere)];
  }
  bool addBytes(Family to, const TensorType &type, const Size &times) {
    return add(families[to].bytes, elementBytes(type.element),
               elementCount(type), times);
  }
  /// Of values outside of attentions and recurrences, each once in a family,
  /// however many of its operations read it, as both directions of a layer do.
  template <typename Range>
  bool addBytes(Family to, const Range &values, const Size &times) {
    return llvm::all_of(values, [&](const Value &value) {
      return !value || isFilling(value) ||
             !moved.insert({to, value.node, value.index}).second ||
             addBytes(to, value.type(), times);
    });
  }
  /// Operations on the elements of a product, whose tensors count where nothing
  /// around it counts them.
  bool addProduct(Part part, Family elsewhere, const Node &node,
                  std::optional<Size> multiplications, const Size &times) {
    Size &to = productsOf(family(elsewhere), findHalf(node.operands[0]),
                          findHalf(node.operands[1]));
    if (!add(parts[part], 2, multiplications, times) ||
        !add(to, 2, multiplications, times))
      return false;
    if (around)
      return true;
    return addBytes(elsewhere, node.operands, times) &&
           addBytes(elsewhere, node.results[0], times);
  }
  bool addElementwise(Part part, int64_t factor, std::optional<Size> work,
                      const Size &times, int64_t functions) {
    CostFamily &to = family(Rest);
    return add(parts[part], factor, work, times) &&
           add(to.functions, functions, work, times) &&
           add(to.elementwise, factor - functions, work, times);
  }

  bool count(const Node &node, const Size &times) {
    switch (node.kind) {
    case Node::Kind::Elementwise:
      return addElementwise(Elementwise, 1, elementCount(node.results[0]),
                            times, isFunction(cast<ElementwiseNode>(node).op));
    case Node::Kind::Contract: {
      // Every distinct label once.
      const auto &contract = cast<ContractNode>(node);
      std::map<int64_t, Size> labels;
      auto note = [&](ArrayRef<int64_t> names, const TensorType &type) {
        for (auto [name, size] : llvm::zip(names, type.shape))
          if (name >= 0)
            labels.try_emplace(name, size);
      };
      note(contract.leftLabels, node.operands[0].type());
      note(contract.rightLabels, node.operands[1].type());
      SmallVector<Size> sizes;
      for (auto &[name, size] : labels)
        sizes.push_back(size);
      return addProduct(Products, OtherProducts, node, product(sizes), times);
    }
    case Node::Kind::Convolution: {
      const TensorType &weight = node.operands[1].type();
      auto outputs = elementCount(node.results[0]);
      auto taps = product({weight.shape[1], weight.shape[2]});
      if (!outputs || !taps)
        return false;
      return addProduct(Convolutions, OtherConvolutions, node,
                        Size::multiply(*outputs, *taps), times);
    }
    case Node::Kind::Reduce:
      return addElementwise(Reductions, 1,
                            elementCount(node.operands[0].type()), times, 0);
    case Node::Kind::Softmax:
    case Node::Kind::RowSoftmax:
      // maximum, subtraction, exponential, sum, division
      return addElementwise(Reductions, 5,
                            elementCount(node.operands[0].type()), times, 1);
    case Node::Kind::RowScores:
      return countScores(node, times);
    case Node::Kind::RowValues:
      return countValues(node, times);
    case Node::Kind::RowNeighbours: {
      auto width = cast<RowNeighboursNode>(node).width;
      return addElementwise(Elementwise, 2 * (width - 1),
                            elementCount(node.results[0]), times, 0);
    }
    case Node::Kind::Recurrence:
      return countRecurrence(cast<RecurrenceNode>(node), times);
    case Node::Kind::Attention:
      return countAttention(cast<AttentionNode>(node), times);
    case Node::Kind::Take:
      // The rows that are asked for.
      return around || (addBytes(Rest, node.results[0], times) &&
                        addBytes(Rest, node.results[0], times));
    case Node::Kind::Append: {
      // The rows that are new.
      const TensorType &rows = node.operands[1].type();
      return around ||
             (addBytes(Rest, rows, times) && addBytes(Rest, rows, times));
    }
    default:
      return true; // moves data, computes nothing
    }
  }

  /// [T, S] of `map` times the width of a key or value; `softmaxes` times where
  /// softmaxes are kept apart. `matrix`: the 16 bits of keys or values, and
  /// `row`: of what they meet.
  bool countRowProduct(const Node &node, const TensorType &map,
                       int64_t softmaxes, std::optional<Element> row,
                       std::optional<Element> matrix, const Size &times) {
    auto cells = elementCount(map);
    if (!cells)
      return false;
    const TensorType &keys = node.operands[1].type();
    auto work = Size::multiply(*cells, keys.shape.back());
    CostFamily &to = family(InAttentions);
    // What is computed of 16 bits has 32.
    int64_t bytes = elementBytes(
        isHalf(keys.element) && !matrix ? Element::F32 : keys.element);
    return add(parts[Scores], 2, work, times) &&
           add(productsOf(to, row, matrix), 2 * softmaxes, work, times) &&
           add(to.keyBytes, bytes, work, times);
  }

  bool countScores(const Node &node, const Size &times) {
    std::optional<Element> query = findHalf(node.operands[0]);
    std::optional<Element> keys = findHalf(node.operands[1]);
    // Scales of the keys' columns become the query's.
    auto *scaled = dyn_cast<ElementwiseNode>(node.operands[1].node);
    if (scaled && scaled->op == ElementwiseOp::Multiply)
      for (auto [factor, other] :
           {std::pair(scaled->operands[0], scaled->operands[1]),
            std::pair(scaled->operands[1], scaled->operands[0])})
        if (other.type().rank() < factor.type().rank() && findHalf(factor)) {
          keys = findHalf(factor);
          query = std::nullopt;
        }
    if (folded.count(&node))
      keys = std::nullopt;
    return countRowProduct(node, node.results[0], 1, query, keys, times);
  }

  bool countValues(const Node &node, const Size &times) {
    int64_t softmaxes = countSoftmaxes(node.operands[0]);
    std::optional<Element> values = findHalf(node.operands[1]);
    // The powers of a softmax are rounded to what they meet.
    return countRowProduct(node, node.operands[0].type(),
                           std::max<int64_t>(softmaxes, 1),
                           softmaxes ? values : std::nullopt, values, times);
  }

  /// Arguments of a body, from the first on, stand for these.
  void noteSources(const Graph &body, unsigned first, ArrayRef<Value> values) {
    for (auto [argument, value] :
         llvm::zip(ArrayRef(body.arguments).drop_front(first), values))
      sources[argument.node] = value;
  }

  bool countAttention(const AttentionNode &attention, const Size &times) {
    bodySizes[attention.querySymbol] = attention.querySize;
    bodySizes[attention.keySymbol] = attention.keySize;
    std::optional<Size> inside = product(attention.lead);
    if (inside)
      inside = Size::multiply(*inside, times);
    if (!inside)
      return false;
    if (!around)
      for (const auto *values :
           {&attention.queries, &attention.keys, &attention.pairs})
        if (!addBytes(InAttentions, *values, times))
          return false;
    Value others[] = {attention.lengths,       attention.mask,
                      attention.bias,          attention.offset,
                      attention.querySegments, attention.keySegments};
    if (!around && !addBytes(InAttentions, others, times))
      return false;
    if (!around)
      for (const TensorType &result : attention.results)
        if (!addBytes(InAttentions, result, times))
          return false;
    unsigned first = 0;
    for (const auto *values : {&attention.queries, &attention.keys,
                               &attention.pairs, &attention.captures}) {
      noteSources(attention.body, first, *values);
      first += values->size();
    }
    findFoldedScores(attention.body, folded);
    llvm::SaveAndRestore<std::optional<Family>> within(
        around, around.value_or(InAttentions));
    return count(attention.body, *inside);
  }

  /// Parameters that the body of a recurrence reads, each once: what stays in
  /// the cores.
  bool addWeights(const Graph &body, std::set<const Node *> &seen) {
    return llvm::all_of(body.nodes, [&](const std::unique_ptr<Node> &node) {
      return llvm::all_of(node->operands, [&](const Value &operand) {
        return operand.node->kind != Node::Kind::Parameter ||
               !seen.insert(operand.node).second ||
               addBytes(InRecurrences, operand.type(), Size(int64_t(1)));
      });
    });
  }

  bool addBarriers(const RecurrenceNode &recurrence, const Size &steps) {
    // Directions of a layer stand one behind the other.
    bool isOther = lastDirection && recurrence.reverse &&
                   !lastDirection->reverse &&
                   areAlike(lastDirection->trace, recurrence.trace);
    lastDirection = &recurrence;
    int64_t each = countBarriers ? countBarriers(recurrence.trace) : 0;
    return isOther || each == 0 ||
           add(families[InRecurrences].barriers, each, Size(int64_t(1)), steps);
  }

  bool countRecurrence(const RecurrenceNode &recurrence, const Size &times) {
    Size steps = recurrence.steps ? *recurrence.steps : Size();
    if (!recurrence.sequences.empty())
      steps = recurrence.sequences[0].type().shape[recurrence.timeAxis];
    std::optional<Size> inside = Size::multiply(times, steps);
    if (!inside)
      return false;
    noteSources(recurrence.body, 0, recurrence.sequences);
    if (!addBarriers(recurrence, *inside))
      return false;
    std::set<const Node *> seen;
    Value others[] = {recurrence.lengths, recurrence.resets};
    if (!around && (!addBytes(InRecurrences, recurrence.sequences, times) ||
                    !addBytes(InRecurrences, others, times) ||
                    !addBytes(InRecurrences, recurrence.initials, times) ||
                    !addWeights(recurrence.body, seen)))
      return false;
    if (!around)
      for (const TensorType &result : recurrence.results)
        if (!addBytes(InRecurrences, result, times))
          return false;
    llvm::SaveAndRestore<std::optional<Family>> within(
        around, around.value_or(InRecurrences));
    return count(recurrence.body, *inside);
  }

  function_ref<int64_t(const Trace &)> countBarriers;
  std::map<const Symbol *, Size> bodySizes;
  /// What arguments of bodies are outside.
  std::map<const Node *, Value> sources;
  /// Scores whose keys are computed from several.
  std::set<const Node *> folded;
  const RecurrenceNode *lastDirection = nullptr;
  /// The attention or recurrence that is being counted.
  std::optional<Family> around;
  std::set<std::tuple<Family, const Node *, unsigned>> moved;
};

template <typename Range> std::optional<Size> bytesOf(const Range &types) {
  Size total;
  for (const TensorType &type : types) {
    auto count = elementCount(type);
    if (!count)
      return std::nullopt;
    auto bytes = Size::multiply(*count, Size(elementBytes(type.element)));
    if (!bytes)
      return std::nullopt;
    auto sum = Size::add(total, *bytes);
    if (!sum)
      return std::nullopt;
    total = *sum;
  }
  return total;
}

} // namespace

std::optional<Cost>
countCost(const Program &program,
          function_ref<int64_t(const Trace &)> countBarriers) {
  Counter counter(countBarriers);
  if (!counter.count(program.body, Size(int64_t(1))))
    return std::nullopt;
  Cost cost;
  for (int part = 0; part < partCount; ++part) {
    if (counter.parts[part].isConstant(0))
      continue;
    cost.parts.push_back({partNames[part].str(), counter.parts[part]});
    auto sum = Size::add(cost.operations, counter.parts[part]);
    if (!sum)
      return std::nullopt;
    cost.operations = *sum;
  }
  for (int family = 0; family < familyCount; ++family) {
    CostFamily &found = counter.families[family];
    const Size *sizes[] = {&found.halfProducts, &found.mixedProducts,
                           &found.products,     &found.functions,
                           &found.elementwise,  &found.bytes};
    if (llvm::all_of(sizes,
                     [](const Size *size) { return size->isConstant(0); }))
      continue;
    found.what = familyNames[family].str();
    cost.families.push_back(std::move(found));
  }
  auto inputs = bytesOf(llvm::map_range(
      program.inputs, [](const ProgramInput &input) { return input.type; }));
  auto results =
      bytesOf(llvm::map_range(program.results, [](const ProgramResult &result) {
        return result.value.type();
      }));
  auto parameters = bytesOf(llvm::map_range(
      program.parameters,
      [](const ProgramParameter &parameter) { return parameter.type; }));
  if (!inputs || !results || !parameters)
    return std::nullopt;
  cost.parameterBytes = *parameters;
  cost.inputBytes = *inputs;
  cost.resultBytes = *results;
  return cost;
}

std::optional<double> evaluate(const Size &size, ArrayRef<int64_t> symbols) {
  std::optional<Size> value =
      size.substitute([&](const Symbol *symbol) -> std::optional<Size> {
        if (symbol->index < 0 || size_t(symbol->index) >= symbols.size())
          return std::nullopt;
        return Size(symbols[symbol->index]);
      });
  if (!value || !value->constant())
    return std::nullopt;
  return double(*value->constant());
}

} // namespace gatefold::text
