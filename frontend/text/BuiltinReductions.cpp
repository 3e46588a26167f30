// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinReductions.cpp - sum, mean, max, softmax, take --------------===//

#include "frontend/text/Builtins.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

std::optional<Tensor> gatefold::text::integerTensor(Checker &checker,
                                                    StringRef what,
                                                    const Item &item,
                                                    ArrayRef<Size> expected,
                                                    StringRef shown) {
  const Tensor *tensor = item.tensor();
  if (!tensor || !isInteger(tensor->element())) {
    if (!item.isError())
      checker.diagnostics.error(item.range, Twine(what) +
                                                " needs integers, found " +
                                                checker.describe(item));
    return std::nullopt;
  }
  std::string message =
      (what + " is " + checker.describe(tensor->own()) + ", expected " + shown)
          .str();
  auto report = [&] { checker.diagnostics.error(item.range, message); };
  if (tensor->own().size() != expected.size()) {
    report();
    return std::nullopt;
  }
  for (auto [given, size] : llvm::zip(tensor->own(), expected))
    if (!requireSame(checker, given, size, item.range, message, report))
      return std::nullopt;
  return *tensor;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What an attention lets be reduced: along the keys of a map, and along what
/// is neither T nor S.
static bool checkReduction(Arguments &arguments, const Tensor &tensor,
                           unsigned ownAxis) {
  Checker &checker = arguments.checker;
  const Size &size = tensor.own()[ownAxis];
  bool isMap = rowAxes(checker, tensor.value.type().shape).isMap();
  if (isKeyAxis(checker, size) && isMap && arguments.function() != "argmax" &&
      !arguments.find("lengths"))
    return true;
  return checkFreeAxis(checker, arguments.function(), tensor, ownAxis,
                       arguments.place());
}

/// The axis to reduce; a vector has only one.
static std::optional<unsigned> reducedAxis(Arguments &arguments,
                                           const Tensor &tensor) {
  unsigned rank = tensor.own().size();
  Item shown = makeItem(tensor, arguments.place());
  if (!arguments.find("axis") && rank != 1) {
    std::string start = arguments.function().str() + " of a tensor " +
                        arguments.checker.describe(shown);
    if (rank)
      arguments.checker.diagnostics.error(arguments.place(),
                                          start + " needs axis=");
    else
      arguments.checker.diagnostics.error(
          arguments.place(), start + ": it has no dimension to reduce");
    return std::nullopt;
  }
  return arguments.axis("axis", 0, rank, shown);
}

static Item callReduce(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  ReduceKind kind = llvm::StringSwitch<ReduceKind>(arguments.function())
                        .Case("sum", ReduceKind::Sum)
                        .Case("mean", ReduceKind::Mean)
                        .Case("max", ReduceKind::Maximum)
                        .Case("min", ReduceKind::Minimum)
                        .Default(ReduceKind::ArgMaximum);
  std::optional<Tensor> given = arguments.tensor("x", false);
  std::optional<bool> keep = arguments.flag("keep", false);
  if (!given || !keep)
    return erroneous(place);
  Tensor tensor = *given;
  std::optional<unsigned> axis = reducedAxis(arguments, tensor);
  if (!axis || !checkReduction(arguments, tensor, *axis))
    return erroneous(place);
  if (kind == ReduceKind::Mean && !isFloat(tensor.element()))
    tensor = checker.convert(tensor, checker.floatType(), place);

  Size size = tensor.own()[*axis];
  std::optional<Tensor> lengths;
  const Item *item = arguments.find("lengths");
  if (const Number *number = item ? item->number() : nullptr;
      number && asSize(*number)) {
    // The same for all: a slice.
    Size count = *asSize(*number);
    if (!requireWithin(checker, count, size, item->range,
                       "lengths is " + count.str() + ", found a size of " +
                           size.str()))
      return erroneous(place);
    tensor = checker.slice(tensor, *axis, Size(), count, 1, place);
  } else if (item) {
    Shape before(tensor.own().take_front(*axis));
    lengths = integerTensor(checker, "lengths", *item, before,
                            checker.describe(before));
    if (!lengths)
      return erroneous(place);
    checker.requireValues(lengths->value, size, true);
    // Both have the whole lead, so that their shapes say which belongs to
    // which.
    Shape lead = commonLead({tensor, *lengths});
    lengths = checker.broadcast(*lengths, lead, before, place);
    tensor = checker.broadcast(tensor, lead, Shape(tensor.own()), place);
  }
  Tensor result = reduce(checker, kind, tensor, *axis, place, lengths);
  if (*keep) {
    Shape own(tensor.own());
    own[*axis] = Size(1);
    result = checker.reshapeOwn(result, own, place);
  }
  return makeItem(result, place);
}

//===----------------------------------------------------------------------===//
// softmax outside an attention
//===----------------------------------------------------------------------===//

static Item callSoftmax(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> given = arguments.tensor("x", false);
  if (!given)
    return erroneous(place);
  Tensor tensor = *given;
  if (!isFloat(tensor.element()))
    tensor = checker.convert(tensor, checker.floatType(), place);
  std::optional<unsigned> axis =
      arguments.axis("axis", -1, tensor.own().size(), makeItem(tensor, place));
  if (!axis)
    return erroneous(place);

  std::optional<Tensor> where;
  const Item *mask = arguments.find("where");
  if (mask && mask->boolean()) {
    where = checker.numberTensor(wholeNumber(*mask->boolean()), Element::Bool,
                                 place);
  } else if (mask) {
    where = arguments.tensor("where");
    if (!where)
      return erroneous(place);
    if (where->element() != Element::Bool) {
      checker.diagnostics.error(mask->range, "`where` needs bool, found " +
                                                 checker.describe(*mask));
      return erroneous(place);
    }
  }
  if (where) {
    Tensor both[] = {tensor, *where};
    std::optional<Shape> own = commonOwnShape(checker, "softmax", both, place);
    if (!own)
      return erroneous(place);
    tensor = checker.broadcast(both[0], commonLead(both), *own, place);
    where = both[1];
    // The axis counts from the left; broadcasting may have added some there.
    if (own->size() != given->own().size()) {
      axis = arguments.axis("axis", -1, own->size(), makeItem(tensor, place));
      if (!axis)
        return erroneous(place);
    }
    where = alignOwn(checker, *where, own->size(), place);
  }
  auto &node = checker.make<SoftmaxNode>(place);
  node.axis = tensor.leadRank + *axis;
  node.operands.push_back(tensor.value);
  if (where)
    node.operands.push_back(where->value);
  node.results.push_back(tensor.value.type());
  return makeItem(Tensor{Value{&node, 0}, tensor.leadRank}, place);
}

//===----------------------------------------------------------------------===//
// take
//===----------------------------------------------------------------------===//

/// A table that is mapped, [lead.., N, rest..], as [lead * N, rest..], and the
/// indices moved to the part that each lead has of it.
static void flattenTable(Checker &checker, Tensor &table, Tensor &indices,
                         Range place) {
  Shape lead = commonLead({table, indices});
  table = checker.broadcast(table, lead, Shape(table.own()), place);
  indices = checker.broadcast(indices, lead, Shape(indices.own()), place);
  Size rows = sizeOrError(checker, product(lead), place);
  Tensor offset = checker.reshapeOwn(iota(checker, rows, place), lead, place);
  Tensor step =
      checker.numberTensor(sizeNumber(table.own()[0]), Element::I64, place);
  offset = apply(checker, ElementwiseOp::Multiply, offset, step, place);
  offset.leadRank = lead.size();
  indices = checker.convert(indices, Element::I64, place);
  indices = checker.elementwise(ElementwiseOp::Add, {indices, offset},
                                Shape(indices.own()), Element::I64, place);
  Shape flat(table.own());
  flat[0] = sizeOrError(checker, Size::multiply(rows, flat[0]), place);
  table = checker.reshapeOwn({table.value, 0}, flat, place);
}

Item gatefold::text::takeItem(Checker &checker, StringRef what,
                              const Tensor &given, const Item &item,
                              Range place) {
  Tensor table = given;
  Size count = table.own()[0];
  std::optional<Tensor> indices;
  if (const Number *number = item.number()) {
    if (std::optional<Size> size = asSize(*number)) {
      if (!requireWithin(checker, *size, Size::subtract(count, Size(1)),
                         item.range,
                         "index " + size->str() +
                             " is out of range for a size of " + count.str()))
        return erroneous(place);
      indices = checker.numberTensor(*number, Element::I64, place);
    }
  } else if (const Tensor *tensor = item.tensor()) {
    if (isInteger(tensor->element()))
      indices = *tensor;
  }
  if (!indices) {
    if (!item.isError()) {
      Diagnostic &error = checker.diagnostics.error(
          item.range, Twine("`") + what + "` needs integers, found " +
                          checker.describe(item));
      if (item.tensor())
        error.hint("convert it: `i64(x)`");
    }
    return erroneous(place);
  }
  if (!item.number())
    checker.requireValues(indices->value, count, false);
  if (table.leadRank)
    flattenTable(checker, table, *indices, place);
  Shape own(indices->own());
  own.append(table.own().begin() + 1, table.own().end());
  auto &node = checker.make<TakeNode>(place);
  node.operands = {table.value, indices->value};
  TensorType type;
  type.element = table.element();
  type.shape.assign(indices->lead().begin(), indices->lead().end());
  type.shape.append(own.begin(), own.end());
  node.results.push_back(type);
  return makeItem(Tensor{Value{&node, 0}, indices->leadRank}, place);
}

static Item callTake(Arguments &arguments) {
  Checker &checker = arguments.checker;
  Range place = arguments.place();
  std::optional<Tensor> table = arguments.tensor("x");
  if (!table)
    return erroneous(place);
  if (table->own().empty()) {
    checker.diagnostics.error(
        arguments.find("x")->range,
        "`take` needs a table of one dimension or more, found " +
            checker.describe(*arguments.find("x")));
    return erroneous(place);
  }
  if (!checkNoRowAxes(checker, "take", *table, place))
    return erroneous(place);
  return takeItem(checker, "take", *table, *arguments.find("i"), place);
}

ArrayRef<BuiltinFunction> gatefold::text::reductionFunctions() {
  static const std::vector<BuiltinFunction> functions = {
      {"sum", {{"x"}, 1, {"axis", "keep", "lengths"}}, callReduce},
      {"mean", {{"x"}, 1, {"axis", "keep", "lengths"}}, callReduce},
      {"argmax", {{"x"}, 1, {"axis", "keep", "lengths"}}, callReduce},
      {"softmax", {{"x"}, 1, {"axis", "where"}}, callSoftmax},
      {"take", {{"x", "i"}, 2, {}}, callTake},
  };
  return functions;
}
