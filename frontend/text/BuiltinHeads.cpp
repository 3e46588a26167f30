// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinHeads.cpp - split_heads, merge_heads, rotary ----------------===//
//
// Made of reshapes, products and tables: nothing here needs a node of its own.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Builtins.h"
#include <cmath>
#include <numeric>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// `x` of at least `rank` dimensions.
static std::optional<Tensor> tensorOfRank(Arguments &arguments, StringRef name,
                                          unsigned rank) {
  std::optional<Tensor> tensor =
      arguments.tensor(name, arguments.function() != "rotary");
  if (!tensor || tensor->own().size() >= rank)
    return tensor;
  const Item &item = *arguments.find(name);
  Diagnostic &error = arguments.checker.diagnostics.error(
      item.range, Twine("`") + name + "` is " +
                      arguments.checker.describe(item) + ", expected " +
                      Twine(rank) + " dimensions or more");
  if (tensor->own().size() == 1)
    error.hint("a new dimension: `x[None, :]`");
  return std::nullopt;
}

static Item callSplitHeads(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = tensorOfRank(arguments, "x", 2);
  std::optional<Size> heads = arguments.size("n", Size(1));
  if (!tensor || !heads)
    return erroneous(place);
  if (!checkFreeAxis(checker, "split_heads", *tensor, tensor->own().size() - 1,
                     place))
    return erroneous(place);
  Size size = tensor->own().back();
  std::optional<Size> width =
      equalPart(checker, size, *heads, place,
                "`split_heads`: a size of " + size.str() +
                    " does not split into " + heads->str() + " heads");
  if (!width)
    return erroneous(place);
  Shape own(tensor->own().drop_back());
  own.push_back(*heads);
  own.push_back(*width);
  Tensor result = checker.reshapeOwn(*tensor, own, place);
  SmallVector<int64_t> permutation(own.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[own.size() - 3], permutation[own.size() - 2]);
  return makeItem(checker.permuteOwn(result, permutation, place), place);
}

static Item callMergeHeads(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = tensorOfRank(arguments, "x", 3);
  if (!tensor)
    return erroneous(place);
  unsigned rank = tensor->own().size();
  for (unsigned axis : {rank - 3, rank - 1})
    if (!checkFreeAxis(checker, "merge_heads", *tensor, axis, place))
      return erroneous(place);
  SmallVector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 3], permutation[rank - 2]);
  Tensor result = checker.permuteOwn(*tensor, permutation, place);
  Shape own(result.own().drop_back(2));
  own.push_back(sizeOrError(
      checker, Size::multiply(result.own()[rank - 2], result.own()[rank - 1]),
      place));
  return makeItem(checker.reshapeOwn(result, own, place), place);
}

//===----------------------------------------------------------------------===//
// rotary
//===----------------------------------------------------------------------===//

/// The positions as f64 [.., T] or []; nothing after an error.
static std::optional<Tensor> positionsOf(Arguments &arguments,
                                         const Size &count) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  const Item *item = arguments.find("positions");
  if (!item) {
    if (isQueryAxis(checker, count) || isKeyAxis(checker, count)) {
      checker.diagnostics
          .error(place, "`rotary` in an attention needs positions=")
          .hint("rotate queries and keys before the call");
      return std::nullopt;
    }
    return checker.convert(iota(checker, count, place), Element::F64, place);
  }
  if (const Number *number = item->number())
    return checker.numberTensor(*number, Element::F64, place);
  std::optional<Tensor> tensor = arguments.tensor("positions", false);
  if (!tensor)
    return std::nullopt;
  return checker.convert(*tensor, Element::F64, place);
}

static Item callRotary(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> given = tensorOfRank(arguments, "x", 2);
  std::optional<double> base = arguments.real("base", 10000);
  std::optional<bool> interleaved = arguments.flag("interleaved", false);
  if (!given || !base || !interleaved)
    return erroneous(place);
  if (!(*base > 0) || !std::isfinite(*base)) {
    checker.diagnostics.error(arguments.find("base")->range,
                              "`base` is a positive number");
    return erroneous(place);
  }
  Tensor x = *given;
  if (!isFloat(x.element()))
    x = checker.convert(x, checker.floatType(), place);
  unsigned rank = x.own().size(), last = rank - 1;
  if (!checkFreeAxis(checker, "rotary", x, last, place))
    return erroneous(place);
  Size width = x.own()[last];
  std::optional<Size> half = equalPart(
      checker, width, Size(2), place,
      "`rotary` rotates pairs, and a size of " + width.str() + " is odd");
  std::optional<Tensor> positions = positionsOf(arguments, x.own()[rank - 2]);
  if (!half || !positions)
    return erroneous(place);

  // The positions must broadcast to what stands before the width.
  Shape before(x.own().drop_back());
  std::string message = "`rotary`: positions " +
                        checker.describe(positions->own()) + " and " +
                        checker.describe(makeItem(x, place)) + " do not fit";
  auto report = [&] { checker.diagnostics.error(place, message); };
  std::optional<Shape> common = checker.broadcastShapes(
      {positions->own(), before}, place, message, report);
  if (!common)
    return erroneous(place);

  // position * base^(-2i/D), in f64: positions in the millions keep their
  // angle.
  Tensor exponent =
      checker.convert(iota(checker, *half, place), Element::F64, place);
  Tensor scale = checker.constant(-2, Element::F64, place);
  Tensor size = checker.numberTensor(sizeNumber(width), Element::F64, place);
  exponent = apply(checker, ElementwiseOp::Multiply, exponent, scale, place);
  exponent = apply(checker, ElementwiseOp::Divide, exponent, size, place);
  Tensor frequency = checker.elementwise(
      ElementwiseOp::Power,
      {checker.constant(*base, Element::F64, place), exponent}, {*half},
      Element::F64, place);
  Shape column(positions->own());
  column.push_back(Size(1));
  Shape angles(positions->own());
  angles.push_back(*half);
  Tensor angle = checker.elementwise(
      ElementwiseOp::Multiply,
      {checker.reshapeOwn(*positions, column, place), frequency}, angles,
      Element::F64, place);
  Tensor cosine = checker.convert(
      apply(checker, ElementwiseOp::Cos, angle, place), x.element(), place);
  Tensor sine = checker.convert(
      apply(checker, ElementwiseOp::Sin, angle, place), x.element(), place);

  int64_t step = *interleaved ? 2 : 1;
  Size secondStart = *interleaved ? Size(1) : *half;
  Tensor first = checker.slice(x, last, Size(), *half, step, place);
  Tensor second = checker.slice(x, last, secondStart, *half, step, place);
  auto times = [&](const Tensor &a, const Tensor &b) {
    Shape own = *common;
    own.push_back(*half);
    return checker.elementwise(ElementwiseOp::Multiply, {a, b}, own,
                               x.element(), place);
  };
  Tensor left = apply(checker, ElementwiseOp::Subtract, times(first, cosine),
                      times(second, sine), place);
  Tensor right = apply(checker, ElementwiseOp::Add, times(second, cosine),
                       times(first, sine), place);
  if (!*interleaved)
    return makeItem(checker.concat({left, right}, common->size(), place),
                    place);
  Tensor pairs = checker.stack({left, right}, common->size() + 1, place);
  Shape own = *common;
  own.push_back(width);
  return makeItem(checker.reshapeOwn(pairs, own, place), place);
}

ArrayRef<BuiltinFunction> gatefold::text::headFunctions() {
  static const std::vector<BuiltinFunction> functions = {
      {"split_heads", {{"x", "n"}, 2, {}}, callSplitHeads},
      {"merge_heads", {{"x"}, 1, {}}, callMergeHeads},
      {"rotary", {{"x"}, 1, {"base", "interleaved", "positions"}}, callRotary},
  };
  return functions;
}
