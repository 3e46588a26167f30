// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionBody.cpp - Names and functions of an attention's body -----===//
//
// row, col, position, visible; softmax over the keys, neighbour_difference,
// top_k.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Builtins.h"
#include <cmath>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

template <typename NodeType>
static Item rowItem(Checker &checker, Element element, ArrayRef<Size> shape,
                    Range place) {
  auto &node = checker.make<NodeType>(place);
  TensorType type;
  type.element = element;
  type.shape.assign(shape.begin(), shape.end());
  node.results.push_back(type);
  return makeItem(Tensor{Value{&node, 0}, 0}, place);
}

std::optional<Item> Checker::attentionName(StringRef name, Range place) {
  AttentionContext *context = attention();
  if (!context || context->functionDepth)
    return std::nullopt;
  Size queries(context->query), keys(context->key);
  if (name == "row")
    return rowItem<RowIndexNode>(*this, Element::I64, {queries, Size(1)},
                                 place);
  if (name == "position")
    return rowItem<RowPositionNode>(*this, Element::I64, {queries, Size(1)},
                                    place);
  if (name == "col")
    return makeItem(
        reshapeOwn(iota(*this, keys, place), {Size(1), keys}, place), place);
  if (name == "visible") {
    context->usesVisibility = true;
    return rowItem<RowVisibleNode>(*this, Element::Bool, {queries, keys},
                                   place);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The scores of a function: floats, [T, S].
static std::optional<Tensor> scoresOf(Arguments &arguments) {
  Checker &checker = arguments.checker;
  const Item &item = *arguments.find("s");
  AttentionContext &context = *checker.attention();
  const Tensor *tensor = item.tensor();
  bool isMap = tensor && tensor->value.type().rank() == 2 &&
               tensor->value.type().shape[0].symbol() == context.query &&
               tensor->value.type().shape[1].symbol() == context.key;
  if (!isMap) {
    checker.diagnostics
        .error(item.range, Twine(arguments.function()) +
                               " needs scores [T, S], found " +
                               checker.describe(item))
        .hint("scores are what each query has of each key, such as `q @ k.T`");
    return std::nullopt;
  }
  if (tensor->element() == Element::Bool) {
    reportBool(checker, arguments.function(), item.range);
    return std::nullopt;
  }
  if (isFloat(tensor->element()))
    return *tensor;
  return checker.convert(*tensor, checker.floatType(), item.range);
}

/// Whether a shape stretches to another by 1s.
static bool stretches(ArrayRef<Size> shape, ArrayRef<Size> whole) {
  if (shape.size() > whole.size())
    return false;
  for (size_t i = 1; i <= shape.size(); ++i) {
    const Size &size = shape[shape.size() - i];
    if (!size.isConstant(1) && size != whole[whole.size() - i])
      return false;
  }
  return true;
}

static Item callSoftmax(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  AttentionContext &context = *checker.attention();
  if (const Item *axis = arguments.find("axis")) {
    checker.diagnostics
        .error(axis->range,
               "in an attention softmax runs over the keys; it takes no axis")
        .hint("leave `axis` out");
    return erroneous(place);
  }
  context.usesVisibility = true;
  std::optional<Tensor> scores = scoresOf(arguments);
  if (!scores)
    return erroneous(place);

  std::optional<Tensor> where, sink;
  if (const Item *item = arguments.find("where")) {
    if (item->boolean())
      where = checker.numberTensor(wholeNumber(*item->boolean()), Element::Bool,
                                   place);
    else if (const Tensor *tensor = item->tensor();
             tensor && tensor->element() == Element::Bool &&
             stretches(tensor->own(), {Size(context.query), Size(context.key)}))
      where = *tensor;
    if (!where) {
      checker.diagnostics.error(item->range,
                                "`where` of softmax needs bool[T, S], found " +
                                    checker.describe(*item));
      return erroneous(place);
    }
  }
  if (const Item *item = arguments.find("sink")) {
    if (const Number *number = item->number())
      sink = checker.numberTensor(*number, scores->element(), place);
    else if (const Tensor *tensor = item->tensor();
             tensor && tensor->element() != Element::Bool &&
             stretches(tensor->own(), {Size(context.query), Size(1)}))
      sink = *tensor;
    if (!sink) {
      checker.diagnostics.error(item->range,
                                "`sink` is a scalar or [T, 1], found " +
                                    checker.describe(*item));
      return erroneous(place);
    }
    if (isFloat(sink->element()) && sink->element() != scores->element()) {
      checker.diagnostics
          .error(item->range, Twine(spelling(scores->element())) + " and " +
                                  spelling(sink->element()) + " do not mix")
          .hint(Twine("convert one: `") + spelling(scores->element()) + "(x)`");
      return erroneous(place);
    }
    sink = checker.convert(*sink, scores->element(), place);
  }
  auto &node = checker.make<RowSoftmaxNode>(place);
  node.operands.push_back(scores->value);
  node.hasWhere = where.has_value();
  node.hasSink = sink.has_value();
  if (where)
    node.operands.push_back(where->value);
  if (sink)
    node.operands.push_back(sink->value);
  node.results.push_back(scores->value.type());
  if (context.node->logSumExp)
    node.results.push_back(
        {scores->element() == Element::F64 ? Element::F64 : Element::F32,
         {Size(context.query)}});
  return makeItem(Tensor{Value{&node, 0}, 0}, place);
}

static Item callNeighbours(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> scores = scoresOf(arguments);
  std::optional<int64_t> width = checker.fixedWhole(
      *arguments.find("width"), "the width of neighbour_difference");
  std::optional<unsigned> scope = arguments.choice("scope", {"visible", "all"});
  if (!scores || !width || !scope)
    return erroneous(place);
  if (*width < 1 || *width % 2 == 0) {
    checker.diagnostics.error(arguments.find("width")->range,
                              Twine("the width of neighbour_difference is ") +
                                  (*width % 2 == 0 ? "odd" : "at least 1") +
                                  ", found " + Twine(*width));
    return erroneous(place);
  }
  if (*scope == 0)
    checker.attention()->usesVisibility = true;
  auto &node = checker.make<RowNeighboursNode>(place);
  node.width = *width;
  node.allKeys = *scope == 1;
  node.operands.push_back(scores->value);
  node.results.push_back(scores->value.type());
  return makeItem(Tensor{Value{&node, 0}, 0}, place);
}

static Item callTopK(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  const Item *count = arguments.find("count");
  const Item *fraction = arguments.find("fraction");
  if (!count == !fraction) {
    checker.diagnostics
        .error(place, count ? "top_k takes count= or fraction=, not both"
                            : "top_k needs count= or fraction=")
        .hint("`top_k(s, count=8)`, `top_k(s, fraction=0.5)`");
    return erroneous(place);
  }
  std::optional<Tensor> scores = scoresOf(arguments);
  std::optional<int64_t> k = arguments.whole("count", 1, 1);
  std::optional<double> part = arguments.real("fraction", 1);
  if (!scores || !k || !part)
    return erroneous(place);
  if (!(*part >= 0 && *part <= 1)) {
    checker.diagnostics.error(fraction->range,
                              "`fraction` is from 0 to 1, found " +
                                  checker.describe(*fraction));
    return erroneous(place);
  }
  checker.attention()->usesVisibility = true;
  auto &node = checker.make<RowTopKNode>(place);
  if (count)
    node.count = *k;
  else
    node.fraction = *part;
  node.operands.push_back(scores->value);
  TensorType type = scores->value.type();
  type.element = Element::Bool;
  node.results.push_back(type);
  return makeItem(Tensor{Value{&node, 0}, 0}, place);
}

ArrayRef<BuiltinFunction> gatefold::text::rowFunctions() {
  static const std::vector<BuiltinFunction> functions = {
      {"softmax", {{"s"}, 1, {"where", "sink", "axis"}}, callSoftmax},
      {"neighbour_difference", {{"s", "width"}, 2, {"scope"}}, callNeighbours},
      {"top_k", {{"s"}, 1, {"count", "fraction"}}, callTopK},
  };
  return functions;
}
