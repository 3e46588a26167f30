// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckArguments.cpp - Arguments of a call against its inputs --------===//

#include "frontend/text/CheckBody.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// By position and by name
//===----------------------------------------------------------------------===//

std::optional<Checker::Implementation::Matched>
Checker::Implementation::matchArguments(const DeclarationFacts &facts,
                                        ArrayRef<EvaluatedArgument> arguments,
                                        ArrayRef<StringRef> optionNames,
                                        bool settingsGiven, Identifier callee,
                                        Range range) {
  const Declaration &declaration = *facts.declaration;
  StringRef name = declaration.name.name;
  Matched matched;
  matched.inputs.resize(declaration.inputs.size());
  bool good = true, named = false, missing = false;
  size_t position = 0, positional = 0, places = 0;
  for (const InputSyntax &input : declaration.inputs)
    places += !settingsGiven || input.type;

  for (const EvaluatedArgument &argument : arguments) {
    if (!argument.name) {
      if (named) {
        error(argument.item.range,
              "an argument by position stands before those by name");
        good = false;
        continue;
      }
      while (settingsGiven && position < declaration.inputs.size() &&
             !declaration.inputs[position].type)
        ++position;
      ++positional;
      if (position >= declaration.inputs.size()) {
        if (positional == places + 1) {
          error(argument.item.range,
                "`" + callee.name + "` takes " + Twine(places) +
                    (places == 1 ? " argument" : " arguments") +
                    ", here is one more")
              .note(declaration.name.range, "declared here");
          good = false;
        }
        continue;
      }
      matched.inputs[position++] = argument;
      continue;
    }

    named = true;
    StringRef given = argument.name->name;
    const InputSyntax *input = facts.input(given);
    if (input && settingsGiven && !input->type) {
      error(argument.name->range,
            "`" + given + "` is a setting of `" + name + "`")
          .note(input->name.range, "declared here")
          .hint("give it where `" + callee.name + "` is declared: `" +
                callee.name + ": " + name + "(" + given + "=...)`");
      good = false;
    } else if (input) {
      auto &place = matched.inputs[input - declaration.inputs.data()];
      if (place) {
        error(argument.name->range, "`" + given + "` is given twice")
            .note(place->item.range, "first given here");
        good = false;
      }
      place = argument;
    } else if (llvm::is_contained(optionNames, given)) {
      for (const EvaluatedArgument &other : matched.options)
        if (other.name->name == given) {
          error(argument.name->range, "`" + given + "` is given twice")
              .note(other.name->range, "first given here");
          good = false;
        }
      matched.options.push_back(argument);
    } else if (facts.isDimension(given)) {
      matched.dimensions.push_back(argument);
    } else {
      std::vector<StringRef> candidates(optionNames.begin(), optionNames.end());
      for (const InputSyntax &other : declaration.inputs)
        candidates.push_back(other.name.name);
      llvm::append_range(candidates, facts.dimensions);
      error(argument.name->range,
            "`" + name + "` has no input or " +
                (declaration.kind == DeclarationKind::Attention ? "option"
                                                                : "setting") +
                " `" + given + "`")
          .suggest(given, candidates);
      good = false;
    }
  }

  for (auto [input, given] : llvm::zip(declaration.inputs, matched.inputs))
    if (input.type && !given && good) {
      error(range,
            "`" + callee.name + "` needs its input `" + input.name.name + "`")
          .note(input.name.range, "declared here");
      missing = true;
    }
  if (!good || missing)
    return std::nullopt;
  return matched;
}

//===----------------------------------------------------------------------===//
// As tensors of the declared type
//===----------------------------------------------------------------------===//

std::optional<Tensor> Checker::Implementation::asTensor(const Item &item,
                                                        Element element,
                                                        const Twine &what) {
  if (item.isError())
    return std::nullopt;
  StringRef wanted = spelling(element);
  if (const Tensor *tensor = item.tensor()) {
    Element found = tensor->element();
    if (found == element)
      return *tensor;
    if (isInteger(found) && (isFloat(element) || element == Element::I64))
      return checker.convert(*tensor, element, item.range);
    if (isFloat(found) && isFloat(element))
      error(item.range, spelling(found) + " and " + wanted + " do not mix")
          .note(what + " is " + wanted)
          .hint("convert it: `" + wanted + "(x)`");
    else
      error(item.range, what + " is " + checker.describe(item) +
                            ", expected elements of type " + wanted)
          .hint("convert it: `" + wanted + "(x)`");
    return std::nullopt;
  }
  if (const bool *value = item.boolean(); value && element == Element::Bool)
    return checker.constant(*value ? 1 : 0, element, item.range);
  const Number *number = item.number();
  bool fits = number && element != Element::Bool &&
              (isFloat(element) || number->kind == Number::Kind::Whole ||
               number->kind == Number::Kind::Size);
  if (fits)
    return checker.numberTensor(*number, element, item.range);
  error(item.range, what + " must be a tensor of type " + wanted + ", found " +
                        checker.describe(item));
  return std::nullopt;
}

bool Checker::Implementation::givenTensor(GivenTensor &given,
                                          unsigned &extraRank, Tensor &tensor,
                                          unsigned timeRank) {
  size_t declared = given.type->shape.size() + timeRank;
  ArrayRef<Size> own = tensor.own();
  given.scalar = own.empty() && timeRank == 0;
  if (given.scalar) {
    extraRank = 0;
    return true;
  }
  if (own.size() < declared) {
    std::string index;
    for (size_t i = 0; i < declared; ++i)
      index += std::string(i ? ", " : "") +
               (i + own.size() < declared ? "None" : ":");
    std::string shown = textOf(given.item.range).str();
    bool isName = llvm::all_of(
        shown, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    Diagnostic &diagnostic = error(
        given.item.range,
        "`" + given.name + "` is " + checker.describe(given.item) +
            ", expected " + Twine(declared) +
            (declared == 1 ? " dimension or more" : " dimensions or more"));
    diagnostic.note(
        given.declared,
        "declared here" +
            Twine(timeRank ? "; time stands before its dimensions" : ""));
    if (!timeRank)
      diagnostic.hint("a new dimension: `" + (isName ? shown : "x") + "[" +
                      index + "]`");
    return false;
  }
  extraRank = own.size() - declared;
  llvm::append_range(given.shape,
                     own.drop_front(own.size() - given.type->shape.size()));
  return true;
}

std::unique_ptr<Body> Checker::Implementation::bind(
    const Declaration &declaration, Package::File &file,
    ArrayRef<EvaluatedArgument> given, const Matched &matched,
    Instance *instance, Identifier callee, Range range,
    std::vector<Item> &inputs, std::vector<unsigned> &extraRanks) {
  auto body = std::make_unique<Body>(declaration, factsOf(declaration), file);
  body->use = callee.range.end > callee.range.begin ? callee.range : range;
  body->instance = instance;
  body->isEntry = &declaration == entryDeclaration;
  body->attentionBody = declaration.kind == DeclarationKind::Attention;
  bool good = true;
  for (const EvaluatedArgument &argument : given)
    bindGiven(*body, argument, callee.name);
  for (const EvaluatedArgument &argument : matched.dimensions)
    bindGiven(*body, argument, callee.name);

  std::vector<GivenTensor> tensors;
  for (auto [input, argument] : llvm::zip(declaration.inputs, matched.inputs)) {
    inputs.emplace_back();
    extraRanks.push_back(0);
    if (!argument)
      continue;
    if (!input.type) {
      EvaluatedArgument named = *argument;
      named.name = input.name;
      bindGiven(*body, named, callee.name);
      continue;
    }
    std::optional<Tensor> tensor =
        asTensor(argument->item, elementOf(*input.type),
                 "`" + input.name.name + "` of `" + callee.name + "`");
    if (!tensor) {
      good = false;
      continue;
    }
    Item &item = inputs.back();
    item = {*tensor, argument->item.range};
    GivenTensor &entry = tensors.emplace_back();
    entry.name = input.name.name;
    entry.type = &*input.type;
    entry.declared = input.range;
    entry.item = item;
    good &= givenTensor(entry, extraRanks.back(), *tensor, 0);
  }
  if (!good || !bindShapes(*body, tensors))
    return nullptr;
  for (auto [input, item] : llvm::zip(declaration.inputs, inputs))
    if (!input.type)
      item = body->find(input.name.name)->item;
  return body;
}

//===----------------------------------------------------------------------===//
// For attentions
//===----------------------------------------------------------------------===//

std::optional<Checker::BoundCall>
Checker::bindCall(const Declaration &declaration, Package::File &file,
                  ArrayRef<EvaluatedArgument> arguments,
                  ArrayRef<StringRef> optionNames, Identifier callee,
                  Range range, ArrayRef<EvaluatedArgument> given) {
  const DeclarationFacts &facts = impl->factsOf(declaration);
  auto matched = impl->matchArguments(facts, arguments, optionNames,
                                      !given.empty(), callee, range);
  if (!facts.valid || file.broken || !matched)
    return std::nullopt;
  BoundCall call;
  std::unique_ptr<Body> body =
      impl->bind(declaration, file, given, *matched, nullptr, callee, range,
                 call.inputs, call.extraRanks);
  if (!body)
    return std::nullopt;
  call.dimensions = std::move(body->dimensions);
  call.options = std::move(matched->options);
  return call;
}

std::optional<Shape>
Checker::declaredShape(const Declaration &declaration, Package::File &file,
                       const TypeSyntax &type, const BoundCall &call,
                       ArrayRef<std::pair<std::string, Size>> replaced) {
  Body body(declaration, impl->factsOf(declaration), file);
  body.use = type.range;
  body.dimensions = call.dimensions;
  for (const auto &[name, size] : replaced)
    body.dimensions[name] = {size, type.range, ""};
  for (auto [input, item] : llvm::zip(declaration.inputs, call.inputs))
    if (!input.type)
      body.names[input.name.name.str()] = {Binding::Kind::Setting,
                                           input.name.range, item};
  return impl->shapeOf(body, type);
}
