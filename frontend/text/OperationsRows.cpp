// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsRows.cpp - What the body of an attention may hold --------===//
//
// A body is computed one query at a time. So T is an axis that only elementwise
// operations may see, S one along which nothing may move, and a value has each
// of them at most once, T first.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

bool gatefold::text::isQueryAxis(Checker &checker, const Size &size) {
  AttentionContext *attention = checker.attention();
  return attention && size.symbol() == attention->query;
}

bool gatefold::text::isKeyAxis(Checker &checker, const Size &size) {
  AttentionContext *attention = checker.attention();
  return attention && size.symbol() == attention->key;
}

RowAxes gatefold::text::rowAxes(Checker &checker, ArrayRef<Size> shape) {
  RowAxes axes;
  AttentionContext *attention = checker.attention();
  if (!attention)
    return axes;
  for (const Size &size : shape) {
    if (size.symbol() == attention->query) {
      ++axes.queries;
      axes.transposed |= axes.keys != 0;
    } else if (size.symbol() == attention->key) {
      ++axes.keys;
    } else {
      bool mixed = false;
      size.forEachSymbol([&](const Symbol *symbol) {
        mixed |= symbol == attention->query || symbol == attention->key;
      });
      axes.mixed += mixed;
    }
  }
  return axes;
}

static constexpr const char *oneQuery =
    "an attention is computed one query at a time";
static constexpr const char *wholeMaps =
    "an attention is computed one query at a time; a func can hold a whole "
    "map, such as `q @ k.T`";

void gatefold::text::reportWholeMap(Checker &checker, const Twine &why,
                                    Range place) {
  checker.diagnostics
      .error(place, "the whole score map [T, S] would be needed here: " + why)
      .hint(wholeMaps);
}

void gatefold::text::reportMixesQueries(Checker &checker, StringRef what,
                                        Range place) {
  checker.diagnostics
      .error(place, Twine("`") + what + "` mixes queries, along T")
      .hint(Twine(oneQuery) +
            "; what needs only queries is computed before the call");
}

void gatefold::text::reportKeysAlone(Checker &checker, StringRef what,
                                     Range place) {
  checker.diagnostics
      .error(place, Twine("`") + what + "` works along the keys, S")
      .hint("what needs only keys is computed before the call");
}

bool gatefold::text::checkRowShape(Checker &checker, ArrayRef<Size> shape,
                                   Range place) {
  RowAxes axes = rowAxes(checker, shape);
  if (axes.queries > 1 || axes.keys > 1 || axes.mixed) {
    StringRef names = axes.queries > 1 ? "T twice"
                      : axes.keys > 1  ? "S twice"
                                       : "T or S inside an expression";
    checker.diagnostics
        .error(place, Twine("a value ") + checker.describe(shape) +
                          " cannot exist in an attention: it has " + names)
        .hint(wholeMaps);
    return false;
  }
  if (axes.transposed) {
    reportWholeMap(checker, "a map cannot be transposed", place);
    return false;
  }
  return true;
}

bool gatefold::text::checkFreeAxis(Checker &checker, StringRef what,
                                   const Tensor &tensor, unsigned ownAxis,
                                   Range place) {
  const Size &size = tensor.own()[ownAxis];
  if (isQueryAxis(checker, size)) {
    reportMixesQueries(checker, what, place);
    return false;
  }
  if (!isKeyAxis(checker, size))
    return true;
  if (rowAxes(checker, tensor.value.type().shape).queries)
    reportWholeMap(
        checker, Twine("`") + what + "` does not work along the keys of a map",
        place);
  else
    reportKeysAlone(checker, what, place);
  return false;
}

bool gatefold::text::checkNoRowAxes(Checker &checker, StringRef what,
                                    const Tensor &tensor, Range place) {
  for (unsigned axis = 0; axis < tensor.own().size(); ++axis)
    if (!checkFreeAxis(checker, what, tensor, axis, place))
      return false;
  return true;
}

Item gatefold::text::checkedItem(Checker &checker, Item item, Range place) {
  if (const Tensor *tensor = item.tensor())
    if (!checkRowShape(checker, tensor->value.type().shape, place))
      return erroneous(place);
  return item;
}
