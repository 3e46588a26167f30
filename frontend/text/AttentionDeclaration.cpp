// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionDeclaration.cpp - What an attention declares ------------===//
//
// Where T and S may stand, and which names mean something already.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Attentions.h"
#include "frontend/text/SyntaxWalk.h"
#include "llvm/ADT/STLExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
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

static bool isName(const Expression &expression, StringRef name) {
  const Expression *shown = &expression;
  while (auto *inner = llvm::dyn_cast<ParenthesisExpression>(shown))
    shown = inner->inner.get();
  auto *use = llvm::dyn_cast<NameExpression>(shown);
  return use && use->name == name;
}

std::optional<DeclaredAxes> AttentionCall::declaredAxes(const TypeSyntax &type,
                                                        bool isInput) {
  DeclaredAxes axes;
  auto refuse = [&](const Twine &message, const Twine &remedy) {
    checker.diagnostics.error(type.range, message)
        .hint("T stands for the queries and S for the keys of every attention")
        .hint(remedy);
    return std::nullopt;
  };
  for (auto [index, size] : llvm::enumerate(type.shape)) {
    bool isQuery = isName(*size, "T"), isKey = isName(*size, "S");
    std::optional<unsigned> &axis = isQuery ? axes.query : axes.key;
    if (isQuery || isKey) {
      if (axis)
        return refuse("T and S stand at most once in a shape of an attention",
                      "what each query has of each key is `[T, S]`");
      axis = index;
      continue;
    }
    bool inside = false;
    walk(*size, [&](const Expression &part) {
      inside |= isName(part, "T") || isName(part, "S");
    });
    if (inside)
      return refuse("T and S stand alone in the shapes of an attention",
                    "give this size a name of its own");
  }
  if (isInput && axes.query && axes.key &&
      !(type.shape.size() == 2 && *axes.query == 0))
    return refuse("an input over queries and keys is [T, S]",
                  "write `[T, S]`; a call may give more dimensions in front");
  return axes;
}

bool AttentionCall::checkDeclaration() {
  bool good = true;
  bool hasQuery = false, hasKey = false;
  for (const InputSyntax &input : declaration.inputs) {
    if (llvm::is_contained(attentionReservedNames(), input.name.name)) {
      checker.diagnostics
          .error(input.name.range,
                 Twine("`") + input.name.name +
                     "` has a meaning in every attention and names no input")
          .hint("give the input another name");
      good = false;
    }
    if (!input.type)
      continue;
    std::optional<DeclaredAxes> axes = declaredAxes(*input.type, true);
    good &= axes.has_value();
    hasQuery |= !axes || axes->query;
    hasKey |= !axes || axes->key;
  }
  for (auto [has, name] : {std::pair(hasQuery, "T"), std::pair(hasKey, "S")})
    if (!has) {
      checker.diagnostics
          .error(declaration.name.range,
                 Twine("no input of the attention `") + declaration.name.name +
                     "` has the dimension `" + name + "`")
          .hint("T stands for the queries and S for the keys of every "
                "attention: `q: [T, D]`, `k: [S, D]`");
      good = false;
    }
  for (const ResultSyntax &result : declaration.results) {
    std::optional<DeclaredAxes> axes = declaredAxes(result.type, false);
    if (!axes) {
      good = false;
    } else if (axes->query && axes->key) {
      reportWholeMap(checker, "it cannot be a result", result.type.range);
      good = false;
    } else if (axes->query != 0u || axes->key) {
      checker.diagnostics
          .error(result.type.range, "a result of an attention has a row for "
                                    "each query: its first dimension is T")
          .hint("write `-> [T, E]`");
      good = false;
    }
  }
  return good;
}
