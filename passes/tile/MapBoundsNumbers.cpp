// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MapBoundsNumbers.cpp - Bounds of numbers in a score map ------------===//
//
// Interval arithmetic on integers and conditions. Integers wrap as the
// operations do: where a bound leaves its type, nothing is known.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/MapBounds.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gatefold;
using arith::CmpIPredicate;

static bool isCondition(Type type) { return type.isSignlessInteger(1); }
static bool isInteger(Type type) {
  return type.isIndex() || (type.isSignlessInteger() && !isCondition(type));
}
static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// Sums of two such numbers do not wrap.
static constexpr unsigned mostBits = 62;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value MapBounds::number(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value MapBounds::truth(bool value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), value);
}
Value MapBounds::negate(Value condition) {
  return make<arith::XOrIOp>(condition, truth(true));
}
Value MapBounds::compare(CmpIPredicate predicate, Value left, Value right) {
  return make<arith::CmpIOp>(predicate, left, right);
}
Value MapBounds::choose(Value condition, Value left, Value right) {
  return make<arith::SelectOp>(condition, left, right);
}

MapBounds::Bounds MapBounds::unknown(Type type) {
  type = getElementTypeOrSelf(type);
  if (isCondition(type))
    return {truth(false), truth(true)};
  if (isa<FloatType>(type))
    return {truth(true), truth(true)};
  return {};
}

MapBounds::Bounds MapBounds::exact(Value value, Type type) {
  if (isCondition(type))
    return {value, value};
  if (!isInteger(type) || getWidth(type) > 64)
    return unknown(type);
  if (!type.isIndex())
    value = make<arith::IndexCastOp>(builder.getIndexType(), value);
  return {value, value, getWidth(type) - 1};
}

MapBounds::Bounds MapBounds::ofConstant(Attribute value, Type type) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    return elements.isSplat() ? ofConstant(elements.getSplatValue<Attribute>(),
                                           elements.getElementType())
                              : unknown(type);
  if (auto real = dyn_cast<FloatAttr>(value))
    return {
        truth(!real.getValue().isZero()),
        truth(!real.getValue().isInfinity() || !real.getValue().isNegative())};
  auto integer = dyn_cast<IntegerAttr>(value);
  if (!integer || integer.getValue().getBitWidth() > 64)
    return unknown(type);
  if (isCondition(type)) {
    Value holds = truth(!integer.getValue().isZero());
    return {holds, holds};
  }
  int64_t known = integer.getValue().getSExtValue();
  Value same = number(known);
  unsigned bits =
      64 - llvm::countl_zero(known < 0 ? ~uint64_t(known) : uint64_t(known));
  return {same, same, std::min(bits + 1, 63u)};
}

MapBounds::Bounds MapBounds::unlessWrapped(Bounds bounds, Value wrapped,
                                           unsigned bits) {
  int64_t most = int64_t((uint64_t(1) << bits) - 1);
  return {choose(wrapped, number(-most - 1), bounds.low),
          choose(wrapped, number(most), bounds.high), bits};
}

/// Numbers beyond their type wrap, and may then be any.
MapBounds::Bounds MapBounds::fit(Bounds bounds, Type type) {
  unsigned bits = getWidth(type) - 1;
  if (bounds.bits <= bits)
    return bounds;
  int64_t most = int64_t((uint64_t(1) << bits) - 1);
  Value below = compare(CmpIPredicate::slt, bounds.low, number(-most - 1));
  Value above = compare(CmpIPredicate::sgt, bounds.high, number(most));
  return unlessWrapped(bounds, make<arith::OrIOp>(below, above), bits);
}

MapBounds::Bounds MapBounds::add(const Bounds &left, const Bounds &right,
                                 Type type) {
  Bounds sum = {make<arith::AddIOp>(left.low, right.low),
                make<arith::AddIOp>(left.high, right.high),
                std::max(left.bits, right.bits) + 1};
  if (sum.bits > mostBits) {
    // The sign of a sum that wraps is that of neither term.
    auto wraps = [&](Value one, Value other, Value both) -> Value {
      Value signs = make<arith::AndIOp>(make<arith::XOrIOp>(one, both),
                                        make<arith::XOrIOp>(other, both));
      return compare(CmpIPredicate::slt, signs, number(0));
    };
    sum = unlessWrapped(
        sum,
        make<arith::OrIOp>(wraps(left.low, right.low, sum.low),
                           wraps(left.high, right.high, sum.high)),
        63);
  }
  return fit(sum, type);
}

MapBounds::Bounds MapBounds::subtract(const Bounds &left, const Bounds &right,
                                      Type type) {
  Bounds difference = {make<arith::SubIOp>(left.low, right.high),
                       make<arith::SubIOp>(left.high, right.low),
                       std::max(left.bits, right.bits) + 1};
  if (difference.bits > mostBits) {
    auto wraps = [&](Value from, Value taken, Value rest) -> Value {
      Value signs = make<arith::AndIOp>(make<arith::XOrIOp>(from, taken),
                                        make<arith::XOrIOp>(from, rest));
      return compare(CmpIPredicate::slt, signs, number(0));
    };
    difference = unlessWrapped(
        difference,
        make<arith::OrIOp>(wraps(left.low, right.high, difference.low),
                           wraps(left.high, right.low, difference.high)),
        63);
  }
  return fit(difference, type);
}

/// By a number that is known before a run.
MapBounds::Bounds MapBounds::multiply(const Bounds &left, const Bounds &right,
                                      Type type) {
  std::optional<int64_t> factor = getConstantIntValue(right.low);
  if (!factor || getConstantIntValue(right.high) != factor)
    return getConstantIntValue(left.low) && getConstantIntValue(left.low) ==
                                                getConstantIntValue(left.high)
               ? multiply(right, left, type)
               : unknown(type);
  unsigned bits = left.bits + right.bits;
  if (bits > mostBits)
    return unknown(type);
  Value low = make<arith::MulIOp>(left.low, right.low);
  Value high = make<arith::MulIOp>(left.high, right.low);
  if (*factor < 0)
    std::swap(low, high);
  return fit({low, high, bits}, type);
}

/// By a positive number that is known before a run: greater numbers have
/// quotients that are not less.
MapBounds::Bounds MapBounds::divide(Operation *inner, const Bounds &left,
                                    const Bounds &right) {
  std::optional<int64_t> divisor = getConstantIntValue(right.low);
  if (!divisor || *divisor <= 0 || getConstantIntValue(right.high) != divisor)
    return {};
  auto quotient = [&](Value dividend) -> Value {
    if (isa<arith::FloorDivSIOp>(inner))
      return make<arith::FloorDivSIOp>(dividend, right.low);
    if (isa<arith::CeilDivSIOp>(inner))
      return make<arith::CeilDivSIOp>(dividend, right.low);
    return make<arith::DivSIOp>(dividend, right.low);
  };
  return {quotient(left.low), quotient(left.high), left.bits};
}

MapBounds::Bounds MapBounds::findRest(const Bounds &left, const Bounds &right) {
  std::optional<int64_t> divisor = getConstantIntValue(right.low);
  if (!divisor || *divisor <= 0 || getConstantIntValue(right.high) != divisor)
    return {};
  // Of numbers with one quotient, rests are as far apart as they are.
  Value isSame =
      compare(CmpIPredicate::eq, make<arith::DivSIOp>(left.low, right.low),
              make<arith::DivSIOp>(left.high, right.low));
  Value zero = number(0);
  Value least = choose(compare(CmpIPredicate::slt, left.low, zero),
                       number(1 - *divisor), zero);
  Value most = choose(compare(CmpIPredicate::sgt, left.high, zero),
                      number(*divisor - 1), zero);
  return {choose(isSame, make<arith::RemSIOp>(left.low, right.low), least),
          choose(isSame, make<arith::RemSIOp>(left.high, right.low), most),
          std::min(left.bits, right.bits)};
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

MapBounds::Bounds MapBounds::ofComparison(arith::CmpIOp inner,
                                          const Bounds &left,
                                          const Bounds &right) {
  Type type = inner.getLhs().getType();
  if (!isInteger(type) || !left.low || !right.low)
    return unknown(inner.getType());
  auto before = [&](CmpIPredicate predicate, const Bounds &one,
                    const Bounds &other) -> Bounds {
    return {compare(predicate, one.high, other.low),
            compare(predicate, one.low, other.high)};
  };
  switch (inner.getPredicate()) {
  case CmpIPredicate::slt:
  case CmpIPredicate::sle:
    return before(inner.getPredicate(), left, right);
  case CmpIPredicate::sgt:
    return before(CmpIPredicate::slt, right, left);
  case CmpIPredicate::sge:
    return before(CmpIPredicate::sle, right, left);
  case CmpIPredicate::eq:
  case CmpIPredicate::ne: {
    Bounds ends = before(CmpIPredicate::sle, left, right);
    Bounds begins = before(CmpIPredicate::sle, right, left);
    Value always = make<arith::AndIOp>(ends.low, begins.low);
    Value maybe = make<arith::AndIOp>(ends.high, begins.high);
    if (inner.getPredicate() == CmpIPredicate::eq)
      return {always, maybe};
    return {negate(maybe), negate(always)};
  }
  default:
    return unknown(inner.getType());
  }
}

MapBounds::Bounds MapBounds::ofSelect(const Bounds &condition,
                                      const Bounds &left, const Bounds &right,
                                      Type type) {
  if (isa<FloatType>(type)) {
    auto either = [&](Value one, Value other) {
      return make<arith::OrIOp>(
          make<arith::AndIOp>(condition.high, one),
          make<arith::AndIOp>(negate(condition.low), other));
    };
    return {either(left.low, right.low), either(left.high, right.high)};
  }
  if (!left.low || !right.low)
    return unknown(type);
  bool isTruth = isCondition(type);
  auto pick = [&](Value one, Value other, Value either) {
    return choose(condition.low, one, choose(condition.high, either, other));
  };
  Value least = isTruth ? make<arith::AndIOp>(left.low, right.low)
                        : make<arith::MinSIOp>(left.low, right.low);
  Value most = isTruth ? make<arith::OrIOp>(left.high, right.high)
                       : make<arith::MaxSIOp>(left.high, right.high);
  return {pick(left.low, right.low, least), pick(left.high, right.high, most),
          std::max(left.bits, right.bits)};
}

MapBounds::Bounds MapBounds::ofConditions(Operation *inner,
                                          ArrayRef<Bounds> operands) {
  const Bounds &left = operands.front(), &right = operands.back();
  if (isa<arith::AndIOp>(inner))
    return {make<arith::AndIOp>(left.low, right.low),
            make<arith::AndIOp>(left.high, right.high)};
  if (isa<arith::OrIOp>(inner))
    return {make<arith::OrIOp>(left.low, right.low),
            make<arith::OrIOp>(left.high, right.high)};
  if (!isa<arith::XOrIOp>(inner))
    return unknown(inner->getResult(0).getType());
  auto differ = [&](Value one, Value notOther, Value notOne, Value other) {
    return make<arith::OrIOp>(make<arith::AndIOp>(one, notOther),
                              make<arith::AndIOp>(notOne, other));
  };
  return {differ(left.low, negate(right.high), negate(left.high), right.low),
          differ(left.high, negate(right.low), negate(left.low), right.high)};
}

MapBounds::Bounds MapBounds::ofFloats(Operation *inner,
                                      ArrayRef<Bounds> operands) {
  auto isPositive = [](Value value) {
    APFloat number(0.0f);
    return matchPattern(value, m_ConstantFloat(&number)) &&
           number.isFiniteNonZero() && !number.isNegative();
  };
  const Bounds &left = operands.front(), &right = operands.back();
  Value maybe = truth(true);
  Value all = make<arith::AndIOp>(left.high, right.high);
  Value any = make<arith::OrIOp>(left.high, right.high);
  Value terms = make<arith::OrIOp>(left.low, right.low);
  Value factors = make<arith::AndIOp>(left.low, right.low);
  return TypeSwitch<Operation *, Bounds>(inner)
      .Case<arith::AddFOp, arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return Bounds{terms, all};
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return Bounds{terms, any};
      })
      .Case([&](arith::SubFOp) {
        return Bounds{terms, left.high};
      })
      .Case([&](arith::MulFOp scaled) {
        return Bounds{factors, isPositive(scaled.getRhs())   ? left.high
                               : isPositive(scaled.getLhs()) ? right.high
                                                             : maybe};
      })
      .Case([&](arith::DivFOp scaled) {
        return Bounds{left.low,
                      isPositive(scaled.getRhs()) ? left.high : maybe};
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return left; })
      .Case<arith::NegFOp, math::AbsFOp, math::SqrtOp, math::TanhOp>([&](auto) {
        return Bounds{left.low, maybe};
      })
      .Case([&](math::ExpOp) {
        return Bounds{left.high, maybe};
      })
      .Default(
          [&](Operation *) { return unknown(inner->getResult(0).getType()); });
}

MapBounds::Bounds MapBounds::ofNumbers(Operation *inner,
                                       ArrayRef<Bounds> operands) {
  Type type = inner->getResult(0).getType();
  bool extendsTruth =
      isa<arith::ExtUIOp>(inner) && isCondition(inner->getOperand(0).getType());
  if (extendsTruth)
    return {choose(operands[0].low, number(1), number(0)),
            choose(operands[0].high, number(1), number(0)), 2};
  for (auto [operand, bounds] : llvm::zip(inner->getOperands(), operands))
    if (!isInteger(operand.getType()) || getWidth(operand.getType()) > 64 ||
        !bounds.low)
      return {};
  const Bounds &left = operands.front(), &right = operands.back();
  return TypeSwitch<Operation *, Bounds>(inner)
      .Case([&](arith::AddIOp) { return add(left, right, type); })
      .Case([&](arith::SubIOp) { return subtract(left, right, type); })
      .Case([&](arith::MulIOp) { return multiply(left, right, type); })
      .Case<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
          [&](auto) { return divide(inner, left, right); })
      .Case([&](arith::RemSIOp) { return findRest(left, right); })
      .Case([&](arith::MinSIOp) {
        return Bounds{make<arith::MinSIOp>(left.low, right.low),
                      make<arith::MinSIOp>(left.high, right.high),
                      std::max(left.bits, right.bits)};
      })
      .Case([&](arith::MaxSIOp) {
        return Bounds{make<arith::MaxSIOp>(left.low, right.low),
                      make<arith::MaxSIOp>(left.high, right.high),
                      std::max(left.bits, right.bits)};
      })
      .Case([&](math::AbsIOp) {
        if (left.bits > mostBits)
          return Bounds();
        Value zero = number(0);
        Value negative = make<arith::SubIOp>(zero, left.low);
        Value below = make<arith::SubIOp>(zero, left.high);
        // That of the least number is itself.
        return fit(
            {make<arith::MaxSIOp>(zero, make<arith::MaxSIOp>(left.low, below)),
             make<arith::MaxSIOp>(negative, left.high), left.bits + 1},
            type);
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
          [&](auto) { return fit(left, type); })
      .Default([](Operation *) { return Bounds(); });
}
