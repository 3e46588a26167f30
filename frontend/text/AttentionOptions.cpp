// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionOptions.cpp - The options of every attention --------------===//
//
// Who sees whom, what is added to the scores, grouped heads, further results.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Attentions.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

static const StringRef reservedNames[] = {
    "causal", "window", "offset",  "segments", "mask",     "bias",    "lengths",
    "gqa",    "lse",    "weights", "row",      "position", "visible", "col"};
static constexpr size_t optionCount = 10;

ArrayRef<StringRef> gatefold::text::attentionReservedNames() {
  return reservedNames;
}
ArrayRef<StringRef> gatefold::text::attentionOptionNames() {
  return ArrayRef<StringRef>(reservedNames).take_front(optionCount);
}

//===----------------------------------------------------------------------===//
// Fixed options, mask and bias
//===----------------------------------------------------------------------===//

bool AttentionCall::readFlag(const EvaluatedArgument &option, bool &flag) {
  if (const bool *value = option.item.boolean()) {
    flag = *value;
    return true;
  }
  checker.diagnostics.error(option.item.range,
                            Twine("`") + option.name->name +
                                "` is true or false, found " +
                                checker.describe(option.item));
  return false;
}

bool AttentionCall::readWindow(const EvaluatedArgument &option) {
  const Tuple *tuple = option.item.tuple();
  if (!tuple || tuple->elements.size() != 2) {
    checker.diagnostics
        .error(option.item.range, "`window` is two numbers, found " +
                                      checker.describe(option.item))
        .hint("`window=(left, right)`, `inf` for no bound");
    return false;
  }
  auto bound = [&](const Item &item, std::optional<int64_t> &result) {
    const Number *number = item.number();
    if (number && number->kind == Number::Kind::Real &&
        std::isinf(number->real) && number->real > 0)
      return true;
    std::optional<int64_t> value =
        checker.fixedWhole(item, "a bound of `window`");
    if (value && *value < 0) {
      checker.diagnostics.error(item.range,
                                "a bound of `window` is at least 0, found " +
                                    Twine(*value));
      return false;
    }
    result = value;
    return value.has_value();
  };
  window.emplace();
  bool left = bound(tuple->elements[0], window->first);
  bool right = bound(tuple->elements[1], window->second);
  return left && right;
}

bool AttentionCall::readMask(const EvaluatedArgument &option, bool isBias) {
  StringRef name = option.name->name;
  const Tensor *tensor = option.item.tensor();
  bool typed = tensor && (isBias ? tensor->element() != Element::Bool
                                 : tensor->element() == Element::Bool);
  if (!typed) {
    Diagnostic &error = checker.diagnostics.error(
        option.item.range, Twine("`") + name + "` needs " +
                               (isBias ? "a float tensor" : "bool") +
                               ", found " + checker.describe(option.item));
    if (isBias && tensor)
      error.hint("a bool tensor is a mask: `mask=...`");
    return false;
  }
  Given given;
  given.name = name.str();
  given.range = option.item.range;
  given.tensor =
      isBias && !isFloat(tensor->element())
          ? checker.convert(*tensor, checker.floatType(), option.item.range)
          : *tensor;
  ArrayRef<Size> own = given.tensor.own();
  std::string message = name.str() + " is " + checker.describe(own) +
                        ", expected [.., " + querySize.str() + ", " +
                        keySize.str() + "]";
  auto report = [&] {
    checker.diagnostics.error(given.range, message)
        .hint("a fixed 1 stretches: [B, 1, 1, S]");
  };
  if (own.size() < 2) {
    report();
    return false;
  }
  given.extra = own.size() - 2;
  given.own.assign(own.end() - 2, own.end());
  for (auto [size, expected] :
       {std::pair(given.own[0], querySize), std::pair(given.own[1], keySize)})
    if (!size.isConstant(1) &&
        !checker.requireEqual(size, expected, given.range, message, report))
      return false;
  (isBias ? bias : mask) = std::move(given);
  return true;
}

bool AttentionCall::readOptions() {
  bool good = true;
  for (const EvaluatedArgument &option : call.options) {
    StringRef name = option.name->name;
    options[name] = &option;
    if (name == "causal")
      good &= readFlag(option, causal);
    else if (name == "gqa")
      good &= readFlag(option, gqa);
    else if (name == "lse")
      good &= readFlag(option, logSumExp);
    else if (name == "weights")
      good &= readFlag(option, weights);
    else if (name == "window")
      good &= readWindow(option);
    else if (name == "mask" || name == "bias")
      good &= readMask(option, name == "bias");
  }
  return good;
}

//===----------------------------------------------------------------------===//
// Integers for the first mapped dimensions
//===----------------------------------------------------------------------===//

std::optional<Tensor> AttentionCall::firstLeads(StringRef name,
                                                const Item &item,
                                                std::optional<Size> trailing) {
  if (const Number *number = item.number())
    if (!trailing && asSize(*number))
      return checker.numberTensor(*number, Element::I64, item.range);
  const Tensor *tensor = item.tensor();
  if (!tensor || !isInteger(tensor->element())) {
    checker.diagnostics.error(item.range, Twine(name) +
                                              " needs integers, found " +
                                              checker.describe(item));
    return std::nullopt;
  }
  Shape mapped = extras;
  if (gqa)
    mapped.push_back(heads);
  ArrayRef<Size> own = tensor->own();
  std::string message =
      (name + " is " + checker.describe(own) + ", expected the first of " +
       checker.describe(mapped) +
       (trailing ? ", then " + trailing->str() : std::string()))
          .str();
  auto report = [&] { checker.diagnostics.error(item.range, message); };
  size_t count = own.size();
  if (trailing && (own.empty() || count - 1 > mapped.size())) {
    report();
    return std::nullopt;
  }
  count -= trailing ? 1 : 0;
  if (count > mapped.size()) {
    report();
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i)
    if (!requireSame(checker, own[i], mapped[i], item.range, message, report))
      return std::nullopt;
  if (trailing &&
      !requireSame(checker, own.back(), *trailing, item.range, message, report))
    return std::nullopt;

  // Counted from the left, so the caller's lead must stand in front of them.
  Tensor result = *tensor;
  if (count || result.leadRank || trailing)
    result = checker.broadcast(*tensor, callerLead, Shape(own), item.range);
  if (isGrouped && count == mapped.size()) {
    Shape split(result.own());
    split[count - 1] = keyHeads;
    split.insert(split.begin() + count, group);
    result = checker.reshapeOwn(result, split, item.range);
  }
  return result;
}

bool AttentionCall::readSegments(const EvaluatedArgument &option) {
  const Tuple *tuple = option.item.tuple();
  if (!tuple || tuple->elements.size() != 2) {
    checker.diagnostics
        .error(option.item.range, "`segments` is two tensors, found " +
                                      checker.describe(option.item))
        .hint("`segments=(a, b)`, integers [.., T] and [.., S]");
    return false;
  }
  std::optional<Tensor> query =
      firstLeads("segments", tuple->elements[0], querySize);
  std::optional<Tensor> key =
      firstLeads("segments", tuple->elements[1], keySize);
  if (!query || !key)
    return false;
  if (query->element() != key->element()) {
    query = checker.convert(*query, Element::I64, option.item.range);
    key = checker.convert(*key, Element::I64, option.item.range);
  }
  querySegments = query->value;
  keySegments = key->value;
  return true;
}

bool AttentionCall::readTensors() {
  bool good = true;
  if (auto found = options.find("lengths"); found != options.end()) {
    const Item &item = found->second->item;
    std::optional<Tensor> tensor = firstLeads("lengths", item, std::nullopt);
    good &= tensor.has_value();
    if (tensor) {
      lengths = tensor->value;
      const Number *number = item.number();
      std::optional<Size> count =
          number ? asSize(*number) : std::optional<Size>();
      if (count) {
        std::string message = "lengths is " + count->str() +
                              ", more than the keys, " + keySize.str();
        auto report = [&] { checker.diagnostics.error(item.range, message); };
        std::optional<Size> least = Size::minimum(*count, keySize);
        std::optional<Size> most = Size::maximum(*count, Size());
        if (!least || !most)
          report();
        good &=
            least && most &&
            checker.requireEqual(*least, *count, item.range, message, report) &&
            checker.requireEqual(*most, *count, item.range, message, report);
      } else {
        checker.requireValues(lengths, keySize, true);
      }
    }
  }
  if (auto found = options.find("offset"); found != options.end()) {
    std::optional<Tensor> tensor =
        firstLeads("offset", found->second->item, std::nullopt);
    good &= tensor.has_value();
    if (tensor)
      offset = tensor->value;
  }
  if (auto found = options.find("segments"); found != options.end())
    good &= readSegments(*found->second);
  return good;
}

//===----------------------------------------------------------------------===//
// Options without effect
//===----------------------------------------------------------------------===//

bool AttentionCall::checkEffects() {
  bool hasSoftmax = llvm::any_of(node->body.nodes, [](const auto &inner) {
    return llvm::isa<RowSoftmaxNode>(inner.get());
  });
  bool good = true;
  auto refuse = [&](StringRef name, const Twine &why) {
    auto found = options.find(name);
    if (found == options.end())
      return;
    checker.diagnostics.error(found->second->name->range,
                              Twine("`") + name + "` has no effect: `" +
                                  declaration.name.name + "` " + why);
    good = false;
  };
  if (!context.usesVisibility) {
    std::string why = "has no softmax and does not use `visible`";
    if (causal)
      refuse("causal", why);
    for (StringRef name : {"window", "segments", "mask", "lengths"})
      refuse(name, why);
  }
  if (!hasSoftmax) {
    refuse("bias", "has no softmax");
    if (logSumExp)
      refuse("lse", "has no softmax");
    if (weights)
      refuse("weights", "has no softmax");
  }
  return good;
}

//===----------------------------------------------------------------------===//
// Grouped heads
//===----------------------------------------------------------------------===//

bool AttentionCall::groupHeads() {
  struct Heads {
    Size size;
    const Given *given;
  };
  SmallVector<Heads> all;
  auto add = [&](const Given &given) {
    if (given.extra)
      all.push_back({given.tensor.own()[given.extra - 1], &given});
  };
  for (const Input &input : inputs)
    add(input.given);
  for (const std::optional<Given> *given : {&mask, &bias})
    if (*given)
      add(**given);
  Range place = options["gqa"]->name->range;
  if (all.empty()) {
    checker.diagnostics
        .error(place, "gqa needs heads, a dimension in front of those that `" +
                          Twine(declaration.name.name) + "` declares")
        .hint("[.., heads, T, D]");
    return false;
  }

  // The most heads: all others divide them.
  heads = all.front().size;
  for (const Heads &entry : all) {
    std::optional<int64_t> a = heads.constant(), b = entry.size.constant();
    if ((a && b) ? *b > *a
                 : heads.isConstant(1) ||
                       (!entry.size.isConstant(1) && heads != entry.size &&
                        Size::divideExactly(entry.size, heads)))
      heads = entry.size;
  }
  keyHeads = heads;
  group = Size(1);
  for (const Heads &entry : all) {
    if (entry.size == heads || entry.size.isConstant(1))
      continue;
    std::optional<Size> shared = Size::divideExactly(heads, entry.size);
    std::string message = "gqa: " + entry.size.str() + " heads of `" +
                          entry.given->name + "` do not divide " + heads.str() +
                          " heads";
    if (!shared) {
      std::optional<Size> quotient = Size::floorDivide(heads, entry.size);
      std::optional<Size> back =
          quotient ? Size::multiply(*quotient, entry.size) : std::nullopt;
      auto report = [&] {
        checker.diagnostics.error(entry.given->range, message);
      };
      if (!back) {
        report();
        return false;
      }
      if (!checker.requireEqual(*back, heads, entry.given->range, message,
                                report))
        return false;
      shared = quotient;
    }
    // The fewest heads make the pair; what lies between is repeated.
    std::optional<int64_t> fewest = keyHeads.constant();
    std::optional<int64_t> here = entry.size.constant();
    if (keyHeads == heads || (fewest && here && *here < *fewest)) {
      keyHeads = entry.size;
      group = *shared;
    }
  }
  isGrouped = keyHeads != heads;
  return true;
}

Tensor AttentionCall::grouped(const Given &given) {
  Tensor tensor = given.entered;
  if (!tensor.leadRank)
    return tensor;
  // The head as an own dimension, to be reshaped.
  --tensor.leadRank;
  Size count = tensor.own().front();
  Shape rest(tensor.own().drop_front());
  auto with = [&](ArrayRef<Size> front) {
    Shape shape(front);
    shape.append(rest.begin(), rest.end());
    return shape;
  };
  if (count == heads) {
    tensor = checker.reshapeOwn(tensor, with({keyHeads, group}), given.range);
  } else if (count == keyHeads) {
    tensor = checker.reshapeOwn(tensor, with({keyHeads, Size(1)}), given.range);
  } else if (count.isConstant(1)) {
    tensor = checker.reshapeOwn(tensor, with({Size(1), Size(1)}), given.range);
  } else {
    Size repeats =
        sizeOrError(checker, Size::floorDivide(heads, count), given.range);
    Shape lead(tensor.lead());
    tensor = checker.reshapeOwn(tensor, with({count, Size(1)}), given.range);
    tensor =
        checker.broadcast(tensor, lead, with({count, repeats}), given.range);
    tensor = checker.reshapeOwn(tensor, with({keyHeads, group}), given.range);
  }
  tensor.leadRank += 2;
  return tensor;
}
