// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Check.cpp - What all parts of the checker share --------------------===//
//
// Nodes and limits, sizes that must agree or must be known, values to check.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/CheckBody.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

Checker::Checker(Package &package, const EntryOptions &options)
    : diagnostics(package.getDiagnostics()), package(package), options(options),
      programStorage(std::make_unique<Program>()),
      impl(std::make_unique<Implementation>(*this)) {
  programStorage->floatType = options.floatType;
  impl->graph = &programStorage->body;
}

Checker::~Checker() = default;

Graph *Checker::setGraph(Graph *graph) {
  return std::exchange(impl->graph, graph);
}

void Checker::append(std::unique_ptr<Node> node, Range place) {
  node->trace = {place, impl->caller};
  impl->graph->nodes.push_back(std::move(node));
  ++impl->common->work;
  if (++impl->nodes > Implementation::maximumNodes)
    impl->exhaust(place,
                  "`" + program().name + "` is too large: more than " +
                      Twine(Implementation::maximumNodes) + " operations",
                  "inputs, parameters and states count; calls, layers and the "
                  "turns of a `for` are written out");
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

void Checker::Implementation::exhaust(Range place, const Twine &message,
                                      StringRef hint) {
  if (!std::exchange(exhausted, true))
    error(place, message).hint(hint);
}

bool Checker::Implementation::spend(Range place) {
  if (++common->work > maximumWork)
    exhaust(place,
            "too large: more than " + Twine(maximumWork) +
                " expressions are evaluated",
            "each declaration of a file is checked, with all calls, layers and "
            "turns of a `for` written out");
  if (depth > maximumDepth)
    exhaust(place,
            "calls and expressions nest more than " + Twine(maximumDepth) +
                " deep",
            "give names to parts of the expressions");
  return !exhausted;
}

//===----------------------------------------------------------------------===//
// What is not given yet
//===----------------------------------------------------------------------===//

void Checker::Implementation::note(StringRef option) {
  if (missing.insert(option.str()).second)
    missingOrder.push_back(option.str());
}

const Symbol *Checker::Implementation::newSymbol(StringRef name) {
  auto &symbols = checker.program().symbols;
  symbols.push_back({name.str(), static_cast<int>(symbols.size())});
  return &symbols.back();
}

const Symbol *Checker::Implementation::newUnknown(StringRef name) {
  auto &symbols = checker.program().bodySymbols;
  symbols.push_back({name.str(), -1});
  unknownSymbols.insert(&symbols.back());
  return &symbols.back();
}

bool Checker::isUnknown(const Size &size) const {
  bool unknown = false;
  size.forEachSymbol([&](const Symbol *symbol) {
    unknown |= impl->unknownSymbols.count(symbol) != 0;
  });
  return unknown;
}

void Checker::Implementation::needFixed(const Size &size, Range place,
                                        const Twine &what) {
  std::vector<const Symbol *> symbols;
  size.forEachSymbol([&](const Symbol *symbol) {
    if (!unknownSymbols.count(symbol) && !llvm::is_contained(symbols, symbol))
      symbols.push_back(symbol);
  });
  for (const Symbol *symbol : symbols) {
    std::string option = "--dim " + symbol->name + "=...";
    if (symbol->index >= 0 && checker.options.allowUnknown) {
      note(option);
      continue;
    }
    if (!reportedOpen.insert(symbol).second)
      continue;
    Diagnostic &diagnostic =
        error(place, what + " must be known when compiling, and `" +
                         symbol->name + "` is open");
    if (symbol->index >= 0)
      diagnostic.hint("give it: `" + option + "`");
  }
}

Item Checker::Implementation::numberItem(int64_t value, Range range) const {
  Number number;
  number.kind = Number::Kind::Whole;
  number.whole = value;
  number.real = static_cast<double>(value);
  number.size = Size(value);
  return {number, range};
}

Item Checker::Implementation::sizeItem(const Size &size, Range range) const {
  if (std::optional<int64_t> value = size.constant())
    return numberItem(*value, range);
  Number number;
  number.kind = Number::Kind::Size;
  number.size = size;
  return {number, range};
}

std::optional<int64_t> Checker::fixedWhole(const Item &item,
                                           const Twine &what) {
  if (item.isError())
    return std::nullopt;
  const Number *number = item.number();
  if (number && number->kind == Number::Kind::Whole)
    return number->whole;
  if (number && number->kind == Number::Kind::Size)
    impl->needFixed(number->size, item.range, what);
  else if (number && number->kind == Number::Kind::RunReal) {
    if (!options.allowUnknown)
      diagnostics.error(item.range,
                        what + " must be a whole number known when compiling");
  } else
    diagnostics.error(item.range, what + " must be a whole number, found " +
                                      describe(item));
  return std::nullopt;
}

std::optional<double> Checker::fixedReal(const Item &item, const Twine &what) {
  if (item.isError())
    return std::nullopt;
  const Number *number = item.number();
  if (number && number->kind == Number::Kind::Whole)
    return static_cast<double>(number->whole);
  if (number && number->kind == Number::Kind::Real)
    return number->real;
  if (number && number->kind == Number::Kind::Size)
    impl->needFixed(number->size, item.range, what);
  else if (number) {
    if (!options.allowUnknown)
      diagnostics.error(item.range,
                        what + " must be a number known when compiling");
  } else
    diagnostics.error(item.range,
                      what + " must be a number, found " + describe(item));
  return std::nullopt;
}

std::optional<Size> Checker::wholeSize(const Item &item, const Twine &what) {
  if (item.isError())
    return std::nullopt;
  const Number *number = item.number();
  if (!number) {
    diagnostics.error(item.range, what + " must be a whole number, found " +
                                      describe(item));
    return std::nullopt;
  }
  switch (number->kind) {
  case Number::Kind::Whole:
    if (number->whole < 0) {
      diagnostics.error(item.range, what + " must not be negative, found " +
                                        Twine(number->whole));
      return std::nullopt;
    }
    return Size(number->whole);
  case Number::Kind::Size:
    return number->size;
  case Number::Kind::Real:
    diagnostics.error(item.range, what + " = " +
                                      Implementation::textOf(*number) +
                                      " is not a whole number");
    return std::nullopt;
  case Number::Kind::RunReal:
    if (!options.allowUnknown)
      diagnostics
          .error(item.range, what + " must be a whole number in every run")
          .hint("round it: `//` divides and rounds down");
    return std::nullopt;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What must agree
//===----------------------------------------------------------------------===//

bool Checker::requireEqual(const Size &a, const Size &b, Range place,
                           const Twine &message,
                           llvm::function_ref<void()> report) {
  if (a == b || isUnknown(a) || isUnknown(b))
    return true;
  // T and S of an attention's body are axes, not numbers that could agree.
  bool hasAxis = false;
  auto look = [&](const Symbol *symbol) { hasAxis |= symbol->index < 0; };
  a.forEachSymbol(look);
  b.forEachSymbol(look);
  if (hasAxis || a.provablyDiffers(b)) {
    report();
    return false;
  }
  std::string text = message.str();
  if (impl->equalityKeys.insert(a.str() + " = " + b.str() + " " + text).second)
    program().equalities.push_back({a, b, std::move(text), place});
  return true;
}

void Checker::requireValues(Value indices, const Size &most, bool inclusive) {
  Size bound = most;
  if (isUnknown(bound))
    return;
  while (indices) {
    Node *node = indices.node;
    if (auto *input = llvm::dyn_cast<InputNode>(node)) {
      ProgramInput &entry = program().inputs[input->input];
      std::optional<Size> &limit = inclusive ? entry.atMost : entry.below;
      if (!limit)
        limit = bound;
      else if (std::optional<Size> least = Size::minimum(*limit, bound))
        limit = least;
      return;
    }
    auto source = impl->argumentSources.find(node);
    if (source != impl->argumentSources.end()) {
      indices = source->second;
      continue;
    }
    auto *operation = llvm::dyn_cast<ElementwiseNode>(node);
    if (operation && operation->op == ElementwiseOp::Add) {
      // v + c is in its bounds where v is, if these are c less.
      unsigned known = knownSize(operation->operands[0]) ? 0 : 1;
      std::optional<Size> added = knownSize(operation->operands[known]);
      std::optional<Size> rest =
          added ? Size::subtract(bound, *added) : std::nullopt;
      if (!rest)
        return;
      bound = *rest;
      indices = operation->operands[1 - known];
      continue;
    }
    if (operation)
      if (operation->op != ElementwiseOp::Convert ||
          !isInteger(operation->operands[0].type().element))
        return;
    switch (node->kind) {
    case Node::Kind::Reshape:
    case Node::Kind::Permute:
    case Node::Kind::Broadcast:
    case Node::Kind::Flip:
    case Node::Kind::Elementwise:
      indices = node->operands[0];
      break;
    default:
      // What a slice leaves out may be anything.
      return;
    }
  }
}

std::string
Checker::Implementation::describeDeclared(const TypeSyntax &type,
                                          ArrayRef<Size> shape) const {
  std::string text;
  if (type.element && *type.element != checker.floatType())
    text += spelling(*type.element);
  text += "[";
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (i)
      text += ", ";
    // A known dimension shows as `T=3`.
    if (size.constant() && i < type.shape.size() &&
        !llvm::isa<NumberExpression>(type.shape[i].get()))
      text += (textOf(type.shape[i]->range) + "=").str();
    text += size.str();
  }
  return text + "]";
}

std::string Checker::Implementation::textOf(const Number &number) {
  switch (number.kind) {
  case Number::Kind::Whole:
    return std::to_string(number.whole);
  case Number::Kind::Size:
    return number.size.str();
  case Number::Kind::Real: {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", number.real);
    return text;
  }
  case Number::Kind::RunReal:
    return "a number of the run";
  }
  return "";
}

StringRef gatefold::text::spelling(Binding::Kind kind) {
  switch (kind) {
  case Binding::Kind::Input:
    return "an input";
  case Binding::Kind::Setting:
    return "a setting";
  case Binding::Kind::Dimension:
    return "a dimension";
  case Binding::Kind::Parameter:
    return "a parameter";
  case Binding::Kind::Instance:
    return "an instance";
  case Binding::Kind::State:
    return "a state";
  case Binding::Kind::Local:
    return "a local";
  case Binding::Kind::Counter:
    return "a counter";
  }
  return "";
}
