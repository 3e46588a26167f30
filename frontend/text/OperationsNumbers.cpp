// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsNumbers.cpp - Numbers that are not tensors ---------------===//
//
// Fixed numbers are computed here. Whole numbers of open dimensions stay Sizes
// as long as the normal form can show them; what is not whole, or may not be,
// becomes an f64 scalar of the run.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>
#include <limits>

using namespace gatefold::text;
using llvm::Twine;

Number gatefold::text::wholeNumber(int64_t value) {
  Number number;
  number.kind = Number::Kind::Whole;
  number.whole = value;
  number.real = double(value);
  return number;
}

Number gatefold::text::realNumber(double value) {
  Number number;
  number.kind = Number::Kind::Real;
  number.real = value;
  return number;
}

Number gatefold::text::resultNumber(double value) {
  // Beyond 2^53 an f64 no longer says which whole number it is.
  if (std::isfinite(value) && value == std::floor(value) &&
      std::fabs(value) <= 9007199254740992.0)
    return wholeNumber(int64_t(value));
  return realNumber(value);
}

Number gatefold::text::sizeNumber(const Size &size) {
  if (std::optional<int64_t> value = size.constant())
    return wholeNumber(*value);
  Number number;
  number.kind = Number::Kind::Size;
  number.size = size;
  return number;
}

std::optional<Size> gatefold::text::asSize(const Number &number) {
  if (number.kind == Number::Kind::Whole)
    return Size(number.whole);
  if (number.kind == Number::Kind::Size)
    return number.size;
  return std::nullopt;
}

double gatefold::text::fixedValue(const Number &number) {
  return number.kind == Number::Kind::Whole ? double(number.whole)
                                            : number.real;
}

std::string gatefold::text::text(const Number &number) {
  switch (number.kind) {
  case Number::Kind::Whole:
    return llvm::itostr(number.whole);
  case Number::Kind::Size:
    return number.size.str();
  case Number::Kind::RunReal:
    return "a number of the run";
  case Number::Kind::Real:
    break;
  }
  if (std::isinf(number.real))
    return number.real < 0 ? "-inf" : "inf";
  if (std::isnan(number.real))
    return "nan";
  // The shortest text that reads back as the same number.
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, number.real);
    if (std::strtod(buffer, nullptr) == number.real)
      return buffer;
  }
  return "nan";
}

Size gatefold::text::sizeOrError(Checker &checker, std::optional<Size> size,
                                 Range place) {
  if (size)
    return *size;
  checker.diagnostics.error(
      place, "a size here does not fit into i64, or is too long an expression "
             "of open dimensions");
  return Size();
}

std::optional<Size> gatefold::text::product(llvm::ArrayRef<Size> shape) {
  std::optional<Size> result(int64_t(1));
  for (const Size &size : shape)
    if (!(result = Size::multiply(*result, size)))
      return std::nullopt;
  return result;
}

bool gatefold::text::requireSame(Checker &checker, const Size &left,
                                 const Size &right, Range place,
                                 const Twine &message,
                                 llvm::function_ref<void()> report) {
  if (left == right)
    return true;
  bool ofBody = false;
  auto look = [&](const Symbol *symbol) {
    AttentionContext *attention = checker.attention();
    ofBody |=
        attention && (symbol == attention->query || symbol == attention->key);
  };
  left.forEachSymbol(look);
  right.forEachSymbol(look);
  if (ofBody && !checker.isUnknown(left) && !checker.isUnknown(right)) {
    report();
    return false;
  }
  return checker.requireEqual(left, right, place, message, report);
}

bool gatefold::text::requireWithin(Checker &checker, const Size &value,
                                   std::optional<Size> most, Range place,
                                   const Twine &message) {
  std::string text = message.str();
  auto report = [&] { checker.diagnostics.error(place, text); };
  // Written as equalities, which is what a run can compare.
  std::optional<Size> low = Size::maximum(value, Size());
  std::optional<Size> high = most ? Size::minimum(*most, value) : std::nullopt;
  if (!low || !high) {
    report();
    return false;
  }
  return requireSame(checker, *low, value, place, text, report) &&
         requireSame(checker, *high, value, place, text, report);
}

//===----------------------------------------------------------------------===//
// Numbers of the run
//===----------------------------------------------------------------------===//

static Number runNumber(Value value) {
  Number number;
  number.kind = Number::Kind::RunReal;
  number.run = value;
  return number;
}

/// The operation on f64 scalars.
Item gatefold::text::runFunction(Checker &checker, ElementwiseOp op,
                                 llvm::ArrayRef<Number> numbers, Range place) {
  llvm::SmallVector<Tensor, 2> operands;
  for (const Number &number : numbers)
    operands.push_back(checker.numberTensor(number, Element::F64, place));
  Tensor result = checker.elementwise(op, operands, {}, Element::F64, place);
  return makeItem(runNumber(result.value), place);
}

//===----------------------------------------------------------------------===//
// Fixed numbers
//===----------------------------------------------------------------------===//

static Item overflow(Checker &checker, BinaryOperator op, const Number &left,
                     const Number &right, Range place) {
  checker.diagnostics.error(place, Twine(text(left)) + " " + spelling(op) +
                                       " " + text(right) +
                                       " does not fit into i64");
  return erroneous(place);
}

static Item divisionByZero(Checker &checker, BinaryOperator op, Range place) {
  checker.diagnostics.error(place,
                            Twine("`") + spelling(op) + "`: division by 0");
  return erroneous(place);
}

/// Whole power with a whole exponent from 0; nothing on overflow.
static std::optional<int64_t> wholePower(int64_t base, int64_t exponent) {
  int64_t result = 1;
  // |base| >= 2 leaves i64 after 63 steps; for the others only parity counts.
  if (base == 0 || base == 1)
    return exponent == 0 ? 1 : base;
  if (base == -1)
    return exponent % 2 == 0 ? 1 : -1;
  for (int64_t step = 0; step < exponent; ++step) {
    std::optional<int64_t> next = llvm::checkedMul(result, base);
    if (!next)
      return std::nullopt;
    result = *next;
  }
  return result;
}

/// The comparison `op` of two numbers.
template <typename T> static bool compare(BinaryOperator op, T left, T right) {
  switch (op) {
  case BinaryOperator::Less:
    return left < right;
  case BinaryOperator::LessEqual:
    return left <= right;
  case BinaryOperator::Greater:
    return left > right;
  case BinaryOperator::GreaterEqual:
    return left >= right;
  case BinaryOperator::Equal:
    return left == right;
  default:
    return left != right;
  }
}

static bool isComparison(BinaryOperator op) {
  return op >= BinaryOperator::Less && op <= BinaryOperator::NotEqual;
}

static Item binaryWhole(Checker &checker, BinaryOperator op, const Number &left,
                        const Number &right, Range place) {
  int64_t a = left.whole, b = right.whole;
  std::optional<int64_t> result;
  switch (op) {
  case BinaryOperator::Add:
    result = llvm::checkedAdd(a, b);
    break;
  case BinaryOperator::Subtract:
    result = llvm::checkedSub(a, b);
    break;
  case BinaryOperator::Multiply:
    result = llvm::checkedMul(a, b);
    break;
  case BinaryOperator::FloorDivide:
  case BinaryOperator::Modulo: {
    if (b == 0)
      return divisionByZero(checker, op, place);
    std::optional<Size> size = op == BinaryOperator::FloorDivide
                                   ? Size::floorDivide(a, b)
                                   : Size::modulo(a, b);
    if (size)
      result = size->constant();
    break;
  }
  case BinaryOperator::Divide:
    if (b == 0)
      return divisionByZero(checker, op, place);
    if (b != -1 && a % b == 0)
      return makeItem(wholeNumber(a / b), place);
    if (b == -1) {
      result = llvm::checkedSub(int64_t(0), a);
      break;
    }
    return makeItem(realNumber(double(a) / double(b)), place);
  case BinaryOperator::Power:
    if (b < 0) {
      if (a == 0)
        return divisionByZero(checker, op, place);
      return makeItem(resultNumber(std::pow(double(a), double(b))), place);
    }
    result = wholePower(a, b);
    break;
  default:
    return makeItem(compare(op, a, b), place);
  }
  if (!result)
    return overflow(checker, op, left, right, place);
  return makeItem(wholeNumber(*result), place);
}

static Item binaryReal(Checker &checker, BinaryOperator op, const Number &left,
                       const Number &right, Range place) {
  double a = fixedValue(left), b = fixedValue(right);
  double result = 0;
  switch (op) {
  case BinaryOperator::Add:
    result = a + b;
    break;
  case BinaryOperator::Subtract:
    result = a - b;
    break;
  case BinaryOperator::Multiply:
    result = a * b;
    break;
  case BinaryOperator::Divide:
    if (b == 0)
      return divisionByZero(checker, op, place);
    result = a / b;
    break;
  case BinaryOperator::FloorDivide:
    if (b == 0)
      return divisionByZero(checker, op, place);
    result = std::floor(a / b);
    break;
  case BinaryOperator::Modulo:
    if (b == 0)
      return divisionByZero(checker, op, place);
    result = std::fmod(a, b);
    if (result != 0 && (result < 0) != (b < 0))
      result += b;
    break;
  case BinaryOperator::Power:
    if (a == 0 && b < 0)
      return divisionByZero(checker, op, place);
    result = std::pow(a, b);
    break;
  default:
    return makeItem(compare(op, a, b), place);
  }
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
    checker.diagnostics.error(place, Twine(text(left)) + " " + spelling(op) +
                                         " " + text(right) +
                                         " is not a number");
    return erroneous(place);
  }
  return makeItem(resultNumber(result), place);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Nothing where the result is not a size for sure (then it is a number of the
/// run).
static std::optional<Size> binarySize(BinaryOperator op, const Size &left,
                                      const Size &right) {
  switch (op) {
  case BinaryOperator::Add:
    return Size::add(left, right);
  case BinaryOperator::Subtract:
    return Size::subtract(left, right);
  case BinaryOperator::Multiply:
    return Size::multiply(left, right);
  case BinaryOperator::FloorDivide:
    return Size::floorDivide(left, right);
  case BinaryOperator::Modulo:
    return Size::modulo(left, right);
  case BinaryOperator::Divide:
    return Size::divideExactly(left, right);
  case BinaryOperator::Power: {
    // A higher power of an open dimension is no size of anything.
    std::optional<int64_t> exponent = right.constant();
    if (!exponent || *exponent < 0 || *exponent > 8)
      return std::nullopt;
    std::optional<Size> power(int64_t(1));
    for (int64_t step = 0; step < *exponent && power; ++step)
      power = Size::multiply(*power, left);
    return power;
  }
  default:
    return std::nullopt;
  }
}

Item gatefold::text::numberBinary(Checker &checker, BinaryOperator op,
                                  const Number &left, const Number &right,
                                  Range place) {
  using Kind = Number::Kind;
  if (left.kind == Kind::Whole && right.kind == Kind::Whole)
    return binaryWhole(checker, op, left, right, place);
  if (left.isFixed() && right.isFixed())
    return binaryReal(checker, op, left, right, place);

  std::optional<Size> a = asSize(left), b = asSize(right);
  bool divides = op == BinaryOperator::Divide ||
                 op == BinaryOperator::FloorDivide ||
                 op == BinaryOperator::Modulo;
  if (divides && right.isFixed() && fixedValue(right) == 0)
    return divisionByZero(checker, op, place);
  if (isComparison(op)) {
    if (a && b) {
      std::optional<Size> difference = Size::subtract(*a, *b);
      std::optional<int64_t> value =
          difference ? difference->constant() : std::nullopt;
      if (value)
        return makeItem(compare(op, *value, int64_t(0)), place);
    }
    Element element = a && b ? Element::I64 : Element::F64;
    Tensor operands[] = {checker.numberTensor(left, element, place),
                         checker.numberTensor(right, element, place)};
    return makeItem(checker.elementwise(elementwiseOp(op), operands, {},
                                        Element::Bool, place),
                    place);
  }
  if (a && b) {
    if (std::optional<Size> size = binarySize(op, *a, *b))
      return makeItem(sizeNumber(*size), place);
    if (op != BinaryOperator::Divide && op != BinaryOperator::Power) {
      checker.diagnostics.error(
          place, Twine("`") + spelling(op) +
                     "`: the size does not fit into i64, or is too long an "
                     "expression of open dimensions");
      return erroneous(place);
    }
  }
  return runFunction(checker, elementwiseOp(op), {left, right}, place);
}

Item gatefold::text::numberNegate(Checker &checker, const Number &number,
                                  Range place) {
  if (number.kind == Number::Kind::Real)
    return makeItem(realNumber(-number.real), place);
  if (number.kind == Number::Kind::RunReal)
    return runFunction(checker, ElementwiseOp::Negate, number, place);
  if (number.kind == Number::Kind::Whole &&
      number.whole == std::numeric_limits<int64_t>::min()) {
    checker.diagnostics.error(place, "-(" + Twine(number.whole) +
                                         ") does not fit into i64");
    return erroneous(place);
  }
  return numberBinary(checker, BinaryOperator::Subtract, wholeNumber(0), number,
                      place);
}
