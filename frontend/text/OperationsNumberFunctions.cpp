// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsNumberFunctions.cpp - exp, sqrt, max of numbers --------===//
//
// Built-in functions of numbers give numbers.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include <cmath>

using namespace gatefold::text;
using llvm::Twine;

static double functionValue(ElementwiseOp op, double x) {
  switch (op) {
  case ElementwiseOp::Exp:
    return std::exp(x);
  case ElementwiseOp::Log:
    return std::log(x);
  case ElementwiseOp::Sqrt:
    return std::sqrt(x);
  case ElementwiseOp::Sin:
    return std::sin(x);
  case ElementwiseOp::Cos:
    return std::cos(x);
  case ElementwiseOp::Tanh:
    return std::tanh(x);
  case ElementwiseOp::Erf:
    return std::erf(x);
  case ElementwiseOp::Abs:
    return std::fabs(x);
  case ElementwiseOp::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case ElementwiseOp::LogSigmoid:
    return std::fmin(x, 0) - std::log1p(std::exp(-std::fabs(x)));
  case ElementwiseOp::Softplus:
    return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
  case ElementwiseOp::Relu:
    return x < 0 ? 0 : x;
  case ElementwiseOp::Silu:
    return x / (1 + std::exp(-x));
  case ElementwiseOp::Gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  default:
    return x;
  }
}

Item gatefold::text::numberFunction(Checker &checker, ElementwiseOp op,
                                    const Number &number, Range place) {
  if (op == ElementwiseOp::Abs || op == ElementwiseOp::Relu) {
    // These keep whole numbers whole.
    if (number.kind == Number::Kind::Whole) {
      if (number.whole >= 0)
        return makeItem(number, place);
      return op == ElementwiseOp::Relu ? makeItem(wholeNumber(0), place)
                                       : numberNegate(checker, number, place);
    }
    if (number.kind == Number::Kind::Size) {
      Number other = wholeNumber(0);
      if (op == ElementwiseOp::Abs) {
        Item negated = numberNegate(checker, number, place);
        if (!negated.number())
          return negated;
        other = *negated.number();
      }
      return numberExtreme(checker, true, number, other, place);
    }
  }
  if (!number.isFixed())
    return runFunction(checker, op, number, place);
  double value = functionValue(op, fixedValue(number));
  if (std::isnan(value) && !std::isnan(fixedValue(number))) {
    checker.diagnostics.error(place, Twine("`") + spelling(op) + "` of " +
                                         text(number) + " is not a number");
    return erroneous(place);
  }
  return makeItem(resultNumber(value), place);
}

Item gatefold::text::numberExtreme(Checker &checker, bool maximum,
                                   const Number &left, const Number &right,
                                   Range place) {
  if (left.isFixed() && right.isFixed()) {
    bool first = maximum ? fixedValue(left) >= fixedValue(right)
                         : fixedValue(left) <= fixedValue(right);
    return makeItem(first ? left : right, place);
  }
  std::optional<Size> a = asSize(left), b = asSize(right);
  if (a && b)
    if (std::optional<Size> size =
            maximum ? Size::maximum(*a, *b) : Size::minimum(*a, *b))
      return makeItem(sizeNumber(*size), place);
  return runFunction(checker,
                     maximum ? ElementwiseOp::Maximum : ElementwiseOp::Minimum,
                     {left, right}, place);
}
