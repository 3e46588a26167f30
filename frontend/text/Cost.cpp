// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Cost.cpp - Operations and bytes of a program -----------------------===//

#include "frontend/text/Cost.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <map>

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

class Counter {
public:
  bool count(const Graph &graph, const Size &times) {
    return llvm::all_of(graph.nodes, [&](const std::unique_ptr<Node> &node) {
      return count(*node, times);
    });
  }

  std::array<Size, partCount> parts;

private:
  /// Adds factor * work * times; false on overflow.
  bool add(Part part, int64_t factor, std::optional<Size> work,
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
    std::optional<Size> sum = Size::add(parts[part], *total);
    if (!sum)
      return false;
    parts[part] = *sum;
    return true;
  }

  bool count(const Node &node, const Size &times) {
    switch (node.kind) {
    case Node::Kind::Elementwise:
      return add(Elementwise, 1, elementCount(node.results[0]), times);
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
      return add(Products, 2, product(sizes), times);
    }
    case Node::Kind::Convolution: {
      const TensorType &weight = node.operands[1].type();
      auto outputs = elementCount(node.results[0]);
      auto taps = product({weight.shape[1], weight.shape[2]});
      if (!outputs || !taps)
        return false;
      return add(Convolutions, 2, Size::multiply(*outputs, *taps), times);
    }
    case Node::Kind::Reduce:
      return add(Reductions, 1, elementCount(node.operands[0].type()), times);
    case Node::Kind::Softmax:
    case Node::Kind::RowSoftmax:
      // maximum, subtraction, exponential, sum, division
      return add(Reductions, 5, elementCount(node.operands[0].type()), times);
    case Node::Kind::RowScores:
    case Node::Kind::RowValues: {
      // [T, S] times the width of a key or value.
      bool scores = node.kind == Node::Kind::RowScores;
      const TensorType &map =
          scores ? node.results[0] : node.operands[0].type();
      auto cells = elementCount(map);
      if (!cells)
        return false;
      return add(Scores, 2,
                 Size::multiply(*cells, node.operands[1].type().shape.back()),
                 times);
    }
    case Node::Kind::RowNeighbours: {
      auto width = cast<RowNeighboursNode>(node).width;
      return add(Elementwise, 2 * (width - 1), elementCount(node.results[0]),
                 times);
    }
    case Node::Kind::Recurrence:
      return countRecurrence(cast<RecurrenceNode>(node), times);
    case Node::Kind::Attention: {
      const auto &attention = cast<AttentionNode>(node);
      bodySizes[attention.querySymbol] = attention.querySize;
      bodySizes[attention.keySymbol] = attention.keySize;
      std::optional<Size> inside = product(attention.lead);
      if (inside)
        inside = Size::multiply(*inside, times);
      return inside && count(attention.body, *inside);
    }
    default:
      return true; // moves data, computes nothing
    }
  }

  bool countRecurrence(const RecurrenceNode &recurrence, const Size &times) {
    Size steps = recurrence.steps ? *recurrence.steps : Size();
    if (!recurrence.sequences.empty())
      steps = recurrence.sequences[0].type().shape[recurrence.timeAxis];
    std::optional<Size> inside = Size::multiply(times, steps);
    return inside && count(recurrence.body, *inside);
  }

  std::map<const Symbol *, Size> bodySizes;
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

std::optional<Cost> countCost(const Program &program) {
  Counter counter;
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
  auto inputs = bytesOf(llvm::map_range(
      program.inputs, [](const ProgramInput &input) { return input.type; }));
  auto results =
      bytesOf(llvm::map_range(program.results, [](const ProgramResult &result) {
        return result.value.type();
      }));
  if (!inputs || !results)
    return std::nullopt;
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
