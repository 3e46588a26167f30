// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckDimensions.cpp - Dimensions and settings of a use -------------===//
//
// Dimensions are found in a fixed order: NAME=number, then the tensors in
// order, then what is returned. Whatever is known already when a size stands
// there is a check.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/CheckBody.h"
#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;
using Solved = Checker::Implementation::Solved;

//===----------------------------------------------------------------------===//
// What is given
//===----------------------------------------------------------------------===//

void Checker::Implementation::bindDimension(Body &body, StringRef name,
                                            const Size &size, Range from,
                                            StringRef input) {
  body.dimensions[name.str()] = {size, from, input.str()};
}

bool Checker::Implementation::bindGiven(Body &body,
                                        const EvaluatedArgument &argument,
                                        StringRef what) {
  StringRef name = argument.name->name;
  const InputSyntax *input = body.facts.input(name);
  if (body.facts.isDimension(name)) {
    std::optional<Size> size =
        dimensionFrom(argument.item, this->body, argument.expression);
    if (!size)
      body.unknownDimensions.insert(body.facts.nameOf(name));
    else
      bindDimension(body, name, *size, argument.item.range, "");
    return true;
  }
  if (input && !input->type) {
    Binding binding;
    binding.kind = Binding::Kind::Setting;
    binding.declared = input->name.range;
    binding.item = argument.item;
    if (binding.item.tensor() || binding.item.tuple()) {
      error(argument.item.range, "`" + name + "` is a setting of `" +
                                     body.declaration.name.name +
                                     "`: a number, `true`, `false` or a "
                                     "string, found " +
                                     checker.describe(binding.item));
      binding.item = {Erroneous(), argument.item.range};
    }
    body.names[name.str()] = std::move(binding);
    return true;
  }
  if (input) {
    error(argument.name->range, "`" + name + "` is a tensor of `" +
                                    body.declaration.name.name +
                                    "`, not a setting")
        .note(input->name.range, "declared here")
        .hint("give it where `" + what + "` is called");
    return false;
  }
  std::vector<StringRef> candidates = body.facts.dimensions;
  for (const InputSyntax &setting : body.declaration.inputs)
    if (!setting.type)
      candidates.push_back(setting.name.name);
  if (body.declaration.kind == DeclarationKind::Cell) {
    candidates.push_back("layers");
    candidates.push_back("bidirectional");
  }
  error(argument.name->range,
        "`" + body.declaration.name.name + "` has no setting `" + name + "`")
      .suggest(name, candidates);
  return false;
}

//===----------------------------------------------------------------------===//
// From tensors
//===----------------------------------------------------------------------===//

bool Checker::Implementation::bindShapes(Body &body,
                                         ArrayRef<GivenTensor> given) {
  struct Axis {
    const GivenTensor *tensor;
    size_t number;
  };
  std::vector<Axis> pending;
  for (const GivenTensor &tensor : given)
    if (!tensor.item.isError() && !tensor.scalar)
      for (size_t i = 0; i < tensor.shape.size(); ++i)
        pending.push_back({&tensor, i});
  // A size fixed to 1 stretches, so it tells a dimension only if nothing else
  // does.
  bool good = true, takeOnes = false;
  while (!pending.empty() && good) {
    bool progress = false;
    std::vector<Axis> left;
    for (const Axis &axis : pending) {
      const Expression &declared = *axis.tensor->type->shape[axis.number];
      const Size &given = axis.tensor->shape[axis.number];
      Solved solved = Solved::Pending;
      if (takeOnes || !given.isConstant(1) ||
          unknownNames(body, declared).empty())
        solved = matchDimension(body, declared, given, *axis.tensor);
      good &= solved != Solved::Failed;
      progress |= solved == Solved::Done;
      if (solved == Solved::Pending)
        left.push_back(axis);
    }
    pending = std::move(left);
    if (!progress && takeOnes)
      break;
    takeOnes = !progress;
  }
  return bindDefaults(body) && good;
}

Solved Checker::Implementation::matchDimension(Body &body,
                                               const Expression &declared,
                                               const Size &given,
                                               const GivenTensor &tensor) {
  llvm::SmallVector<StringRef, 2> unknown = unknownNames(body, declared);
  const auto *name =
      llvm::dyn_cast<NameExpression>(&withoutParentheses(declared));
  if (unknown.size() > 1)
    return Solved::Pending;
  if (unknown.size() == 1) {
    // What could not be evaluated was reported.
    if (body.unknownDimensions.count(unknown[0]))
      return Solved::Done;
    if (!body.facts.isDimension(unknown[0]) ||
        (given.isConstant(1) && !name && !tensor.isResult))
      return Solved::Pending;
    return solve(body, declared, given, tensor);
  }
  std::optional<Size> known = dimensionOf(body, declared);
  if (!known)
    return Solved::Failed;
  if (given.isConstant(1) && !tensor.isResult)
    return Solved::Done;

  StringRef text = textOf(declared.range);
  std::string of =
      (text + "` of `" + body.declaration.name.name + "` is ").str();
  std::string found = given.str() + " in `" + tensor.name.str() + "`";
  const Checker::DimensionBinding *binding = nullptr;
  if (name) {
    auto entry = body.dimensions.find(name->name.str());
    if (entry != body.dimensions.end())
      binding = &entry->second;
  }
  std::string message;
  if (binding && !binding->fromInput.empty())
    message = "dimension `" + of + known->str() + " in `" + binding->fromInput +
              "` and " + found;
  else if (binding)
    message =
        "dimension `" + of + "given as " + known->str() + " and is " + found;
  else
    message = "dimension `" + of + known->str() + ", found " + found;
  bool equal =
      checker.requireEqual(*known, given, tensor.item.range, message, [&] {
        Diagnostic &diagnostic = error(tensor.item.range, message);
        if (binding)
          diagnostic.note(binding->from,
                          "`" + text + "` is " + known->str() + " from here");
        else {
          std::string why = explain(body, declared);
          if (!why.empty() && !name)
            diagnostic.note(declared.range, "`" + text + "`, " + why);
        }
        diagnostic.note(tensor.declared, "`" + tensor.name + "` is " +
                                             textOf(tensor.type->range) +
                                             " here");
      });
  return equal ? Solved::Done : Solved::Failed;
}

/// Makes `expression` equal to `target` by its one unknown name.
Solved Checker::Implementation::solve(Body &body, const Expression &expression,
                                      Size target, const GivenTensor &tensor) {
  const Expression *e = &withoutParentheses(expression);
  if (auto *name = llvm::dyn_cast<NameExpression>(e)) {
    if (std::optional<int64_t> value = target.constant(); value && *value < 0) {
      error(tensor.item.range, "dimension `" + name->name + "` of `" +
                                   body.declaration.name.name + "` would be " +
                                   Twine(*value) + " in `" + tensor.name + "`")
          .note(tensor.declared, "declared here");
      return Solved::Failed;
    }
    bindDimension(body, name->name, target, tensor.item.range, tensor.name);
    return Solved::Done;
  }
  auto *binary = llvm::dyn_cast<BinaryExpression>(e);
  if (!binary)
    return Solved::Pending;
  bool leftKnown = unknownNames(body, *binary->left).empty();
  bool rightKnown = unknownNames(body, *binary->right).empty();
  if (leftKnown == rightKnown) // the unknown name occurs twice
    return Solved::Pending;
  const Expression &knownSide = leftKnown ? *binary->left : *binary->right;
  const Expression &open = leftKnown ? *binary->right : *binary->left;
  std::optional<Size> known = dimensionOf(body, knownSide);
  if (!known)
    return Solved::Failed;

  std::optional<Size> result;
  auto divide = [&](const Size &a, const Size &b) -> std::optional<Size> {
    if (b.isConstant(0))
      return std::nullopt;
    if (std::optional<Size> exact = Size::divideExactly(a, b))
      return exact;
    std::optional<Size> quotient = Size::floorDivide(a, b);
    if (!quotient || quotient->constant())
      return std::nullopt;
    std::optional<Size> product = Size::multiply(*quotient, b);
    if (!product ||
        !checker.requireEqual(*product, a, tensor.item.range,
                              "`" + tensor.name + "` has " + a.str() +
                                  ", which must be a multiple of " + b.str(),
                              [] {}))
      return std::nullopt;
    return quotient;
  };
  switch (binary->op) {
  case BinaryOperator::Add:
    result = Size::subtract(target, *known);
    break;
  case BinaryOperator::Subtract:
    result =
        leftKnown ? Size::subtract(*known, target) : Size::add(target, *known);
    break;
  case BinaryOperator::Multiply:
    result = divide(target, *known);
    break;
  case BinaryOperator::Divide:
    result =
        leftKnown ? divide(*known, target) : Size::multiply(target, *known);
    break;
  default:
    return Solved::Pending;
  }
  if (result)
    return solve(body, open, *result, tensor);
  error(tensor.item.range, "no whole number makes `" +
                               textOf(expression.range) + "` of `" +
                               body.declaration.name.name + "` equal to " +
                               target.str() + " in `" + tensor.name + "`")
      .note(tensor.declared, "declared here");
  return Solved::Failed;
}

void Checker::Implementation::bindResult(Body &body, const TypeSyntax &type,
                                         ArrayRef<Size> shape, Range from) {
  GivenTensor given;
  given.name = "the result";
  given.type = &type;
  given.declared = type.range;
  given.item.range = from;
  given.isResult = true;
  for (size_t i = 0; i < shape.size() && i < type.shape.size(); ++i)
    if (unknownNames(body, *type.shape[i]).size() == 1)
      matchDimension(body, *type.shape[i], shape[i], given);
}
