// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsBinary.cpp - Operators on tensors and numbers ------------===//
//
// Element types and shapes of elementwise operators, and which of them apply to
// bool.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

void gatefold::text::reportNotTensor(Checker &checker, StringRef what,
                                     const Item &item, Range place) {
  if (item.isError())
    return;
  Diagnostic &error = checker.diagnostics.error(
      place,
      Twine("`") + what + "` needs tensors, found " + checker.describe(item));
  if (const Tuple *tuple = item.tuple()) {
    if (tuple->elements.size() == 2)
      error.hint("take it apart first: `y, state = ...`");
    else
      error.hint("take it apart first: `a, b, .. = ...`");
  }
}

void gatefold::text::reportBool(Checker &checker, StringRef what, Range place) {
  checker.diagnostics
      .error(place, Twine("`") + what + "` does not apply to bool")
      .hint("convert it: `f32(m)`");
}

//===----------------------------------------------------------------------===//
// Common element types
//===----------------------------------------------------------------------===//

/// A boolean setting as a tensor.
static Tensor booleanTensor(Checker &checker, bool value, Range place) {
  return checker.numberTensor(wholeNumber(value), Element::Bool, place);
}

std::optional<CommonTensors>
gatefold::text::commonTensors(Checker &checker, StringRef what,
                              ArrayRef<const Item *> items, Range place,
                              bool givesFloat, BoolUse boolUse) {
  unsigned bools = 0;
  bool anyInteger = false, anyI64 = false, anyTensor = false;
  bool fraction = givesFloat;
  const Tensor *floating = nullptr;
  if (llvm::any_of(items, [](const Item *item) { return item->isError(); }))
    return std::nullopt;
  for (const Item *item : items) {
    if (const Tensor *tensor = item->tensor()) {
      anyTensor = true;
      Element element = tensor->element();
      if (element == Element::Bool) {
        ++bools;
      } else if (isInteger(element)) {
        anyInteger = true;
        anyI64 |= element == Element::I64;
      } else if (!floating) {
        floating = tensor;
      } else if (floating->element() != element) {
        checker.diagnostics
            .error(place, Twine(spelling(floating->element())) + " and " +
                              spelling(element) + " do not mix")
            .hint(Twine("convert one: `") +
                  spelling(std::max(floating->element(), element)) + "(x)`");
        return std::nullopt;
      }
    } else if (const Number *number = item->number()) {
      fraction |= number->kind == Number::Kind::Real ||
                  number->kind == Number::Kind::RunReal;
    } else if (item->boolean()) {
      ++bools;
    } else {
      reportNotTensor(checker, what, *item, place);
      return std::nullopt;
    }
  }
  if (bools && (boolUse == BoolUse::Refuse || bools != items.size())) {
    reportBool(checker, what, place);
    return std::nullopt;
  }

  CommonTensors common;
  if (bools)
    common.element = Element::Bool;
  else if (floating)
    common.element = floating->element();
  else if (!anyTensor || !anyInteger || fraction)
    common.element = checker.floatType();
  else
    common.element = anyI64 ? Element::I64 : Element::I32;

  for (const Item *item : items) {
    if (const Tensor *tensor = item->tensor()) {
      common.tensors.push_back(checker.convert(*tensor, common.element, place));
    } else if (const bool *boolean = item->boolean()) {
      common.tensors.push_back(booleanTensor(checker, *boolean, place));
    } else {
      const Number &number = *item->number();
      if (common.element == Element::I32 &&
          number.kind == Number::Kind::Whole &&
          number.whole != int32_t(number.whole)) {
        checker.diagnostics
            .error(place, Twine(number.whole) + " does not fit into i32")
            .hint("convert the tensor: `i64(x)`");
        return std::nullopt;
      }
      common.tensors.push_back(
          checker.numberTensor(number, common.element, place));
    }
  }
  return common;
}

/// Whether a size that is not known is at most 1.
static bool isNoneOrOne(const Size &size) {
  return !size.constant() && size.bound().value_or(2) <= 1;
}

std::optional<Shape>
gatefold::text::commonOwnShape(Checker &checker, StringRef what,
                               MutableArrayRef<Tensor> tensors, Range place) {
  SmallVector<ArrayRef<Size>, 3> shapes;
  SmallVector<std::string, 3> texts;
  for (const Tensor &tensor : tensors) {
    if (!tensor.own().empty() || tensors.size() == 1)
      texts.push_back(checker.describe(makeItem(tensor, place)));
    shapes.push_back(tensor.own());
  }
  std::string message = ("`" + what + "`: ").str();
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i)
      message += i + 1 == texts.size() ? " and " : ", ";
    message += texts[i];
  }
  message += " do not fit";
  auto report = [&] { checker.diagnostics.error(place, message); };
  for (Tensor &tensor : tensors)
    for (size_t i = 0, rank = tensor.own().size(); i < rank; ++i) {
      Size size = tensor.own()[i];
      bool stretches = llvm::any_of(shapes, [&](ArrayRef<Size> other) {
        if (other.size() < rank - i)
          return false;
        const Size &beside = other[other.size() - (rank - i)];
        return beside != size && !beside.isConstant(1) && !isNoneOrOne(beside);
      });
      if (!isNoneOrOne(size) || !stretches)
        continue;
      if (!checker.requireEqual(size, Size(1), place, message, report))
        return std::nullopt;
      tensor = checker.slice(tensor, i, Size(), Size(1), 1, place);
    }
  // Slices have shapes of their own.
  for (auto [shape, tensor] : llvm::zip(shapes, tensors))
    shape = tensor.own();
  return checker.broadcastShapes(shapes, place, message, report);
}

Item gatefold::text::elementwiseItem(Checker &checker, StringRef what,
                                     ElementwiseOp op, CommonTensors operands,
                                     Element element, Range place) {
  std::optional<Shape> own =
      commonOwnShape(checker, what, operands.tensors, place);
  if (!own)
    return erroneous(place);
  // In an attention the shape is judged before the node exists, so that the
  // first thing that is wrong is what is reported.
  Shape whole = commonLead(operands.tensors);
  whole.append(own->begin(), own->end());
  if (!checkRowShape(checker, whole, place))
    return erroneous(place);
  return makeItem(
      checker.elementwise(op, operands.tensors, *own, element, place), place);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// `and`, `or` of booleans and bool tensors.
static Item logicalItem(Checker &checker, BinaryOperator op, const Item &left,
                        const Item &right, Range place) {
  StringRef what = spelling(op);
  for (const Item *item : {&left, &right}) {
    const Tensor *tensor = item->tensor();
    if (item->boolean() || (tensor && tensor->element() == Element::Bool))
      continue;
    checker.diagnostics.error(place, Twine("`") + what +
                                         "` needs bool, found " +
                                         checker.describe(*item));
    return erroneous(place);
  }
  bool isAnd = op == BinaryOperator::And;
  if (left.boolean() && right.boolean())
    return makeItem(isAnd ? *left.boolean() && *right.boolean()
                          : *left.boolean() || *right.boolean(),
                    place);
  std::optional<CommonTensors> common = commonTensors(
      checker, what, {&left, &right}, place, false, BoolUse::Alone);
  if (!common)
    return erroneous(place);
  return elementwiseItem(checker, what,
                         isAnd ? ElementwiseOp::And : ElementwiseOp::Or,
                         *common, Element::Bool, place);
}

ElementwiseOp gatefold::text::elementwiseOp(BinaryOperator op) {
  switch (op) {
  case BinaryOperator::Less:
    return ElementwiseOp::Less;
  case BinaryOperator::LessEqual:
    return ElementwiseOp::LessEqual;
  case BinaryOperator::Greater:
    return ElementwiseOp::Greater;
  case BinaryOperator::GreaterEqual:
    return ElementwiseOp::GreaterEqual;
  case BinaryOperator::Equal:
    return ElementwiseOp::Equal;
  case BinaryOperator::NotEqual:
    return ElementwiseOp::NotEqual;
  case BinaryOperator::Subtract:
    return ElementwiseOp::Subtract;
  case BinaryOperator::Multiply:
    return ElementwiseOp::Multiply;
  case BinaryOperator::Divide:
    return ElementwiseOp::Divide;
  case BinaryOperator::FloorDivide:
    return ElementwiseOp::FloorDivide;
  case BinaryOperator::Modulo:
    return ElementwiseOp::Modulo;
  case BinaryOperator::Power:
    return ElementwiseOp::Power;
  default:
    return ElementwiseOp::Add;
  }
}

Item Checker::binary(BinaryOperator op, const Item &left, const Item &right,
                     Range place) {
  if (left.isError() || right.isError())
    return erroneous(place);
  StringRef what = spelling(op);
  for (const Item *item : {&left, &right})
    if (item->tuple()) {
      reportNotTensor(*this, what, *item, place);
      return erroneous(place);
    }
  if (op == BinaryOperator::MatrixMultiply)
    return matrixMultiply(*this, left, right, place);
  if (op == BinaryOperator::And || op == BinaryOperator::Or)
    return logicalItem(*this, op, left, right, place);
  if (left.number() && right.number())
    return numberBinary(*this, op, *left.number(), *right.number(), place);

  bool equality = op == BinaryOperator::Equal || op == BinaryOperator::NotEqual;
  if (equality && left.string() && right.string())
    return makeItem((*left.string() == *right.string()) ==
                        (op == BinaryOperator::Equal),
                    place);
  if (equality && left.boolean() && right.boolean())
    return makeItem((*left.boolean() == *right.boolean()) ==
                        (op == BinaryOperator::Equal),
                    place);

  bool givesFloat = op == BinaryOperator::Divide || op == BinaryOperator::Power;
  bool rounds =
      op == BinaryOperator::FloorDivide || op == BinaryOperator::Modulo;
  std::optional<CommonTensors> common =
      commonTensors(*this, what, {&left, &right}, place, givesFloat,
                    equality ? BoolUse::Alone : BoolUse::Refuse);
  if (!common)
    return erroneous(place);
  if (rounds && isInteger(common->element) && right.number() &&
      right.number()->isFixed() && fixedValue(*right.number()) == 0) {
    diagnostics.error(place, Twine("`") + what + "`: division by 0");
    return erroneous(place);
  }
  bool compares = op >= BinaryOperator::Less && op <= BinaryOperator::NotEqual;
  return elementwiseItem(*this, what, elementwiseOp(op), *common,
                         compares ? Element::Bool : common->element, place);
}

Item Checker::unary(UnaryOperator op, const Item &operand, Range place) {
  if (operand.isError())
    return erroneous(place);
  const Tensor *tensor = operand.tensor();
  if (op == UnaryOperator::Not) {
    if (const bool *boolean = operand.boolean())
      return makeItem(!*boolean, place);
    if (tensor && tensor->element() == Element::Bool)
      return makeItem(apply(*this, ElementwiseOp::Not, *tensor, place), place);
    diagnostics.error(place, "`not` needs bool, found " + describe(operand));
    return erroneous(place);
  }
  if (const Number *number = operand.number())
    return numberNegate(*this, *number, place);
  if (operand.boolean() || (tensor && tensor->element() == Element::Bool)) {
    reportBool(*this, "-", place);
    return erroneous(place);
  }
  if (!tensor) {
    reportNotTensor(*this, "-", operand, place);
    return erroneous(place);
  }
  return makeItem(apply(*this, ElementwiseOp::Negate, *tensor, place), place);
}
