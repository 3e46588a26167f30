// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckExpression.cpp - Values of expressions ------------------------===//

#include "frontend/text/CheckBody.h"
#include <cmath>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// Items inside a tuple, tuples inside counted too, up to `limit`.
static uint64_t countItems(const Item &item, uint64_t limit) {
  uint64_t count = 1;
  if (const Tuple *tuple = item.tuple())
    for (const Item &element : tuple->elements) {
      if (count > limit)
        break;
      count += countItems(element, limit - count);
    }
  return count;
}

Item Checker::Implementation::evaluate(Body &body,
                                       const Expression &expression) {
  ++depth;
  Item item;
  if (spend(expression.place))
    item = evaluateKind(body, expression);
  --depth;
  item.range = expression.range;
  checkItem(item, expression.place);
  return item;
}

void Checker::Implementation::checkItem(Item &item, Range place) {
  if (item.tuple())
    common->work += countItems(item, maximumTupleItems);
  if (const std::string *string = item.string())
    common->work += string->size() / bytesOfWork;
  const Tensor *tensor = item.tensor();
  if (!tensor)
    return;
  size_t rank = tensor->own().size(), terms = 0;
  for (const Size &size : tensor->value.type().shape)
    terms += size.terms().size();
  common->work += terms / termsOfWork;
  if (rank > maximumRank) {
    error(place, "this has " + Twine(rank) +
                     " dimensions; a tensor has at most " + Twine(maximumRank));
    item.value = Erroneous();
  }
}

static bool isWhole(const Item &item) {
  const Number *number = item.number();
  return number && (number->kind == Number::Kind::Whole ||
                    number->kind == Number::Kind::Size);
}

Item Checker::Implementation::evaluateKind(Body &body,
                                           const Expression &expression) {
  switch (expression.kind) {
  case Expression::Kind::Number: {
    const auto &literal = llvm::cast<NumberExpression>(expression);
    if (literal.whole)
      return numberItem(literal.integer, expression.range);
    Number number;
    number.kind = Number::Kind::Real;
    number.real = literal.real;
    return {number, expression.range};
  }
  case Expression::Kind::String:
    return {llvm::cast<StringExpression>(expression).value, expression.range};
  case Expression::Kind::Boolean:
    return {llvm::cast<BooleanExpression>(expression).value, expression.range};
  case Expression::Kind::Infinity: {
    Number number;
    number.kind = Number::Kind::Real;
    number.real = HUGE_VAL;
    return {number, expression.range};
  }
  case Expression::Kind::Name:
    return evaluateName(body, llvm::cast<NameExpression>(expression).name,
                        expression.range);
  case Expression::Kind::Next:
    return evaluateNext(body, llvm::cast<NextExpression>(expression));
  case Expression::Kind::Call:
    return evaluateCall(body, llvm::cast<CallExpression>(expression));
  case Expression::Kind::Tuple:
    return evaluateTuple(body, llvm::cast<TupleExpression>(expression));
  case Expression::Kind::Parenthesis:
    return evaluate(body, *llvm::cast<ParenthesisExpression>(expression).inner);
  case Expression::Kind::Unary: {
    const auto &unary = llvm::cast<UnaryExpression>(expression);
    Item operand = evaluate(body, *unary.operand);
    if (operand.isError())
      return operand;
    return checker.unary(unary.op, operand, expression.place);
  }
  case Expression::Kind::Binary: {
    const auto &binary = llvm::cast<BinaryExpression>(expression);
    Item left = evaluate(body, *binary.left);
    Item right = evaluate(body, *binary.right);
    if (left.isError() || right.isError())
      return {Erroneous(), expression.range};
    Item result = checker.binary(binary.op, left, right, expression.place);
    // A quotient of what is not given yet may well be whole.
    const Number *number = result.number();
    bool isQuotient = binary.op == BinaryOperator::Divide && number &&
                      number->kind == Number::Kind::RunReal;
    if (isQuotient && checker.options.allowUnknown && isWhole(left) &&
        isWhole(right))
      return sizeItem(
          Size(newUnknown(("(" + textOf(expression.range) + ")").str())),
          expression.range);
    return result;
  }
  case Expression::Kind::Index:
    return evaluateIndex(body, llvm::cast<IndexExpression>(expression));
  case Expression::Kind::Member:
    return evaluateMember(body, llvm::cast<MemberExpression>(expression));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Item Checker::Implementation::evaluateName(Body &body, StringRef name,
                                           Range place) {
  if (Binding *binding = body.find(name)) {
    if (const Instance *instance = binding->instance) {
      if (instance->broken)
        return {};
      bool isCell = instance->declaration &&
                    instance->declaration->kind == DeclarationKind::Cell;
      error(place, "`" + name + "` is an instance of `" + instance->calleeName +
                       "`, not a value")
          .note(binding->declared, "declared here")
          .hint(isCell ? "write `scan(" + name + ", x)` or `step(" + name +
                             ", x, s)`"
                       : "call it: `" + name + "(x)`");
      return {};
    }
    return binding->item;
  }
  if (body.facts.isDimension(name))
    return dimensionItem(body, body.facts.nameOf(name), place);
  if (body.attentionBody)
    if (std::optional<Item> item = checker.attentionName(name, place))
      return *item;

  if (!body.undefined.insert(name.str()).second)
    return {};
  std::vector<StringRef> candidates = body.facts.dimensions;
  for (const auto &[known, binding] : body.names)
    candidates.push_back(known);
  Diagnostic &diagnostic = error(place, "`" + name + "` is not defined");
  diagnostic.suggest(name, candidates);
  if (diagnostic.hints.empty() &&
      (isBuiltinFunction(name) || body.file.find(name)))
    diagnostic.hint("`" + name + "` is a function: call it");
  return {};
}

Item Checker::Implementation::evaluateNext(Body &body,
                                           const NextExpression &expression) {
  StringRef name = expression.name;
  StateSlot *slot = body.state(name);
  if (!slot) {
    if (!body.undefined.insert(name.str()).second)
      return {};
    std::vector<StringRef> candidates;
    for (const StateSyntax *state : body.facts.states)
      candidates.push_back(state->name.name);
    error(expression.range, "`" + name + "'`: `" + name + "` is not a state")
        .suggest(name, candidates);
    return {};
  }
  if (slot->next)
    return *slot->next;
  if (!body.statesOnly && body.undefined.insert((name + "'").str()).second)
    error(expression.range, "`" + name + "'` is not assigned before this line");
  return {};
}

//===----------------------------------------------------------------------===//
// Tuples, indices, members
//===----------------------------------------------------------------------===//

static unsigned nesting(const Item &item) {
  unsigned depth = 0;
  if (const Tuple *tuple = item.tuple())
    for (const Item &element : tuple->elements)
      depth = std::max(depth, 1 + nesting(element));
  return depth;
}

Item Checker::Implementation::evaluateTuple(Body &body,
                                            const TupleExpression &expression) {
  Tuple tuple;
  uint64_t items = 0;
  unsigned depth = 0;
  bool good = true;
  for (const ExpressionPtr &element : expression.elements) {
    tuple.elements.push_back(evaluate(body, *element));
    good &= !tuple.elements.back().isError();
    items += countItems(tuple.elements.back(), maximumTupleItems);
    depth = std::max(depth, nesting(tuple.elements.back()));
    if (items > maximumTupleItems || depth > maximumTupleNesting) {
      error(expression.range, "a tuple holds more than " +
                                  Twine(maximumTupleItems) +
                                  " values or nests more than " +
                                  Twine(maximumTupleNesting) + " deep");
      return {};
    }
  }
  // What is assigned element by element keeps its good ones.
  if (!good && expression.parenthesised)
    return {};
  return {std::move(tuple), expression.range};
}

Item Checker::Implementation::evaluateIndex(Body &body,
                                            const IndexExpression &expression) {
  Item base = evaluate(body, *expression.base);
  std::vector<EvaluatedIndex> entries;
  bool good = !base.isError();
  for (const IndexEntry &entry : expression.entries) {
    EvaluatedIndex &evaluated = entries.emplace_back();
    evaluated.kind = entry.kind;
    evaluated.range = entry.range;
    auto take = [&](const ExpressionPtr &part, std::optional<Item> &item) {
      if (!part)
        return;
      item = evaluate(body, *part);
      good &= !item->isError();
    };
    take(entry.value, evaluated.value);
    take(entry.start, evaluated.start);
    take(entry.stop, evaluated.stop);
    take(entry.step, evaluated.step);
  }
  if (!good)
    return {};
  return checker.index(base, entries, expression.range);
}

Instance *Checker::Implementation::instanceOf(Body &body,
                                              const Expression &expression) {
  if (auto *name = llvm::dyn_cast<NameExpression>(&expression)) {
    Binding *binding = body.find(name->name);
    return binding ? binding->instance : nullptr;
  }
  auto *member = llvm::dyn_cast<MemberExpression>(&expression);
  Instance *outer = member ? instanceOf(body, *member->base) : nullptr;
  return outer ? findInstance(*outer, member->member.name) : nullptr;
}

Item Checker::Implementation::evaluateMember(
    Body &body, const MemberExpression &expression) {
  Identifier member = expression.member;
  if (Instance *instance = instanceOf(body, *expression.base)) {
    if (instance->broken)
      return {};
    if (std::optional<unsigned> number = findParameter(*instance, member.name))
      return {parameterTensor(*number), expression.range};
    if (Instance *inside = findInstance(*instance, member.name)) {
      error(member.range, "`" + member.name + "` is an instance of `" +
                              inside->calleeName + "`, not a parameter");
      return {};
    }
    std::string text = textOf(expression.base->range).str();
    if (!instance->used) {
      error(expression.base->range,
            "`" + text + "` has no parameters before its first use")
          .note(instance->name.range, "declared here");
      return {};
    }
    // What stopped its use stopped its parameters.
    if (!instance->complete && checker.diagnostics.errorCount())
      return {};
    error(member.range, "`" + text + "` has no parameter `" + member.name + "`")
        .suggest(member.name, memberNames(*instance));
    return {};
  }
  Item base = evaluate(body, *expression.base);
  if (base.isError())
    return base;
  if (member.name == "T")
    return checker.transpose(base, member.range);
  error(member.range, "no value has a member `" + member.name + "`")
      .hint("`.T` swaps the last two dimensions; the parameters of an instance "
            "are its members too");
  return {};
}
