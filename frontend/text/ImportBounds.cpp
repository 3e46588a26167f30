// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportBounds.cpp - Which integers may count and point --------------===//
//
// Lengths, indices and places are compiled where a run has checked them, or
// where the program shows what they can be.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Importer.h"
#include "llvm/Support/MathExtras.h"

using namespace gatefold::text;

std::optional<std::pair<int64_t, int64_t>> Importer::rangeOf(Value value,
                                                             unsigned &budget) {
  if (budget == 0 || !isInteger(value.type().element))
    return std::nullopt;
  --budget;
  auto operand = [&](unsigned number) {
    return rangeOf(value.node->operands[number], budget);
  };
  switch (value.node->kind) {
  case Node::Kind::Constant: {
    int64_t constant = llvm::cast<ConstantNode>(value.node)->integer;
    return std::make_pair(constant, constant);
  }
  case Node::Kind::Iota: {
    std::optional<int64_t> size = resolve(value.type().shape[0]).constant();
    if (!size)
      return std::nullopt;
    return std::make_pair(int64_t(0), *size - 1);
  }
  case Node::Kind::Reshape:
  case Node::Kind::Permute:
  case Node::Kind::Slice:
  case Node::Kind::Broadcast:
  case Node::Kind::Flip:
    return operand(0);
  case Node::Kind::Reduce: {
    auto *reduce = llvm::cast<ReduceNode>(value.node);
    if (reduce->reduce != ReduceKind::ArgMaximum)
      return std::nullopt;
    const Size &size = value.node->operands[0].type().shape[reduce->axis];
    std::optional<int64_t> constant = resolve(size).constant();
    if (!constant)
      return std::nullopt;
    return std::make_pair(int64_t(0), *constant - 1);
  }
  case Node::Kind::Argument: {
    // A state has the values that it starts with or is given.
    auto sources = stateSources.find(value.node);
    if (sources == stateSources.end())
      return std::nullopt;
    std::optional<std::pair<int64_t, int64_t>> whole;
    for (Value source : sources->second) {
      auto range = rangeOf(source, budget);
      if (!range)
        return std::nullopt;
      if (whole)
        range = {std::min(whole->first, range->first),
                 std::max(whole->second, range->second)};
      whole = range;
    }
    return whole;
  }
  case Node::Kind::Elementwise:
    break;
  default:
    return std::nullopt;
  }
  auto *elementwise = llvm::cast<ElementwiseNode>(value.node);
  switch (elementwise->op) {
  case ElementwiseOp::Convert: {
    // Narrowing wraps values that do not fit.
    auto range = operand(0);
    if (range && value.type().element == Element::I32 &&
        (!llvm::isInt<32>(range->first) || !llvm::isInt<32>(range->second)))
      return std::nullopt;
    return range;
  }
  case ElementwiseOp::Add:
  case ElementwiseOp::Subtract: {
    auto left = operand(0), right = operand(1);
    if (!left || !right)
      return std::nullopt;
    bool isSum = elementwise->op == ElementwiseOp::Add;
    std::pair<int64_t, int64_t> range;
    bool wraps =
        isSum ? llvm::AddOverflow(left->first, right->first, range.first) ||
                    llvm::AddOverflow(left->second, right->second, range.second)
              : llvm::SubOverflow(left->first, right->second, range.first) ||
                    llvm::SubOverflow(left->second, right->first, range.second);
    if (wraps ||
        (value.type().element == Element::I32 &&
         (!llvm::isInt<32>(range.first) || !llvm::isInt<32>(range.second))))
      return std::nullopt;
    return range;
  }
  case ElementwiseOp::Minimum:
  case ElementwiseOp::Maximum: {
    bool isMinimum = elementwise->op == ElementwiseOp::Minimum;
    std::pair<int64_t, int64_t> whole(INT64_MIN, INT64_MAX);
    auto left = operand(0).value_or(whole), right = operand(1).value_or(whole);
    if (isMinimum)
      return std::make_pair(std::min(left.first, right.first),
                            std::min(left.second, right.second));
    return std::make_pair(std::max(left.first, right.first),
                          std::max(left.second, right.second));
  }
  case ElementwiseOp::Modulo: {
    auto divisor = operand(1);
    if (!divisor || divisor->first != divisor->second || divisor->first <= 0)
      return std::nullopt;
    return std::make_pair(int64_t(0), divisor->first - 1);
  }
  default:
    return std::nullopt;
  }
}

bool Importer::isCounted(const Node *state, const Size &bound, bool inclusive) {
  auto found = stateSources.find(state);
  if (found == stateSources.end())
    return false;
  auto isState = [&](Value value) {
    while (value.node->kind == Node::Kind::Broadcast)
      value = value.node->operands[0];
    return value.node == state;
  };
  llvm::ArrayRef<Value> sources = found->second;
  std::optional<Size> step;
  if (isState(sources[1]))
    step = Size();
  auto *next = llvm::dyn_cast<ElementwiseNode>(sources[1].node);
  if (next && next->op == ElementwiseOp::Add)
    for (unsigned other : {0, 1})
      if (isState(next->operands[other]))
        step = knownSize(next->operands[1 - other]);
  if (!step || !isAtLeast(resolve(*step), 0))
    return false;
  std::optional<Size> growth =
      Size::subtract(stateSteps.lookup(state), Size(1));
  if (growth)
    growth = Size::multiply(*growth, resolve(*step));
  std::optional<Size> rest =
      growth ? Size::subtract(resolve(bound), *growth) : std::nullopt;
  if (!rest)
    return false;
  for (auto [index, source] : llvm::enumerate(sources))
    if (index != 1 && !proveBounded(source, *rest, inclusive))
      return false;
  return true;
}

bool Importer::isInductive(const Node *state, const Size &limit) {
  auto found = stateSources.find(state);
  if (found == stateSources.end())
    return false;
  auto [assumed, isNew] = assumedStates.try_emplace(state, limit);
  if (!isNew) {
    std::optional<Size> slack = Size::subtract(limit, assumed->second);
    return slack && isAtLeast(*slack, 0);
  }
  llvm::SmallVector<Value, 3> sources = found->second;
  bool holds = llvm::all_of(sources, [&](Value source) {
    return proveBounded(source, limit, /*inclusive=*/false);
  });
  assumedStates.erase(state);
  return holds;
}

bool Importer::isBounded(Value value, const Size &bound, bool inclusive) {
  proofBudget = 1000;
  return proveBounded(value, bound, inclusive);
}

bool Importer::proveBounded(Value value, const Size &bound, bool inclusive) {
  std::optional<Size> limit =
      inclusive ? Size::add(resolve(bound), 1) : resolve(bound);
  if (!limit)
    return false;
  // 0 <= v < other is enough if other <= limit.
  auto within = [&](const Size &other) {
    std::optional<Size> slack = Size::subtract(*limit, other);
    return slack && isAtLeast(*slack, 0);
  };
  unsigned budget = 256;
  if (auto range = rangeOf(value, budget))
    if (range->first >= 0 && range->second < INT64_MAX &&
        within(range->second + 1))
      return true;
  auto isProved = [&](Value other) {
    return proveBounded(other, bound, inclusive);
  };
  // Nodes that keep values lead to what the runtime checks.
  while (true) {
    if (proofBudget == 0)
      return false;
    --proofBudget;
    switch (value.node->kind) {
    case Node::Kind::Reshape:
    case Node::Kind::Permute:
    case Node::Kind::Slice:
    case Node::Kind::Broadcast:
    case Node::Kind::Flip:
      value = value.node->operands[0];
      continue;
    case Node::Kind::Elementwise:
      // v + c with a known c >= 0 is bounded where v is by c less.
      if (llvm::cast<ElementwiseNode>(value.node)->op == ElementwiseOp::Add) {
        for (unsigned other : {0, 1})
          if (auto added = knownSize(value.node->operands[1 - other]))
            if (auto rest = Size::subtract(bound, *added);
                rest && isAtLeast(resolve(*added), 0))
              return proveBounded(value.node->operands[other], *rest,
                                  inclusive);
        return false;
      }
      if (llvm::cast<ElementwiseNode>(value.node)->op == ElementwiseOp::Select)
        return isProved(value.node->operands[1]) &&
               isProved(value.node->operands[2]);
      // Widening keeps values.
      if (llvm::cast<ElementwiseNode>(value.node)->op !=
              ElementwiseOp::Convert ||
          value.type().element != Element::I64 ||
          !isInteger(value.node->operands[0].type().element))
        return false;
      value = value.node->operands[0];
      continue;
    case Node::Kind::Argument: {
      auto step = argumentSources.find(value.node);
      if (step == argumentSources.end())
        return isCounted(value.node, bound, inclusive) ||
               isInductive(value.node, *limit);
      value = step->second;
      continue;
    }
    case Node::Kind::Take: {
      // In a body an index that is found wrong ends no step: of a table without
      // rows it takes 0.
      Value table = value.node->operands[0];
      const Size &rows = table.type().shape[0];
      if (findings && !within(1) && !isAtLeast(resolve(rows), 1) &&
          !proveBounded(value.node->operands[1], rows, /*inclusive=*/false))
        return false;
      value = table;
      continue;
    }
    case Node::Kind::Append:
      return isProved(value.node->operands[0]) &&
             isProved(value.node->operands[1]);
    case Node::Kind::Concat:
      return llvm::all_of(value.node->operands, isProved);
    case Node::Kind::Iota:
      return within(resolve(value.type().shape[0]));
    case Node::Kind::Reduce: {
      // The run fails where there is no element, of lengths in a body behind
      // the whole.
      auto *reduce = llvm::cast<ReduceNode>(value.node);
      bool failsBefore = !findings || value.node->operands.size() == 1;
      return reduce->reduce == ReduceKind::ArgMaximum &&
             (failsBefore || within(1)) &&
             within(
                 resolve(value.node->operands[0].type().shape[reduce->axis]));
    }
    case Node::Kind::Input: {
      const ProgramInput &input =
          program.inputs[llvm::cast<InputNode>(value.node)->input];
      if (input.below && within(*input.below))
        return true;
      std::optional<Size> above =
          input.atMost ? Size::add(*input.atMost, 1) : std::nullopt;
      return above && within(*above);
    }
    default:
      return false;
    }
  }
}
