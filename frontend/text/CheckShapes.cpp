// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckShapes.cpp - Shapes, their names, defaults of settings --------===//

#include "frontend/text/CheckBody.h"
#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

TensorType Checker::Implementation::typeOf(const TypeSyntax &type,
                                           Shape shape) const {
  return {elementOf(type), std::move(shape)};
}

std::string Checker::Implementation::explain(Body &body,
                                             const Expression &expression) {
  std::string text;
  const Expression *shown = &withoutParentheses(expression);
  if (auto *name = llvm::dyn_cast<NameExpression>(shown))
    if (Binding *binding = body.find(name->name); binding && binding->source) {
      text = (name->name + " = " + textOf(binding->source->range)).str();
      shown = binding->source;
    }
  std::set<StringRef> seen;
  walk(*shown, [&](const Expression &part) {
    auto *name = llvm::dyn_cast<NameExpression>(&part);
    if (!name || !seen.insert(name->name).second)
      return;
    Item item;
    if (auto found = body.dimensions.find(name->name.str());
        found != body.dimensions.end())
      item = sizeItem(found->second.size, name->range);
    else if (Binding *binding = body.find(name->name))
      item = binding->item;
    if (const Number *number = item.number())
      text +=
          (text.empty() ? "" : ", ") + name->name.str() + "=" + textOf(*number);
  });
  return text;
}

std::optional<Size>
Checker::Implementation::dimensionFrom(const Item &item, Body *scope,
                                       const Expression *expression) {
  auto explained = [&](Diagnostic &diagnostic) {
    if (!scope || !expression)
      return;
    std::string text = explain(*scope, *expression);
    if (!text.empty())
      diagnostic.hint(text);
  };
  if (item.isError())
    return std::nullopt;
  const Number *number = item.number();
  if (!number) {
    error(item.range, "a dimension must be a whole number, found " +
                          checker.describe(item));
    return std::nullopt;
  }
  switch (number->kind) {
  case Number::Kind::Whole:
    if (number->whole >= 0)
      return Size(number->whole);
    explained(error(item.range,
                    "a dimension = " + Twine(number->whole) + " is negative"));
    return std::nullopt;
  case Number::Kind::Size:
    return number->size;
  case Number::Kind::Real:
    explained(error(item.range, "a dimension = " + textOf(*number) +
                                    " is not a whole number"));
    return std::nullopt;
  case Number::Kind::RunReal:
    if (checker.options.allowUnknown)
      return Size(newUnknown(textOf(item.range)));
    // Where the size of an open dimension was asked for, it may be whole.
    if (reportedOpen.empty())
      error(item.range, "a dimension must be a whole number in every run")
          .hint("round it: `//` divides and rounds down");
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Size>
Checker::Implementation::dimensionOf(Body &body, const Expression &expression) {
  return dimensionFrom(evaluate(body, expression), &body, &expression);
}

std::optional<Shape> Checker::Implementation::shapeOf(Body &body,
                                                      const TypeSyntax &type) {
  if (type.shape.size() > maximumRank) {
    error(type.range, "this has " + Twine(type.shape.size()) +
                          " dimensions; a tensor has at most " +
                          Twine(maximumRank));
    return std::nullopt;
  }
  Shape shape;
  bool complete = true;
  for (const ExpressionPtr &expression : type.shape) {
    std::optional<Size> size = dimensionOf(body, *expression);
    complete &= size.has_value();
    shape.push_back(size.value_or(Size()));
  }
  if (!complete)
    return std::nullopt;
  return shape;
}

//===----------------------------------------------------------------------===//
// Names of shapes
//===----------------------------------------------------------------------===//

Item Checker::Implementation::dimensionItem(Body &body, StringRef name,
                                            Range place) {
  auto found = body.dimensions.find(name.str());
  if (found != body.dimensions.end())
    return sizeItem(found->second.size, place);
  if (body.unknownDimensions.count(name))
    return {Erroneous(), place};
  StringRef declaration = body.declaration.name.name;
  if (body.isEntry) {
    std::string option = ("--dim " + name + "=...").str();
    if (checker.options.allowUnknown) {
      note(option);
      Size symbol(newSymbol(name));
      body.dimensions[name.str()] = {symbol, place, ""};
      return sizeItem(symbol, place);
    }
    error(place,
          "dimension `" + name + "` of `" + declaration + "` is not known")
        .hint("give it: `" + option + "`");
  } else {
    Diagnostic &diagnostic =
        error(body.use,
              "dimension `" + name + "` of `" + declaration + "` is not known");
    diagnostic.note(place, "it is needed here");
    if (body.instance && body.instance->range.end != 0 &&
        body.instance->declaration)
      diagnostic.note(body.instance->range,
                      "`" + body.instance->name.name + "` is declared here");
    diagnostic.hint("write `" + declaration + "(" + name + "=...)`");
  }
  body.unknownDimensions.insert(name);
  return {Erroneous(), place};
}

llvm::SmallVector<StringRef, 2>
Checker::Implementation::unknownNames(Body &body, const Expression &expression,
                                      const InputSyntax *before) {
  llvm::SmallVector<StringRef, 2> unknown;
  walk(expression, [&](const Expression &part) {
    auto *use = llvm::dyn_cast<NameExpression>(&part);
    if (!use || unknown.size() > 1)
      return;
    StringRef name = use->name;
    const InputSyntax *input = body.facts.input(name);
    if (body.find(name) || body.dimensions.count(name.str()) ||
        (input && input->type))
      return;
    if (input && input->defaultValue && (!before || input < before) &&
        unknownNames(body, *input->defaultValue, input).empty()) {
      bindDefault(body, *input);
      return;
    }
    unknown.push_back(name);
  });
  return unknown;
}

bool Checker::Implementation::bindDefault(Body &body,
                                          const InputSyntax &input) {
  Binding binding;
  binding.kind = Binding::Kind::Setting;
  binding.declared = input.name.range;
  binding.item = evaluate(body, *input.defaultValue);
  binding.source = input.defaultValue.get();
  if (binding.item.tensor() || binding.item.tuple()) {
    error(input.defaultValue->range,
          "a setting is a number, `true`, `false` or a string, found " +
              checker.describe(binding.item));
    binding.item = {Erroneous(), input.defaultValue->range};
  }
  bool good = !binding.item.isError();
  body.names[input.name.name.str()] = std::move(binding);
  return good;
}

bool Checker::Implementation::bindDefaults(Body &body) {
  bool good = true;
  for (const InputSyntax &input : body.declaration.inputs) {
    if (input.type || body.find(input.name.name))
      continue;
    if (input.defaultValue) {
      bindDefault(body, input);
      continue;
    }
    StringRef name = input.name.name, declaration = body.declaration.name.name;
    if (body.isEntry && checker.options.allowUnknown) {
      note(("--arg " + name + "=...").str());
      Binding binding;
      binding.kind = Binding::Kind::Setting;
      binding.declared = input.name.range;
      binding.item = unknownSetting(body.declaration, body.file, input);
      body.names[name.str()] = std::move(binding);
      continue;
    }
    good = false;
    Diagnostic &diagnostic =
        error(body.isEntry ? input.name.range : body.use,
              "`" + declaration + "` needs its setting `" + name + "`");
    if (body.isEntry) {
      diagnostic.hint("give it: `--arg " + name + "=...`");
      continue;
    }
    diagnostic.note(input.name.range, "declared here");
    diagnostic.hint("write `" + declaration + "(" + name + "=...)`");
  }
  return good;
}
