// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeFormula.cpp - A computed size as text
//---------------------------===//
//
// Follows arithmetic back to names and numbers.
//
//===----------------------------------------------------------------------===//

#include "passes/bufferize/SizeFormula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace gatefold;

/// Beyond it a formula is of no use to anyone.
static constexpr size_t mostTerms = 40, mostCharacters = 2000;

SizeFormula::SizeFormula(int64_t number) {
  if (number != 0)
    terms[{}] = number;
}

SizeFormula SizeFormula::atom(std::string text) {
  SizeFormula formula;
  formula.terms[{std::move(text)}] = 1;
  return formula;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Sizes that do not fit are refused before anyone sees a formula of them.
static int64_t clampedSum(int64_t left, int64_t right) {
  int64_t sum;
  return llvm::AddOverflow(left, right, sum) ? INT64_MAX : sum;
}

static int64_t clampedProduct(int64_t left, int64_t right) {
  int64_t product;
  return llvm::MulOverflow(left, right, product) ? INT64_MAX : product;
}

SizeFormula SizeFormula::operator+(const SizeFormula &other) const {
  SizeFormula sum = *this;
  for (const auto &[atoms, number] : other.terms) {
    int64_t &mine = sum.terms[atoms];
    mine = clampedSum(mine, number);
    if (mine == 0)
      sum.terms.erase(atoms);
  }
  return sum;
}

SizeFormula SizeFormula::operator*(const SizeFormula &other) const {
  SizeFormula product;
  for (const auto &[atoms, number] : terms)
    for (const auto &[others, factor] : other.terms) {
      std::vector<std::string> all = atoms;
      llvm::append_range(all, others);
      llvm::sort(all);
      SizeFormula term;
      term.terms[std::move(all)] = clampedProduct(number, factor);
      product = product + term;
    }
  return product;
}

SizeFormula SizeFormula::operator-(const SizeFormula &other) const {
  return *this + other * SizeFormula(-1);
}

std::optional<int64_t> SizeFormula::getNumber() const {
  if (terms.empty())
    return 0;
  if (terms.size() > 1 || !terms.begin()->first.empty())
    return std::nullopt;
  return terms.begin()->second;
}

/// Whether it is so whatever the atoms are.
bool SizeFormula::isAtMost(const SizeFormula &other) const {
  return llvm::all_of((other - *this).terms,
                      [](const auto &term) { return term.second > 0; });
}

SizeFormula SizeFormula::roundedUp(int64_t unit) const {
  if (std::optional<int64_t> number = getNumber())
    return SizeFormula(int64_t(llvm::alignTo(*number, unit)));
  bool isRound = llvm::all_of(
      terms, [&](const auto &term) { return term.second % unit == 0; });
  if (isRound)
    return *this;
  return atom("round" + std::to_string(unit) + "(" + text() + ")");
}

/// What all terms have in common, and what is left of them.
SizeFormula SizeFormula::takeFactor(SizeFormula &rest) const {
  SizeFormula factor(1);
  if (terms.empty())
    return factor;
  int64_t number = 0;
  std::vector<std::string> common = terms.begin()->first;
  for (const auto &[atoms, each] : terms) {
    number = std::gcd(number, each);
    std::vector<std::string> both;
    std::set_intersection(common.begin(), common.end(), atoms.begin(),
                          atoms.end(), std::back_inserter(both));
    common = std::move(both);
  }
  rest.terms.clear();
  for (const auto &[atoms, each] : terms) {
    std::vector<std::string> left;
    std::set_difference(atoms.begin(), atoms.end(), common.begin(),
                        common.end(), std::back_inserter(left));
    rest.terms[std::move(left)] = each / number;
  }
  factor.terms.clear();
  factor.terms[std::move(common)] = number;
  return factor;
}

SizeFormula SizeFormula::extreme(StringRef function,
                                 std::vector<SizeFormula> parts) {
  bool isMax = function == "max";
  std::vector<SizeFormula> kept;
  for (const SizeFormula &part : parts) {
    auto covers = [&](const SizeFormula &other, const SizeFormula &one) {
      return isMax ? one.isAtMost(other) : other.isAtMost(one);
    };
    if (llvm::any_of(kept, [&](auto &other) { return covers(other, part); }))
      continue;
    llvm::erase_if(kept, [&](auto &other) { return covers(part, other); });
    kept.push_back(part);
  }
  if (kept.size() == 1)
    return kept.front();
  // What they share goes in front.
  SizeFormula shared(1);
  std::vector<SizeFormula> left;
  SizeFormula sum;
  for (const SizeFormula &part : kept)
    sum = sum + part;
  SizeFormula rest;
  SizeFormula factor = sum.takeFactor(rest);
  const auto &[atoms, number] = *factor.terms.begin();
  for (const SizeFormula &part : kept) {
    SizeFormula divided;
    for (const auto &[all, each] : part.terms) {
      std::vector<std::string> others;
      std::set_difference(all.begin(), all.end(), atoms.begin(), atoms.end(),
                          std::back_inserter(others));
      if (each % number != 0 || all.size() != others.size() + atoms.size())
        divided.terms.clear();
      divided.terms[std::move(others)] = each / number;
    }
    left.push_back(divided);
  }
  bool isShared = llvm::all_of(llvm::zip(kept, left), [&](const auto &pair) {
    return (std::get<1>(pair) * factor - std::get<0>(pair)).terms.empty();
  });
  if (isShared)
    shared = factor;
  else
    left = kept;
  std::string text = function.str() + "(";
  for (const SizeFormula &part : left)
    text += (&part == &left.front() ? "" : ", ") + part.text();
  return shared * atom(text + ")");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string SizeFormula::text() const {
  // The number on its own comes last; it is first in the map.
  std::string whole;
  auto add = [&](const std::vector<std::string> &atoms, int64_t number) {
    bool isNegative = number < 0;
    uint64_t size = isNegative ? -uint64_t(number) : uint64_t(number);
    if (!whole.empty())
      whole += isNegative ? " - " : " + ";
    else if (isNegative)
      whole += "-";
    std::string product = llvm::join(atoms, "*");
    if (size != 1 || atoms.empty())
      product = std::to_string(size) + (atoms.empty() ? "" : "*" + product);
    whole += product;
  };
  for (const auto &[atoms, number] : terms)
    if (!atoms.empty())
      add(atoms, number);
  auto number = terms.find({});
  if (number != terms.end())
    add({}, number->second);
  return whole.empty() ? "0" : whole;
}

bool SizeFormula::isAtom() const {
  return terms.empty() || getNumber() ||
         (terms.size() == 1 && terms.begin()->first.size() == 1 &&
          terms.begin()->second == 1);
}

std::string SizeFormula::asOperand() const {
  return isAtom() ? text() : "(" + text() + ")";
}

//===----------------------------------------------------------------------===//
// From values
//===----------------------------------------------------------------------===//

/// The operands of nested maxima, or minima.
bool SizeFormula::gather(Value value, const Names &nameOf, bool isMax,
                         std::vector<SizeFormula> &parts) {
  Operation *op = value.getDefiningOp();
  bool isSame = isMax ? isa_and_present<arith::MaxSIOp>(op)
                      : isa_and_present<arith::MinSIOp>(op);
  if (isSame)
    return gather(op->getOperand(0), nameOf, isMax, parts) &&
           gather(op->getOperand(1), nameOf, isMax, parts);
  std::optional<SizeFormula> part = of(value, nameOf);
  if (part)
    parts.push_back(*part);
  return part && parts.size() <= mostTerms;
}

std::optional<SizeFormula> SizeFormula::of(Value value, const Names &nameOf) {
  if (std::string name = nameOf(value); !name.empty())
    return atom(std::move(name));
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return SizeFormula(*number);
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::IndexCastOp>(op))
    return of(op->getOperand(0), nameOf);
  if (isa_and_present<arith::MaxSIOp, arith::MinSIOp>(op)) {
    bool isMax = isa<arith::MaxSIOp>(op);
    std::vector<SizeFormula> parts;
    if (!gather(value, nameOf, isMax, parts))
      return std::nullopt;
    return extreme(isMax ? "max" : "min", std::move(parts));
  }
  bool isBinary =
      isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                      arith::MulSIExtendedOp, arith::DivSIOp, arith::DivUIOp,
                      arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp,
                      arith::CeilDivUIOp>(op);
  if (!isBinary || value != op->getResult(0))
    return std::nullopt;
  std::optional<SizeFormula> left = of(op->getOperand(0), nameOf);
  std::optional<SizeFormula> right = of(op->getOperand(1), nameOf);
  if (!left || !right || left->terms.size() * right->terms.size() > mostTerms ||
      left->text().size() + right->text().size() > mostCharacters)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *left + *right;
  if (isa<arith::SubIOp>(op))
    return *left - *right;
  if (isa<arith::MulIOp, arith::MulSIExtendedOp>(op))
    return *left * *right;
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return atom("ceil(" + left->asOperand() + " / " + right->asOperand() + ")");
  bool isRest = isa<arith::RemSIOp, arith::RemUIOp>(op);
  // (x + n - 1) // n.
  SizeFormula less = *left - (*right - SizeFormula(1));
  if (!isRest && less.terms.size() < left->terms.size())
    return atom("ceil(" + less.asOperand() + " / " + right->asOperand() + ")");
  return atom("(" + left->asOperand() + (isRest ? " % " : " // ") +
              right->asOperand() + ")");
}
