// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsBlocks.cpp - Typed building blocks -----------------------===//
//
// Each makes one node (or none, where there is nothing to do) and gives its
// type. What is wrong in a text was reported before these are called.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

static Value addResult(Node &node, Element element, ArrayRef<Size> shape) {
  TensorType type;
  type.element = element;
  type.shape.assign(shape.begin(), shape.end());
  node.results.push_back(std::move(type));
  return Value{&node, unsigned(node.results.size() - 1)};
}

static Shape joined(ArrayRef<Size> lead, ArrayRef<Size> own) {
  Shape shape(lead.begin(), lead.end());
  shape.append(own.begin(), own.end());
  return shape;
}

//===----------------------------------------------------------------------===//
// Constants and conversions
//===----------------------------------------------------------------------===//

Tensor Checker::constant(double value, Element element, Range place) {
  return numberTensor(realNumber(value), element, place);
}

/// Saturates: a double outside i64 has no whole value to cut to.
static int64_t cut(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 9223372036854775808.0)
    return INT64_MAX;
  if (value < -9223372036854775808.0)
    return INT64_MIN;
  return int64_t(value);
}

Tensor Checker::numberTensor(const Number &number, Element element,
                             Range place) {
  switch (number.kind) {
  case Number::Kind::Whole:
  case Number::Kind::Real: {
    auto &node = make<ConstantNode>(place);
    bool whole = number.kind == Number::Kind::Whole;
    if (isFloat(element))
      node.real = fixedValue(number);
    else if (element == Element::Bool)
      node.integer = fixedValue(number) != 0;
    else
      node.integer = whole ? number.whole : cut(number.real);
    return {addResult(node, element, {}), 0};
  }
  case Number::Kind::Size: {
    auto &node = make<SizeValueNode>(place);
    node.size = number.size;
    Tensor tensor{addResult(node, Element::I64, {}), 0};
    return convert(tensor, element, place);
  }
  case Number::Kind::RunReal:
    return convert({number.run, 0}, element, place);
  }
  return {};
}

Tensor Checker::convert(const Tensor &tensor, Element element, Range place) {
  if (tensor.element() == element)
    return tensor;
  auto &node = make<ElementwiseNode>(place);
  node.op = ElementwiseOp::Convert;
  node.operands.push_back(tensor.value);
  return {addResult(node, element, tensor.value.type().shape), tensor.leadRank};
}

//===----------------------------------------------------------------------===//
// Leads and broadcasting
//===----------------------------------------------------------------------===//

std::optional<Shape>
Checker::broadcastShapes(ArrayRef<ArrayRef<Size>> shapes, Range place,
                         const Twine &message,
                         llvm::function_ref<void()> report) {
  size_t rank = 0;
  for (ArrayRef<Size> shape : shapes)
    rank = std::max(rank, shape.size());
  Shape common(rank, Size(1));
  for (ArrayRef<Size> shape : shapes)
    for (size_t i = 0; i < shape.size(); ++i) {
      const Size &size = shape[shape.size() - 1 - i];
      Size &current = common[rank - 1 - i];
      if (size.isConstant(1) || size == current)
        continue;
      if (current.isConstant(1)) {
        current = size;
        continue;
      }
      if (!requireSame(*this, current, size, place, message, report))
        return std::nullopt;
      if (size.constant())
        current = size;
    }
  return common;
}

Shape gatefold::text::commonLead(ArrayRef<Tensor> tensors) {
  size_t rank = 0;
  for (const Tensor &tensor : tensors)
    rank = std::max(rank, size_t(tensor.leadRank));
  Shape common(rank, Size(1));
  for (const Tensor &tensor : tensors) {
    ArrayRef<Size> lead = tensor.lead();
    for (size_t i = 0; i < lead.size(); ++i) {
      const Size &size = lead[lead.size() - 1 - i];
      Size &current = common[rank - 1 - i];
      if (current.isConstant(1) || size.constant().value_or(1) != 1)
        current = size;
    }
  }
  return common;
}

Tensor gatefold::text::alignOwn(Checker &checker, const Tensor &tensor,
                                unsigned ownRank, Range place) {
  ArrayRef<Size> own = tensor.own();
  if (!tensor.leadRank || own.size() >= ownRank)
    return tensor;
  Shape shape(ownRank - own.size(), Size(1));
  shape.append(own.begin(), own.end());
  return checker.reshapeOwn(tensor, shape, place);
}

Tensor Checker::elementwise(ElementwiseOp op, ArrayRef<Tensor> operands,
                            ArrayRef<Size> ownShape, Element element,
                            Range place) {
  Shape lead = commonLead(operands);
  SmallVector<Value, 3> aligned;
  for (const Tensor &operand : operands)
    aligned.push_back(alignOwn(*this, operand, ownShape.size(), place).value);
  auto &node = make<ElementwiseNode>(place);
  node.op = op;
  node.operands = aligned;
  return {addResult(node, element, joined(lead, ownShape)),
          unsigned(lead.size())};
}

Tensor Checker::broadcast(const Tensor &tensor, ArrayRef<Size> lead,
                          ArrayRef<Size> own, Range place) {
  Shape shape = joined(lead, own);
  if (tensor.leadRank == lead.size() &&
      ArrayRef<Size>(tensor.value.type().shape) == ArrayRef<Size>(shape))
    return tensor;
  Value operand = alignOwn(*this, tensor, own.size(), place).value;
  auto &node = make<BroadcastNode>(place);
  node.operands.push_back(operand);
  return {addResult(node, tensor.element(), shape), unsigned(lead.size())};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Tensor Checker::reshapeOwn(const Tensor &tensor, ArrayRef<Size> own,
                           Range place) {
  if (tensor.own() == own)
    return tensor;
  Shape shape = joined(tensor.lead(), own);
  auto &node = make<ReshapeNode>(place);
  node.operands.push_back(tensor.value);
  return {addResult(node, tensor.element(), shape), tensor.leadRank};
}

Tensor Checker::concat(ArrayRef<Tensor> tensors, unsigned ownAxis,
                       Range place) {
  Shape lead = commonLead(tensors);
  Shape own(tensors[0].own().begin(), tensors[0].own().end());
  SmallVector<Value, 4> operands;
  Size total;
  for (const Tensor &tensor : tensors) {
    operands.push_back(broadcast(tensor, lead, tensor.own(), place).value);
    total = sizeOrError(*this, Size::add(total, tensor.own()[ownAxis]), place);
  }
  own[ownAxis] = total;
  auto &node = make<ConcatNode>(place);
  node.axis = lead.size() + ownAxis;
  node.operands.assign(operands.begin(), operands.end());
  return {addResult(node, tensors[0].element(), joined(lead, own)),
          unsigned(lead.size())};
}

Tensor Checker::stack(ArrayRef<Tensor> tensors, unsigned ownAxis, Range place) {
  SmallVector<Tensor> widened;
  for (const Tensor &tensor : tensors) {
    Shape own(tensor.own().begin(), tensor.own().end());
    own.insert(own.begin() + ownAxis, Size(1));
    widened.push_back(reshapeOwn(tensor, own, place));
  }
  return concat(widened, ownAxis, place);
}

Tensor Checker::slice(const Tensor &tensor, unsigned ownAxis, const Size &start,
                      const Size &size, int64_t step, Range place) {
  if (start.isConstant(0) && step == 1 && tensor.own()[ownAxis] == size)
    return tensor;
  unsigned axis = tensor.leadRank + ownAxis;
  Shape shape = tensor.value.type().shape;
  shape[axis] = size;
  auto &node = make<SliceNode>(place);
  node.operands.push_back(tensor.value);
  node.starts.assign(shape.size(), Size());
  node.steps.assign(shape.size(), 1);
  node.starts[axis] = start;
  node.steps[axis] = step;
  return {addResult(node, tensor.element(), shape), tensor.leadRank};
}

Tensor Checker::permuteOwn(const Tensor &tensor, ArrayRef<int64_t> permutation,
                           Range place) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return tensor;
  SmallVector<int64_t> whole;
  for (unsigned axis = 0; axis < tensor.leadRank; ++axis)
    whole.push_back(axis);
  for (int64_t axis : permutation)
    whole.push_back(tensor.leadRank + axis);
  Shape shape;
  for (int64_t axis : whole)
    shape.push_back(tensor.value.type().shape[axis]);
  auto &node = make<PermuteNode>(place);
  node.operands.push_back(tensor.value);
  node.permutation = whole;
  return {addResult(node, tensor.element(), shape), tensor.leadRank};
}

Tensor gatefold::text::iota(Checker &checker, const Size &size, Range place) {
  auto &node = checker.make<IotaNode>(place);
  return {addResult(node, Element::I64, size), 0};
}

Tensor gatefold::text::reduce(Checker &checker, ReduceKind kind,
                              const Tensor &tensor, unsigned ownAxis,
                              Range place, std::optional<Tensor> lengths) {
  unsigned axis = tensor.leadRank + ownAxis;
  Shape shape = tensor.value.type().shape;
  shape.erase(shape.begin() + axis);
  auto &node = checker.make<ReduceNode>(place);
  node.reduce = kind;
  node.axis = axis;
  node.operands.push_back(tensor.value);
  if (lengths)
    node.operands.push_back(lengths->value);
  Element element =
      kind == ReduceKind::ArgMaximum ? Element::I64 : tensor.element();
  return {addResult(node, element, shape), tensor.leadRank};
}

Tensor gatefold::text::contract(Checker &checker, const Tensor &left,
                                const Tensor &right,
                                ArrayRef<int64_t> leftLabels,
                                ArrayRef<int64_t> rightLabels,
                                ArrayRef<int64_t> resultLabels,
                                Shape resultShape, unsigned leadRank,
                                Range place) {
  auto &node = checker.make<ContractNode>(place);
  node.operands = {left.value, right.value};
  node.leftLabels.assign(leftLabels.begin(), leftLabels.end());
  node.rightLabels.assign(rightLabels.begin(), rightLabels.end());
  node.resultLabels.assign(resultLabels.begin(), resultLabels.end());
  return {addResult(node, left.element(), resultShape), leadRank};
}

Tensor gatefold::text::apply(Checker &checker, ElementwiseOp op,
                             const Tensor &operand, Range place) {
  return checker.elementwise(op, operand, operand.own(), operand.element(),
                             place);
}

Tensor gatefold::text::apply(Checker &checker, ElementwiseOp op,
                             const Tensor &left, const Tensor &right,
                             Range place) {
  // Callers know that the shapes fit; what is left is which one is larger.
  ArrayRef<Size> a = left.own(), b = right.own();
  Shape own(std::max(a.size(), b.size()), Size(1));
  for (ArrayRef<Size> shape : {a, b})
    for (size_t i = 0; i < shape.size(); ++i)
      if (!shape[shape.size() - 1 - i].isConstant(1))
        own[own.size() - 1 - i] = shape[shape.size() - 1 - i];
  return checker.elementwise(op, {left, right}, own, left.element(), place);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string Checker::describe(ArrayRef<Size> shape) const {
  TensorType type;
  type.element = floatType();
  type.shape.assign(shape.begin(), shape.end());
  return str(type, floatType());
}

std::string Checker::describe(const Item &item) const {
  if (const Tensor *tensor = item.tensor()) {
    TensorType type;
    type.element = tensor->element();
    type.shape.assign(tensor->own().begin(), tensor->own().end());
    return str(type, floatType());
  }
  if (const Number *number = item.number())
    return number->kind == Number::Kind::RunReal
               ? text(*number)
               : "the number " + text(*number);
  if (const bool *boolean = item.boolean())
    return *boolean ? "true" : "false";
  if (const std::string *string = item.string())
    return "the string \"" + *string + "\"";
  if (const Tuple *tuple = item.tuple())
    return "a tuple of " + llvm::utostr(tuple->elements.size()) +
           (tuple->elements.size() == 1 ? " value" : " values");
  return "an error";
}
