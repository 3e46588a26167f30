// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinShapes.cpp - concat, split, reshape, pad, zeros -------------===//

#include "frontend/text/Builtins.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// More parts than this are no use, and each one is a node.
static constexpr int64_t maximumParts = 10000;

//===----------------------------------------------------------------------===//
// Joining and splitting
//===----------------------------------------------------------------------===//

static Item callJoin(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  StringRef what = arguments.function();
  bool isStack = what == "stack";
  for (const Item *item : arguments.variadic())
    if (!item->tensor()) {
      reportNotTensor(checker, what, *item, item->range);
      return erroneous(place);
    }
  std::optional<CommonTensors> common = commonTensors(
      checker, what, arguments.variadic(), place, false, BoolUse::Alone);
  if (!common)
    return erroneous(place);
  ArrayRef<Tensor> tensors = common->tensors;
  unsigned rank = tensors[0].own().size();
  Item shown = makeItem(tensors[0], place);
  std::optional<unsigned> axis = arguments.axis(
      "axis", isStack ? 0 : -1, isStack ? rank + 1 : rank, shown);
  if (!axis)
    return erroneous(place);
  for (size_t i = 1; i < tensors.size(); ++i) {
    Range here = arguments.variadic()[i]->range;
    ArrayRef<Size> first = tensors[0].own(), other = tensors[i].own();
    std::string message =
        ("`" + what + "`: ").str() + checker.describe(shown) + " and " +
        checker.describe(makeItem(tensors[i], here)) + " do not fit";
    auto report = [&] { checker.diagnostics.error(here, message); };
    if (first.size() != other.size()) {
      report();
      return erroneous(place);
    }
    for (unsigned k = 0; k < rank; ++k)
      if ((isStack || k != *axis) &&
          !requireSame(checker, first[k], other[k], here, message, report))
        return erroneous(place);
  }
  if (isStack)
    return makeItem(checker.stack(tensors, *axis, place), place);
  for (const Tensor &tensor : tensors)
    if (!checkFreeAxis(checker, what, tensor, *axis, place))
      return erroneous(place);
  return makeItem(checker.concat(tensors, *axis, place), place);
}

std::optional<Size> gatefold::text::equalPart(Checker &checker,
                                              const Size &size,
                                              const Size &count, Range place,
                                              const Twine &message) {
  if (std::optional<Size> part = Size::divideExactly(size, count))
    return part;
  std::string text = message.str();
  auto report = [&] { checker.diagnostics.error(place, text); };
  std::optional<Size> part = Size::floorDivide(size, count);
  std::optional<Size> back = part ? Size::multiply(*part, count) : std::nullopt;
  if (!back) {
    report();
    return std::nullopt;
  }
  if (!requireSame(checker, *back, size, place, text, report))
    return std::nullopt;
  return part;
}

static Item callSplit(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = arguments.tensor("x");
  std::optional<int64_t> count = arguments.whole("n", 1, 1);
  if (!tensor || !count)
    return erroneous(place);
  if (*count > maximumParts) {
    checker.diagnostics.error(arguments.find("n")->range,
                              Twine("`split` gives at most ") +
                                  Twine(maximumParts) + " parts, found " +
                                  Twine(*count));
    return erroneous(place);
  }
  std::optional<unsigned> axis = arguments.axis(
      "axis", -1, tensor->own().size(), makeItem(*tensor, place));
  if (!axis || !checkFreeAxis(checker, "split", *tensor, *axis, place))
    return erroneous(place);
  Size size = tensor->own()[*axis];
  std::optional<Size> part =
      equalPart(checker, size, Size(*count), place,
                "`split`: a size of " + size.str() + " does not split into " +
                    Twine(*count) + " equal parts");
  if (!part)
    return erroneous(place);
  Tuple parts;
  for (int64_t i = 0; i < *count; ++i) {
    Size start = sizeOrError(checker, Size::multiply(*part, Size(i)), place);
    parts.elements.push_back(
        makeItem(checker.slice(*tensor, *axis, start, *part, 1, place), place));
  }
  return makeItem(std::move(parts), place);
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

static Item callReshape(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = arguments.tensor("x");
  if (!tensor)
    return erroneous(place);

  // One -1 stands for what is left, as in NumPy.
  const Item &item = *arguments.find("shape");
  ArrayRef<Item> elements = item.elements();
  Shape own;
  std::optional<unsigned> open;
  for (const Item &element : elements) {
    const Number *number = element.number();
    if (number && number->kind == Number::Kind::Whole && number->whole == -1 &&
        !open) {
      open = own.size();
      own.push_back(Size(1));
      continue;
    }
    std::optional<Size> size = checker.wholeSize(element, "a dimension");
    if (!size)
      return erroneous(place);
    own.push_back(*size);
  }
  std::optional<Size> before = product(tensor->own()), after = product(own);
  if (!before || !after) {
    sizeOrError(checker, std::nullopt, place);
    return erroneous(place);
  }
  std::string message =
      "`reshape`: " + checker.describe(makeItem(*tensor, place)) + " has " +
      before->str() + " elements, " + checker.describe(own) + " has " +
      after->str();
  if (open) {
    std::string leftOver =
        "`reshape`: the elements of " +
        checker.describe(makeItem(*tensor, place)) +
        " are no multiple of those of the other dimensions, " + after->str();
    std::optional<Size> size =
        equalPart(checker, *before, *after, place, leftOver);
    if (!size)
      return erroneous(place);
    own[*open] = *size;
  } else if (!requireSame(checker, *before, *after, place, message,
                          [&] { checker.diagnostics.error(place, message); })) {
    return erroneous(place);
  }

  // In an attention what stands up to the last of T and S stays as it is.
  unsigned kept = 0;
  for (unsigned axis = 0; axis < tensor->own().size(); ++axis)
    if (rowAxes(checker, tensor->own()[axis]).any())
      kept = axis + 1;
  bool same = own.size() >= kept;
  for (unsigned axis = 0; axis < kept && same; ++axis)
    same = own[axis] == tensor->own()[axis];
  if (!same && !checkNoRowAxes(checker, "reshape", *tensor, place))
    return erroneous(place);
  return makeItem(checker.reshapeOwn(*tensor, own, place), place);
}

static Item callPermute(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = arguments.tensor("x");
  if (!tensor)
    return erroneous(place);
  const Item &item = *arguments.find("axes");
  ArrayRef<Item> elements = item.elements();
  unsigned rank = tensor->own().size();
  SmallVector<int64_t> permutation;
  llvm::SmallVector<bool> seen(rank, false);
  bool fits = elements.size() == rank;
  for (const Item &element : elements) {
    std::optional<int64_t> axis = checker.fixedWhole(element, "an axis");
    if (!axis)
      return erroneous(place);
    int64_t from = *axis < 0 ? *axis + int64_t(rank) : *axis;
    fits = fits && from >= 0 && from < int64_t(rank) && !seen[from];
    if (!fits)
      break;
    seen[from] = true;
    permutation.push_back(from);
  }
  if (!fits) {
    checker.diagnostics.error(
        item.range, "`permute` names each of the " + Twine(rank) + " axes of " +
                        checker.describe(makeItem(*tensor, place)) + " once");
    return erroneous(place);
  }
  Shape own;
  for (int64_t axis : permutation)
    own.push_back(tensor->own()[axis]);
  if (!checkRowShape(checker, own, place))
    return erroneous(place);
  return makeItem(checker.permuteOwn(*tensor, permutation, place), place);
}

static Item callFlip(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = arguments.tensor("x");
  if (!tensor)
    return erroneous(place);
  Item shown = makeItem(*tensor, place);
  if (!arguments.find("axis") && tensor->own().size() != 1) {
    checker.diagnostics.error(
        place, "flip of a tensor " + checker.describe(shown) + " needs axis=");
    return erroneous(place);
  }
  std::optional<unsigned> axis =
      arguments.axis("axis", 0, tensor->own().size(), shown);
  if (!axis || !checkFreeAxis(checker, "flip", *tensor, *axis, place))
    return erroneous(place);
  auto &node = checker.make<FlipNode>(place);
  node.axis = tensor->leadRank + *axis;
  node.operands.push_back(tensor->value);
  node.results.push_back(tensor->value.type());
  return makeItem(Tensor{Value{&node, 0}, tensor->leadRank}, place);
}

static Item callPad(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> tensor = arguments.tensor("x");
  std::optional<Size> left = arguments.size("left", Size());
  std::optional<Size> right = arguments.size("right", Size());
  std::optional<unsigned> mode =
      arguments.choice("mode", {"zero", "reflect", "edge"});
  if (!tensor || !left || !right || !mode)
    return erroneous(place);
  if (tensor->own().empty()) {
    checker.diagnostics.error(arguments.find("x")->range,
                              "`pad` needs a vector, found " +
                                  checker.describe(makeItem(*tensor, place)));
    return erroneous(place);
  }
  unsigned axis = tensor->own().size() - 1;
  if (!checkFreeAxis(checker, "pad", *tensor, axis, place))
    return erroneous(place);
  PadMode padMode = *mode == 0   ? PadMode::Zero
                    : *mode == 1 ? PadMode::Reflect
                                 : PadMode::Edge;
  Size size = tensor->own()[axis];
  // What is repeated must exist: in a run, where a size is open.
  int64_t beyond = padMode == PadMode::Reflect ? 1 : 0;
  for (const Size &amount : {*left, *right}) {
    if (padMode == PadMode::Zero || amount.isConstant(0))
      continue;
    std::optional<Size> needed = padMode == PadMode::Edge
                                     ? std::optional<Size>(Size(1))
                                     : Size::add(amount, Size(beyond));
    std::optional<Size> least =
        needed ? Size::minimum(size, *needed) : std::nullopt;
    std::string message =
        "`pad`: " + amount.str() + " more of a size of " + size.str() +
        (beyond ? " cannot be reflected" : " cannot repeat its edge");
    auto report = [&] { checker.diagnostics.error(place, message); };
    if (!least ||
        !checker.requireEqual(*least, *needed, place, message, report)) {
      if (!least)
        report();
      return erroneous(place);
    }
  }
  std::optional<Size> total = Size::add(size, *left);
  if (total)
    total = Size::add(*total, *right);
  TensorType type = tensor->value.type();
  type.shape.back() = sizeOrError(checker, total, place);
  auto &node = checker.make<PadNode>(place);
  node.axis = tensor->leadRank + axis;
  node.left = *left;
  node.right = *right;
  node.mode = padMode;
  node.operands.push_back(tensor->value);
  node.results.push_back(type);
  return makeItem(Tensor{Value{&node, 0}, tensor->leadRank}, place);
}

//===----------------------------------------------------------------------===//
// Making tensors
//===----------------------------------------------------------------------===//

static Item callFill(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Shape> shape = arguments.shape("shape");
  if (!shape || !checkRowShape(checker, *shape, place))
    return erroneous(place);
  double value = arguments.function() == "ones" ? 1 : 0;
  Tensor scalar = checker.constant(value, checker.floatType(), place);
  return makeItem(checker.broadcast(scalar, {}, *shape, place), place);
}

static Item callArange(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Size> size = arguments.size("n", Size());
  if (!size)
    return erroneous(place);
  if (isQueryAxis(checker, *size)) {
    checker.diagnostics
        .error(place, "`arange(T)` does not exist in an attention, which is "
                      "computed one query at a time")
        .hint("write `row`, the index of the query");
    return erroneous(place);
  }
  return makeItem(iota(checker, *size, place), place);
}

ArrayRef<BuiltinFunction> gatefold::text::shapeFunctions() {
  static const std::vector<BuiltinFunction> functions = {
      {"concat", {{}, 1, {"axis"}, true}, callJoin},
      {"stack", {{}, 1, {"axis"}, true}, callJoin},
      {"split", {{"x", "n"}, 2, {"axis"}}, callSplit},
      {"reshape", {{"x", "shape"}, 2, {}}, callReshape},
      {"permute", {{"x", "axes"}, 2, {}}, callPermute},
      {"flip", {{"x"}, 1, {"axis"}}, callFlip},
      {"pad", {{"x"}, 1, {"left", "right", "mode"}}, callPad},
      {"zeros", {{"shape"}, 1, {}}, callFill},
      {"ones", {{"shape"}, 1, {}}, callFill},
      {"arange", {{"n"}, 1, {}}, callArange},
  };
  return functions;
}
