// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsMatmul.cpp - Matrix products and transposition -----------===//
//
// `@` is NumPy's matmul under mapping: leads and the dimensions before the
// matrices broadcast apart from each other, so each axis gets a label and no
// copy is made. In the body of an attention the same operator gives scores and
// weighs values.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include <numeric>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

Item Checker::transpose(const Item &base, Range place) {
  if (base.isError())
    return erroneous(place);
  const Tensor *tensor = base.tensor();
  if (!tensor) {
    reportNotTensor(*this, ".T", base, place);
    return erroneous(place);
  }
  unsigned rank = tensor->own().size();
  if (rank < 2) {
    diagnostics.error(place, "`.T` swaps the last two dimensions, found " +
                                 describe(base));
    return erroneous(place);
  }
  const Size &last = tensor->own()[rank - 1], &other = tensor->own()[rank - 2];
  if (rowAxes(*this, {other, last}).isMap()) {
    reportWholeMap(*this, "a map cannot be transposed", place);
    return erroneous(place);
  }
  SmallVector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  Tensor result = permuteOwn(*tensor, permutation, place);
  return checkedItem(*this, makeItem(result, place), place);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// The axes of an operand of `@`, and the labels that they get.
struct Operand {
  explicit Operand(const Tensor &tensor, bool isLeft) : tensor(tensor) {
    ArrayRef<Size> own = tensor.own();
    if (own.size() >= 2) {
      batch = own.drop_back(2);
      contracted = own[own.size() - (isLeft ? 1 : 2)];
      free = own[own.size() - (isLeft ? 2 : 1)];
    } else {
      contracted = own[0];
    }
  }
  const Tensor &tensor;
  ArrayRef<Size> batch;
  Size contracted;
  std::optional<Size> free;
};

class Product {
public:
  Product(Checker &checker, const Tensor &left, const Tensor &right,
          Range place)
      : checker(checker), left(left, true), right(right, false), place(place) {}

  Item make();

private:
  /// Whether it is a product of an attention's own kind, or is not allowed
  /// there.
  std::optional<Item> inAttention();
  Item scores();
  Item weighedValues();
  /// Labels of a part that broadcasts, aligned at the right.
  void label(ArrayRef<Size> axes, ArrayRef<Size> common, int64_t first,
             llvm::SmallVectorImpl<int64_t> &labels);

  Checker &checker;
  Operand left, right;
  Range place;
};

} // namespace

void Product::label(ArrayRef<Size> axes, ArrayRef<Size> common, int64_t first,
                    llvm::SmallVectorImpl<int64_t> &labels) {
  size_t skipped = common.size() - axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    bool stretched =
        axes[i].isConstant(1) && !common[skipped + i].isConstant(1);
    labels.push_back(stretched ? -1 : first + int64_t(skipped + i));
  }
}

Item Product::make() {
  std::string message =
      "`@`: " + checker.describe(makeItem(left.tensor, place)) + " and " +
      checker.describe(makeItem(right.tensor, place)) + " do not fit";
  auto report = [&] { checker.diagnostics.error(place, message); };
  if (rowAxes(checker, left.tensor.value.type().shape).isMap() &&
      rowAxes(checker, right.tensor.value.type().shape).isMap()) {
    reportWholeMap(checker, "two maps cannot be multiplied with `@`", place);
    return erroneous(place);
  }
  if (!requireSame(checker, left.contracted, right.contracted, place, message,
                   report))
    return erroneous(place);
  if (std::optional<Item> row = inAttention())
    return *row;

  std::optional<Shape> lead = checker.broadcastShapes(
      {left.tensor.lead(), right.tensor.lead()}, place, message, report);
  std::optional<Shape> batch = checker.broadcastShapes(
      {left.batch, right.batch}, place, message, report);
  if (!lead || !batch)
    return erroneous(place);

  int64_t batchLabel = lead->size();
  int64_t leftLabel = batchLabel + batch->size();
  int64_t rightLabel = leftLabel + 1, contractedLabel = leftLabel + 2;
  SmallVector<int64_t> leftLabels, rightLabels, resultLabels;
  label(left.tensor.lead(), *lead, 0, leftLabels);
  label(right.tensor.lead(), *lead, 0, rightLabels);
  label(left.batch, *batch, batchLabel, leftLabels);
  label(right.batch, *batch, batchLabel, rightLabels);

  Shape shape = *lead;
  shape.append(batch->begin(), batch->end());
  resultLabels.resize(shape.size());
  std::iota(resultLabels.begin(), resultLabels.end(), 0);
  if (left.free) {
    leftLabels.push_back(leftLabel);
    resultLabels.push_back(leftLabel);
    shape.push_back(*left.free);
  }
  leftLabels.push_back(contractedLabel);
  rightLabels.push_back(contractedLabel);
  if (right.free) {
    rightLabels.push_back(rightLabel);
    resultLabels.push_back(rightLabel);
    shape.push_back(*right.free);
  }
  if (!checkRowShape(checker, shape, place))
    return erroneous(place);
  return makeItem(contract(checker, left.tensor, right.tensor, leftLabels,
                           rightLabels, resultLabels, shape, lead->size(),
                           place),
                  place);
}

//===----------------------------------------------------------------------===//
// Products in an attention
//===----------------------------------------------------------------------===//

std::optional<Item> Product::inAttention() {
  if (!checker.attention())
    return std::nullopt;
  const Shape &leftShape = left.tensor.value.type().shape;
  const Shape &rightShape = right.tensor.value.type().shape;
  RowAxes leftAxes = rowAxes(checker, leftShape);
  RowAxes rightAxes = rowAxes(checker, rightShape);
  if (isQueryAxis(checker, left.contracted)) {
    reportMixesQueries(checker, "@", place);
    return erroneous(place);
  }
  if (isKeyAxis(checker, left.contracted)) {
    if (!leftAxes.queries && !rightAxes.queries) {
      reportKeysAlone(checker, "@", place);
      return erroneous(place);
    }
    bool isMap = leftShape.size() == 2 && leftAxes.isMap();
    if (!isMap || rightAxes.queries || rightShape.size() > 2) {
      checker.diagnostics
          .error(place, "`@` over the keys needs a score map [T, S] and values "
                        "[S, E], found " +
                            checker.describe(leftShape) + " and " +
                            checker.describe(rightShape))
          .hint("write `map @ v`");
      return erroneous(place);
    }
    return weighedValues();
  }
  // k @ q.T
  if (leftAxes.keys && !leftAxes.queries && rightAxes.queries &&
      !rightAxes.keys && left.free && isKeyAxis(checker, *left.free)) {
    reportWholeMap(checker, "a map cannot be transposed", place);
    return erroneous(place);
  }
  bool isScores = leftShape.size() == 2 && rightShape.size() == 2 &&
                  isQueryAxis(checker, leftShape[0]) &&
                  isKeyAxis(checker, rightShape[1]);
  // With T as a lead (in a func called on each query) the shapes say the same.
  return isScores ? std::optional<Item>(scores()) : std::nullopt;
}

Item Product::scores() {
  // The keys as [S, D]: what `.T` was written on, where it was.
  Tensor keys = right.tensor;
  auto *permute = llvm::dyn_cast<PermuteNode>(keys.value.node);
  if (permute && permute->permutation == SmallVector<int64_t>{1, 0})
    keys = {permute->operands[0], keys.leadRank};
  else
    keys = checker.permuteOwn({keys.value, 0}, {1, 0}, place);
  Element element = left.tensor.element();
  Element scoreElement = isFloat(element) ? element : checker.floatType();
  Tensor query = checker.convert(left.tensor, scoreElement, place);
  keys = checker.convert(keys, scoreElement, place);
  unsigned leadRank = std::max(left.tensor.leadRank, right.tensor.leadRank);
  auto &node = checker.make<RowScoresNode>(place);
  node.operands = {query.value, keys.value};
  TensorType type;
  type.element = scoreElement;
  type.shape = {left.tensor.value.type().shape[0],
                right.tensor.value.type().shape[1]};
  node.results.push_back(type);
  return makeItem(Tensor{Value{&node, 0}, leadRank}, place);
}

Item Product::weighedValues() {
  Element element = left.tensor.element();
  Element valueElement = isFloat(element) ? element : checker.floatType();
  Tensor map = checker.convert(left.tensor, valueElement, place);
  Tensor values = checker.convert(right.tensor, valueElement, place);
  bool isVector = values.value.type().rank() == 1;
  if (isVector)
    values = checker.reshapeOwn(values, {values.own()[0], Size(1)}, place);
  auto &node = checker.make<RowValuesNode>(place);
  node.operands = {map.value, values.value};
  TensorType type;
  type.element = valueElement;
  type.shape = {map.value.type().shape[0], values.value.type().shape[1]};
  node.results.push_back(type);
  Tensor result{Value{&node, 0}, map.leadRank};
  if (isVector) {
    Shape own(result.own().begin(), result.own().end() - 1);
    result = checker.reshapeOwn(result, own, place);
  }
  return makeItem(result, place);
}

Item gatefold::text::matrixMultiply(Checker &checker, const Item &left,
                                    const Item &right, Range place) {
  for (const Item *item : {&left, &right})
    if (!item->tensor() && !item->isError()) {
      reportNotTensor(checker, "@", *item, place);
      return erroneous(place);
    }
  std::optional<CommonTensors> common =
      commonTensors(checker, "@", {&left, &right}, place);
  if (!common)
    return erroneous(place);
  for (const Tensor &tensor : common->tensors)
    if (tensor.own().empty()) {
      checker.diagnostics
          .error(place, "`@` needs vectors or matrices, found the scalar " +
                            checker.describe(makeItem(tensor, place)))
          .hint("a product with a scalar is `*`");
      return erroneous(place);
    }
  return Product(checker, common->tensors[0], common->tensors[1], place).make();
}
