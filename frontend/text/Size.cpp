// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Size.cpp - Whole numbers made of open dimensions -------------------===//
//
// Each result is in the order of SizeTerms.h, so equal sizes are equal terms.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Size.h"
#include "frontend/text/SizeTerms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <numeric>

using namespace gatefold::text;
using llvm::checkedAdd;
using llvm::checkedMul;
using llvm::checkedSub;
using Kind = Size::Atom::Kind;

static bool isNonNegative(const std::optional<Size> &size) {
  return size && lowerBound(size->terms()).value_or(-1) >= 0;
}

//===----------------------------------------------------------------------===//
// Making and asking
//===----------------------------------------------------------------------===//

Size::Size(int64_t constant) {
  if (constant != 0)
    sum.push_back({constant, {}});
}

Size::Size(const Symbol *symbol) {
  sum.push_back(
      {1, {std::make_shared<Atom>(Atom{Kind::Symbol, symbol, {}, {}})}});
}

std::optional<Size> Size::make(std::vector<Term> terms) {
  std::optional<Terms> normal = normalise(std::move(terms));
  if (!normal)
    return std::nullopt;
  Size size;
  size.sum = std::move(*normal);
  return size;
}

std::optional<Size> Size::make(Atom atom) {
  return make({Term{1, {std::make_shared<Atom>(std::move(atom))}}});
}

std::optional<int64_t> Size::constant() const {
  if (sum.empty())
    return 0;
  if (sum.size() == 1 && sum[0].factors.empty())
    return sum[0].coefficient;
  return std::nullopt;
}

const Symbol *Size::symbol() const {
  if (sum.size() != 1 || sum[0].coefficient != 1 || sum[0].factors.size() != 1)
    return nullptr;
  return sum[0].factors[0]->symbol;
}

bool Size::operator==(const Size &other) const {
  return compareTerms(sum, other.sum) == 0;
}

bool Size::provablyDiffers(const Size &other) const {
  std::optional<Size> difference = subtract(*this, other);
  if (!difference)
    return false;
  std::optional<int64_t> value = difference->constant();
  return value && *value != 0;
}

void Size::forEachSymbol(
    llvm::function_ref<void(const Symbol *)> callback) const {
  for (const Term &term : sum)
    for (const AtomRef &atom : term.factors) {
      if (atom->kind == Kind::Symbol) {
        callback(atom->symbol);
        continue;
      }
      atom->left.forEachSymbol(callback);
      atom->right.forEachSymbol(callback);
    }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

std::optional<Size> Size::add(const Size &a, const Size &b) {
  Terms terms = a.sum;
  terms.insert(terms.end(), b.sum.begin(), b.sum.end());
  return make(std::move(terms));
}

std::optional<Size> Size::subtract(const Size &a, const Size &b) {
  Terms terms = a.sum;
  for (const Term &term : b.sum) {
    std::optional<int64_t> negated = checkedSub(int64_t(0), term.coefficient);
    if (!negated)
      return std::nullopt;
    terms.push_back({*negated, term.factors});
  }
  return make(std::move(terms));
}

std::optional<Size> Size::multiply(const Size &a, const Size &b) {
  Terms terms;
  for (const Term &left : a.sum)
    for (const Term &right : b.sum) {
      std::optional<int64_t> product =
          checkedMul(left.coefficient, right.coefficient);
      if (!product)
        return std::nullopt;
      Term term{*product, left.factors};
      term.factors.insert(term.factors.end(), right.factors.begin(),
                          right.factors.end());
      llvm::sort(term.factors, [](const AtomRef &x, const AtomRef &y) {
        return compareAtoms(*x, *y) < 0;
      });
      terms.push_back(std::move(term));
    }
  return make(std::move(terms));
}

std::optional<Size> Size::divideExactly(const Size &a, const Size &b) {
  if (b.sum.empty())
    return std::nullopt;
  // Long division of polynomials; a step removes the leading term of the rest.
  const Term &leading = b.sum.front();
  Size rest = a;
  Terms quotient;
  for (size_t step = 0; !rest.sum.empty(); ++step) {
    if (step == maximumTerms)
      return std::nullopt;
    Term term = rest.sum.front();
    std::optional<int64_t> coefficient =
        floorQuotient(term.coefficient, leading.coefficient);
    if (!coefficient || *coefficient * leading.coefficient != term.coefficient)
      return std::nullopt;
    term.coefficient = *coefficient;
    for (const AtomRef &factor : leading.factors) {
      auto found = llvm::find_if(term.factors, [&](const AtomRef &candidate) {
        return compareAtoms(*candidate, *factor) == 0;
      });
      if (found == term.factors.end())
        return std::nullopt;
      term.factors.erase(found);
    }
    Size part;
    part.sum = {term};
    std::optional<Size> product = multiply(part, b);
    std::optional<Size> next =
        product ? subtract(rest, *product) : std::nullopt;
    if (!next)
      return std::nullopt;
    rest = std::move(*next);
    quotient.push_back(std::move(term));
  }
  return make(std::move(quotient));
}

std::optional<Size> Size::floorDivide(const Size &a, const Size &b) {
  std::optional<int64_t> divisor = b.constant();
  if (divisor == 0)
    return std::nullopt;
  if (std::optional<Size> exact = divideExactly(a, b))
    return exact;
  if (!divisor)
    return make(Atom{Kind::FloorDivide, nullptr, a, b});
  if (std::optional<int64_t> dividend = a.constant()) {
    std::optional<int64_t> quotient = floorQuotient(*dividend, *divisor);
    return quotient ? std::optional<Size>(*quotient) : std::nullopt;
  }
  if (*divisor < 0) {
    std::optional<Size> negated = subtract(0, a);
    std::optional<int64_t> positive = checkedSub(int64_t(0), *divisor);
    if (!negated || !positive)
      return std::nullopt;
    return floorDivide(*negated, *positive);
  }

  // (x//m + c)//d = (x + c*m)//(m*d)
  const Term &first = a.sum.front();
  if (first.coefficient == 1 && first.factors.size() == 1 &&
      first.factors[0]->kind == Kind::FloorDivide &&
      (a.sum.size() == 1 || (a.sum.size() == 2 && a.sum[1].factors.empty()))) {
    std::optional<int64_t> inner = first.factors[0]->right.constant();
    int64_t added = a.sum.size() == 2 ? a.sum[1].coefficient : 0;
    if (inner && *inner > 0) {
      std::optional<int64_t> scaled = checkedMul(added, *inner);
      std::optional<int64_t> product = checkedMul(*divisor, *inner);
      if (!scaled || !product)
        return std::nullopt;
      std::optional<Size> dividend = add(first.factors[0]->left, *scaled);
      return dividend ? floorDivide(*dividend, *product) : std::nullopt;
    }
  }

  // Whole multiples of the divisor come out; the constant that stays is in (-d,
  // 0].
  Terms whole, rest;
  int64_t common = *divisor;
  for (const Term &term : a.sum) {
    int64_t remainder = floorRemainder(term.coefficient, *divisor);
    if (term.factors.empty() && remainder != 0)
      remainder -= *divisor;
    std::optional<int64_t> moved = checkedSub(term.coefficient, remainder);
    if (!moved)
      return std::nullopt;
    if (*moved != 0)
      whole.push_back({*moved / *divisor, term.factors});
    if (remainder == 0)
      continue;
    rest.push_back({remainder, term.factors});
    if (!term.factors.empty())
      common = std::gcd(common, remainder);
  }
  // (g*x + c)//(g*d) = (x + c//g)//d
  for (Term &term : rest)
    term.coefficient = *floorQuotient(term.coefficient, common);
  std::optional<Size> outside = make(std::move(whole));
  std::optional<Size> inside = make(std::move(rest));
  if (!outside || !inside)
    return std::nullopt;
  std::optional<Size> quotient;
  if (inside->constant())
    quotient = Size(*floorQuotient(*inside->constant(), *divisor / common));
  else if (*divisor == common)
    quotient = inside;
  else
    quotient =
        make(Atom{Kind::FloorDivide, nullptr, *inside, *divisor / common});
  return quotient ? add(*quotient, *outside) : std::nullopt;
}

std::optional<Size> Size::modulo(const Size &a, const Size &b) {
  std::optional<int64_t> divisor = b.constant();
  if (divisor == 0)
    return std::nullopt;
  if (divideExactly(a, b))
    return Size();
  if (!divisor)
    return make(Atom{Kind::Modulo, nullptr, a, b});
  if (*divisor < 0) {
    std::optional<Size> negated = subtract(0, a);
    std::optional<int64_t> positive = checkedSub(int64_t(0), *divisor);
    std::optional<Size> remainder =
        negated && positive ? modulo(*negated, *positive) : std::nullopt;
    return remainder ? subtract(0, *remainder) : std::nullopt;
  }
  Terms rest;
  for (const Term &term : a.sum)
    rest.push_back({floorRemainder(term.coefficient, *divisor), term.factors});
  std::optional<Size> dividend = make(std::move(rest));
  if (!dividend || dividend->constant())
    return dividend;
  return make(Atom{Kind::Modulo, nullptr, *dividend, b});
}

std::optional<Size> Size::minimum(const Size &a, const Size &b) {
  if (isNonNegative(subtract(b, a)))
    return a;
  if (isNonNegative(subtract(a, b)))
    return b;
  bool ordered = compareTerms(a.sum, b.sum) < 0;
  return make(Atom{Kind::Minimum, nullptr, ordered ? a : b, ordered ? b : a});
}

std::optional<Size> Size::maximum(const Size &a, const Size &b) {
  if (isNonNegative(subtract(a, b)))
    return a;
  if (isNonNegative(subtract(b, a)))
    return b;
  bool ordered = compareTerms(a.sum, b.sum) < 0;
  return make(Atom{Kind::Maximum, nullptr, ordered ? a : b, ordered ? b : a});
}

std::optional<int64_t> Size::bound() const {
  int64_t bound = 0;
  for (const Term &term : sum) {
    std::optional<int64_t> most = 1;
    if (!term.factors.empty()) {
      const Atom &atom = *term.factors[0];
      bool isMinimum = atom.kind == Kind::Minimum;
      if (term.coefficient != 1 || term.factors.size() != 1 ||
          (!isMinimum && atom.kind != Kind::Maximum))
        return std::nullopt;
      std::optional<int64_t> left = atom.left.bound(),
                             right = atom.right.bound();
      if (left && right)
        most = isMinimum ? std::min(*left, *right) : std::max(*left, *right);
      else if (isMinimum && (left || right))
        most = left ? left : right;
      else
        return std::nullopt;
    }
    std::optional<int64_t> product = checkedMul(term.coefficient, *most);
    std::optional<int64_t> total =
        product ? checkedAdd(bound, *product) : std::nullopt;
    if (!total)
      return std::nullopt;
    bound = *total;
  }
  return bound;
}

std::optional<Size> Size::substitute(
    llvm::function_ref<std::optional<Size>(const Symbol *)> map) const {
  Size result;
  for (const Term &term : sum) {
    std::optional<Size> product(term.coefficient);
    for (const AtomRef &atom : term.factors) {
      std::optional<Size> factor;
      if (atom->kind == Kind::Symbol) {
        factor = map(atom->symbol);
      } else {
        std::optional<Size> left = atom->left.substitute(map);
        std::optional<Size> right = atom->right.substitute(map);
        if (!left || !right)
          return std::nullopt;
        switch (atom->kind) {
        case Kind::FloorDivide:
          factor = floorDivide(*left, *right);
          break;
        case Kind::Modulo:
          factor = modulo(*left, *right);
          break;
        case Kind::Minimum:
          factor = minimum(*left, *right);
          break;
        case Kind::Maximum:
        case Kind::Symbol:
          factor = maximum(*left, *right);
          break;
        }
      }
      product = factor ? multiply(*product, *factor) : std::nullopt;
      if (!product)
        return std::nullopt;
    }
    std::optional<Size> total = add(result, *product);
    if (!total)
      return std::nullopt;
    result = std::move(*total);
  }
  return result;
}
