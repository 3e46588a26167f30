// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportScalar.cpp - One element of an elementwise operation ---------===//
//
// Integer division is written out: a division by 0, and of the least integer by
// -1, must neither trap nor be undefined. They give what NumPy gives: 0, and
// the least integer.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace gatefold::text;
namespace arith = mlir::arith;
namespace math = mlir::math;

mlir::TypedAttr Importer::numberAttribute(Element element, double real,
                                          int64_t integer) {
  mlir::Type type = elementType(element);
  if (isFloat(element))
    return b.getFloatAttr(type, real);
  return b.getIntegerAttr(type,
                          element == Element::Bool ? integer != 0 : integer);
}

mlir::Value Importer::number(mlir::Type type, double value) {
  mlir::TypedAttr attribute;
  if (type.isF16() || type.isBF16())
    return arith::TruncFOp::create(b, type, number(b.getF32Type(), value));
  if (llvm::isa<mlir::FloatType>(type))
    attribute = b.getFloatAttr(type, value);
  else
    attribute = b.getIntegerAttr(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(b, attribute);
}

mlir::Value Importer::indexNumber(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

bool Importer::isScalar(Value value) const {
  return llvm::isa<ConstantNode, SizeValueNode>(value.node) ||
         scalars.contains(value.node);
}

mlir::Value Importer::scalar(Value value) {
  Element element = value.type().element;
  if (auto *constant = llvm::dyn_cast<ConstantNode>(value.node)) {
    if (isFloat(element))
      return number(elementType(element), constant->real);
    return arith::ConstantOp::create(
        b, numberAttribute(element, constant->real, constant->integer));
  }
  if (auto *size = llvm::dyn_cast<SizeValueNode>(value.node)) {
    if (std::optional<int64_t> constant = resolve(size->size).constant())
      return arith::ConstantOp::create(b,
                                       numberAttribute(element, 0, *constant));
    return arith::IndexCastOp::create(b, elementType(element),
                                      sizeValue(size->size));
  }
  return scalars.lookup(value.node);
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

mlir::Value Importer::floorDivide(mlir::Value left, mlir::Value right) {
  mlir::Value zero =
      arith::ConstantOp::create(b, b.getZeroAttr(left.getType()));
  mlir::Value one = arith::ConstantOp::create(b, b.getOneAttr(left.getType()));
  auto isNegative = [&](mlir::Value value) -> mlir::Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value, zero);
  };
  mlir::Value quotient = arith::DivSIOp::create(b, left, right);
  mlir::Value remainder = arith::RemSIOp::create(b, left, right);
  mlir::Value inexact =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, remainder, zero);
  mlir::Value differ = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, isNegative(left), isNegative(right));
  mlir::Value lower = arith::SubIOp::create(b, quotient, one);
  return arith::SelectOp::create(b, arith::AndIOp::create(b, inexact, differ),
                                 lower, quotient);
}

mlir::Value Importer::floorModulo(mlir::Value left, mlir::Value right) {
  mlir::Value zero =
      arith::ConstantOp::create(b, b.getZeroAttr(left.getType()));
  auto isNegative = [&](mlir::Value value) -> mlir::Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value, zero);
  };
  mlir::Value remainder = arith::RemSIOp::create(b, left, right);
  mlir::Value inexact =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, remainder, zero);
  mlir::Value differ = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, isNegative(remainder), isNegative(right));
  mlir::Value moved = arith::AddIOp::create(b, remainder, right);
  return arith::SelectOp::create(b, arith::AndIOp::create(b, inexact, differ),
                                 moved, remainder);
}

mlir::Value Importer::guardedDivision(const ElementwiseNode &node,
                                      mlir::Value left, mlir::Value right) {
  bool divides = node.op == ElementwiseOp::FloorDivide;
  auto divide = [&](mlir::Value divisor) {
    return divides ? floorDivide(left, divisor) : floorModulo(left, divisor);
  };
  if (auto *constant = llvm::dyn_cast<ConstantNode>(node.operands[1].node))
    if (constant->integer != 0 && constant->integer != -1)
      return divide(right);
  mlir::Type type = left.getType();
  mlir::Value zero = number(type, 0), one = number(type, 1);
  mlir::Value isZero =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, right, zero);
  mlir::Value isMinusOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                 right, number(type, -1));
  mlir::Value special = arith::OrIOp::create(b, isZero, isMinusOne);
  mlir::Value result = divide(arith::SelectOp::create(b, special, one, right));
  mlir::Value byMinusOne = zero;
  if (divides)
    byMinusOne = arith::SubIOp::create(b, zero, left);
  result = arith::SelectOp::create(b, isMinusOne, byMinusOne, result);
  return arith::SelectOp::create(b, isZero, zero, result);
}

/// As Python: the remainder is exact and has the sign of the divisor, and the
/// quotient fits it.
mlir::Value Importer::floatDivision(ElementwiseOp op, mlir::Value left,
                                    mlir::Value right) {
  mlir::Type type = left.getType();
  mlir::Value zero = number(type, 0);
  auto compare = [&](arith::CmpFPredicate predicate, mlir::Value x,
                     mlir::Value y) -> mlir::Value {
    return arith::CmpFOp::create(b, predicate, x, y);
  };
  auto isNegative = [&](mlir::Value x) {
    return compare(arith::CmpFPredicate::OLT, x, zero);
  };
  mlir::Value remainder = arith::RemFOp::create(b, left, right);
  mlir::Value inexact = compare(arith::CmpFPredicate::UNE, remainder, zero);
  mlir::Value differ =
      arith::XOrIOp::create(b, isNegative(remainder), isNegative(right));
  mlir::Value move = arith::AndIOp::create(b, inexact, differ);
  if (op == ElementwiseOp::Modulo) {
    mlir::Value moved = arith::AddFOp::create(b, remainder, right);
    mlir::Value exact = math::CopySignOp::create(b, zero, right);
    mlir::Value result = arith::SelectOp::create(b, move, moved, remainder);
    return arith::SelectOp::create(b, inexact, result, exact);
  }
  mlir::Value quotient = arith::DivFOp::create(
      b, arith::SubFOp::create(b, left, remainder), right);
  mlir::Value lower = arith::SubFOp::create(b, quotient, number(type, 1));
  quotient = arith::SelectOp::create(b, move, lower, quotient);
  // The quotient is whole but for rounding.
  mlir::Value whole = math::FloorOp::create(b, quotient);
  mlir::Value rest = arith::SubFOp::create(b, quotient, whole);
  mlir::Value roundUp =
      compare(arith::CmpFPredicate::OGT, rest, number(type, 0.5));
  mlir::Value upper = arith::AddFOp::create(b, whole, number(type, 1));
  whole = arith::SelectOp::create(b, roundUp, upper, whole);
  mlir::Value plain = arith::DivFOp::create(b, left, right);
  mlir::Value byZero = compare(arith::CmpFPredicate::OEQ, right, zero);
  return arith::SelectOp::create(b, byZero, plain, whole);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

mlir::Value Importer::power(const ElementwiseNode &node, mlir::Value base,
                            mlir::Value exponent) {
  constexpr double largest = 8;
  auto *constant = llvm::dyn_cast<ConstantNode>(node.operands[1].node);
  if (!constant || !(std::fabs(constant->real) <= largest) ||
      std::trunc(constant->real) != constant->real)
    return math::PowFOp::create(b, base, exponent);
  unsigned count = static_cast<unsigned>(std::fabs(constant->real));
  mlir::Value result, square = base;
  for (unsigned rest = count; rest != 0; rest >>= 1) {
    if (rest & 1)
      result = result ? arith::MulFOp::create(b, result, square) : square;
    if (rest > 1)
      square = arith::MulFOp::create(b, square, square);
  }
  mlir::Value one = number(base.getType(), 1);
  if (!result)
    return one;
  if (constant->real < 0)
    return arith::DivFOp::create(b, one, result);
  return result;
}

mlir::Value Importer::sigmoid(mlir::Value x) {
  mlir::Value one = number(x.getType(), 1);
  mlir::Value e = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, e));
}

/// max(x, 0) + log1p(exp(-|x|))
mlir::Value Importer::softplus(mlir::Value x) {
  mlir::Value positive =
      arith::MaximumFOp::create(b, x, number(x.getType(), 0));
  mlir::Value absolute = math::AbsFOp::create(b, x);
  mlir::Value e = math::ExpOp::create(b, arith::NegFOp::create(b, absolute));
  return arith::AddFOp::create(b, positive, math::Log1pOp::create(b, e));
}

/// From one float type to another. The mode tells gf-widen-half that a
/// conversion to a half rounds.
static mlir::Value convertFloat(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value value, mlir::Type type,
                                bool rounds) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  if (from < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, value);
  if (from == 16) // one half to the other
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  if (!rounds)
    return arith::TruncFOp::create(b, type, value);
  auto mode = arith::RoundingModeAttr::get(
      b.getContext(), arith::RoundingMode::to_nearest_even);
  return arith::TruncFOp::create(b, type, value, mode,
                                 arith::FastMathFlagsAttr());
}

mlir::Value Importer::convert(mlir::Value value, Element from, Element to,
                              bool rounds) {
  if (from == to)
    return value;
  mlir::Type type = elementType(to);
  if (isFloat(from)) {
    if (isFloat(to))
      return convertFloat(b, value, type, rounds);
    if (to == Element::Bool)
      return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value,
                                   number(value.getType(), 0));
    // Cuts towards zero. What does not fit becomes the nearest that does, and
    // NaN the least: the conversion of it would be undefined.
    unsigned bits = type.getIntOrFloatBitWidth();
    double least = -std::ldexp(1.0, bits - 1);
    double most = from != Element::F64
                      ? std::nextafterf(static_cast<float>(-least), 0.0f)
                      : std::nextafter(-least, 0.0);
    mlir::Value bounded =
        arith::MaxNumFOp::create(b, value, number(value.getType(), least));
    bounded =
        arith::MinNumFOp::create(b, bounded, number(value.getType(), most));
    return arith::FPToSIOp::create(b, type, bounded);
  }
  if (from == Element::Bool) {
    if (isFloat(to))
      return arith::UIToFPOp::create(b, type, value);
    return arith::ExtUIOp::create(b, type, value);
  }
  if (isFloat(to))
    return arith::SIToFPOp::create(b, type, value);
  if (to == Element::Bool)
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value,
                                 number(value.getType(), 0));
  if (to == Element::I64)
    return arith::ExtSIOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

mlir::Value Importer::scalarOperation(const ElementwiseNode &node,
                                      mlir::ValueRange operands) {
  mlir::Value x = operands[0];
  mlir::Value y = operands.size() > 1 ? operands[1] : mlir::Value();
  mlir::Type type = x.getType();
  bool isReal = llvm::isa<mlir::FloatType>(type);
  auto compare = [&](arith::CmpFPredicate real,
                     arith::CmpIPredicate integer) -> mlir::Value {
    if (isReal)
      return arith::CmpFOp::create(b, real, x, y);
    return arith::CmpIOp::create(b, integer, x, y);
  };
  switch (node.op) {
  case ElementwiseOp::Add:
    return isReal ? mlir::Value(arith::AddFOp::create(b, x, y))
                  : mlir::Value(arith::AddIOp::create(b, x, y));
  case ElementwiseOp::Subtract:
    return isReal ? mlir::Value(arith::SubFOp::create(b, x, y))
                  : mlir::Value(arith::SubIOp::create(b, x, y));
  case ElementwiseOp::Multiply:
    return isReal ? mlir::Value(arith::MulFOp::create(b, x, y))
                  : mlir::Value(arith::MulIOp::create(b, x, y));
  case ElementwiseOp::Divide:
    return arith::DivFOp::create(b, x, y);
  case ElementwiseOp::FloorDivide:
  case ElementwiseOp::Modulo:
    return isReal ? floatDivision(node.op, x, y) : guardedDivision(node, x, y);
  case ElementwiseOp::Power:
    return power(node, x, y);
  case ElementwiseOp::Maximum:
    return isReal ? mlir::Value(arith::MaximumFOp::create(b, x, y))
                  : mlir::Value(arith::MaxSIOp::create(b, x, y));
  case ElementwiseOp::Minimum:
    return isReal ? mlir::Value(arith::MinimumFOp::create(b, x, y))
                  : mlir::Value(arith::MinSIOp::create(b, x, y));
  case ElementwiseOp::And:
    return arith::AndIOp::create(b, x, y);
  case ElementwiseOp::Or:
    return arith::OrIOp::create(b, x, y);
  case ElementwiseOp::Less:
    return compare(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt);
  case ElementwiseOp::LessEqual:
    return compare(arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle);
  case ElementwiseOp::Greater:
    return compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt);
  case ElementwiseOp::GreaterEqual:
    return compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge);
  case ElementwiseOp::Equal:
    return compare(arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq);
  case ElementwiseOp::NotEqual:
    return compare(arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne);
  case ElementwiseOp::Negate:
    return isReal ? mlir::Value(arith::NegFOp::create(b, x))
                  : mlir::Value(arith::SubIOp::create(b, number(type, 0), x));
  case ElementwiseOp::Not:
    return arith::XOrIOp::create(
        b, x, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  case ElementwiseOp::Exp:
    return math::ExpOp::create(b, x);
  case ElementwiseOp::Log:
    return math::LogOp::create(b, x);
  case ElementwiseOp::Sqrt:
    return math::SqrtOp::create(b, x);
  case ElementwiseOp::Sin:
    return math::SinOp::create(b, x);
  case ElementwiseOp::Cos:
    return math::CosOp::create(b, x);
  case ElementwiseOp::Tanh:
    return math::TanhOp::create(b, x);
  case ElementwiseOp::Erf:
    return math::ErfOp::create(b, x);
  case ElementwiseOp::Abs:
    return isReal ? mlir::Value(math::AbsFOp::create(b, x))
                  : mlir::Value(math::AbsIOp::create(b, x));
  case ElementwiseOp::Sigmoid:
    return sigmoid(x);
  case ElementwiseOp::LogSigmoid: {
    mlir::Value negated = arith::NegFOp::create(b, x);
    return arith::NegFOp::create(b, softplus(negated));
  }
  case ElementwiseOp::Softplus:
    return softplus(x);
  case ElementwiseOp::Relu:
    return isReal
               ? mlir::Value(arith::MaximumFOp::create(b, x, number(type, 0)))
               : mlir::Value(arith::MaxSIOp::create(b, x, number(type, 0)));
  case ElementwiseOp::Silu:
    return arith::MulFOp::create(b, x, sigmoid(x));
  case ElementwiseOp::Gelu: {
    // x/2 * (1 + erf(x / sqrt(2)))
    mlir::Value scaled =
        arith::MulFOp::create(b, x, number(type, std::sqrt(0.5)));
    mlir::Value grown = arith::AddFOp::create(b, number(type, 1),
                                              math::ErfOp::create(b, scaled));
    mlir::Value half = arith::MulFOp::create(b, x, number(type, 0.5));
    return arith::MulFOp::create(b, half, grown);
  }
  case ElementwiseOp::Convert:
    return convert(x, node.operands[0].type().element, node.results[0].element,
                   node.rounds);
  case ElementwiseOp::Select:
    return arith::SelectOp::create(b, x, y, operands[2]);
  }
  llvm_unreachable("unknown elementwise operation");
}
