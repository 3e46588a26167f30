// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinCaches.cpp - append -----------------------------------------===//
//
// Rows written into a tensor of a fixed capacity: the caches of a generation.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Builtins.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::Twine;

/// Both tensors agree but along the axis, and in their type.
static bool checkRows(Arguments &arguments, const Tensor &cache, Tensor &rows,
                      unsigned axis) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  if (cache.element() != rows.element()) {
    if (isFloat(cache.element()) && isInteger(rows.element())) {
      rows = checker.convert(rows, cache.element(), place);
    } else {
      checker.diagnostics
          .error(place, Twine(spelling(cache.element())) + " and " +
                            spelling(rows.element()) + " do not mix")
          .hint(Twine("convert the rows: `") + spelling(cache.element()) +
                "(x)`");
      return false;
    }
  }
  std::string message =
      "`append`: " + checker.describe(makeItem(cache, place)) + " and rows " +
      checker.describe(makeItem(rows, place)) + " do not fit";
  auto report = [&] { checker.diagnostics.error(place, message); };
  for (unsigned k = 0; k < cache.own().size(); ++k)
    if (k != axis && !requireSame(checker, cache.own()[k], rows.own()[k], place,
                                  message, report))
      return false;
  return true;
}

/// Where the first row goes: a number, or integers shaped as the first
/// dimensions of the cache.
static std::optional<Tensor> readPlace(Arguments &arguments,
                                       const Tensor &cache, unsigned axis,
                                       const Size &count) {
  Checker &checker = arguments.checker;
  const Item &item = *arguments.find("at");
  const Size &capacity = cache.own()[axis];
  std::optional<Size> last = Size::subtract(capacity, count);
  if (!last) {
    sizeOrError(checker, last, item.range);
    return std::nullopt;
  }
  const Number *number = item.number();
  const Tensor *given = item.tensor();
  std::optional<Size> start = number ? asSize(*number) : std::nullopt;
  if (given && isInteger(given->element()))
    start = knownSize(given->value);
  if (start &&
      !requireWithin(checker, *start, last, item.range,
                     "`append`: " + count.str() + " rows at " + start->str() +
                         ", found a capacity of " + capacity.str()))
    return std::nullopt;
  if (start && number)
    return checker.numberTensor(*number, Element::I64, item.range);
  ArrayRef<Size> before = cache.own().take_front(axis);
  ArrayRef<Size> expected = before.take_front(given ? given->own().size() : 0);
  std::optional<Tensor> places =
      integerTensor(checker, "at", item, expected,
                    "the first of " + checker.describe(before));
  if (places && !start)
    checker.requireValues(places->value, *last, /*inclusive=*/true);
  return places;
}

static Item callAppend(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> cache = arguments.tensor("x");
  std::optional<Tensor> rows = arguments.tensor("rows");
  if (!cache || !rows)
    return erroneous(place);
  if (!arguments.find("at")) {
    checker.diagnostics
        .error(place, "`append` needs at=, where the first row goes")
        .hint("`append(keys, k, at=n)`, with n rows in `keys` already");
    return erroneous(place);
  }
  unsigned rank = cache->own().size();
  Item shown = makeItem(*cache, place);
  if (rank == 0 || rows->own().size() != rank) {
    checker.diagnostics.error(
        place, "`append`: " + checker.describe(shown) + " and rows " +
                   checker.describe(makeItem(*rows, place)) + " do not fit");
    return erroneous(place);
  }
  std::optional<unsigned> axis =
      arguments.axis("axis", rank == 1 ? -1 : -2, rank, shown);
  if (!axis || !checkNoRowAxes(checker, "append", *cache, place) ||
      !checkNoRowAxes(checker, "append", *rows, place) ||
      !checkRows(arguments, *cache, *rows, *axis))
    return erroneous(place);
  Size count = rows->own()[*axis];
  if (!requireWithin(checker, count, cache->own()[*axis], place,
                     "`append`: " + count.str() +
                         " rows, found a capacity of " +
                         cache->own()[*axis].str()))
    return erroneous(place);
  std::optional<Tensor> start = readPlace(arguments, *cache, *axis, count);
  if (!start)
    return erroneous(place);

  // All have the whole lead, so that shapes say which belongs to which; one
  // place for all stays one.
  Shape lead = commonLead({*cache, *rows, *start});
  *cache = checker.broadcast(*cache, lead, Shape(cache->own()), place);
  *rows = checker.broadcast(*rows, lead, Shape(rows->own()), place);
  if (start->leadRank || !start->own().empty())
    *start = checker.broadcast(*start, lead, Shape(start->own()), place);
  auto &node = checker.make<AppendNode>(place);
  node.axis = lead.size() + *axis;
  node.operands = {cache->value, rows->value, start->value};
  node.results.push_back(cache->value.type());
  return makeItem(Tensor{Value{&node, 0}, unsigned(lead.size())}, place);
}

ArrayRef<BuiltinFunction> gatefold::text::cacheFunctions() {
  static const std::vector<BuiltinFunction> functions = {
      {"append", {{"x", "rows"}, 2, {"at", "axis"}}, callAppend},
  };
  return functions;
}
