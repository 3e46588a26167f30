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
    if (!isBias && tensor)
      error.hint("true is a key that is seen: `mask=x > 0`; what is added to "
                 "scores is `bias=...`");
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
      std::optional<Size> count = number ? asSize(*number) : knownSize(lengths);
      if (count) {
        good &= requireWithin(checker, *count, keySize, item.range,
                              "lengths is " + count->str() +
                                  ", found a size of " + keySize.str());
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
