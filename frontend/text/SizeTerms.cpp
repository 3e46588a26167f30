// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeTerms.cpp - Sums of products of dimensions ---------------------===//
//
// The order of terms is the lexicographic order of monomials, in which the
// first atom is the greatest, so that polynomials can be divided. Nothing here
// compares addresses first: equal programs give equal texts.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/SizeTerms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <algorithm>
#include <tuple>

using namespace gatefold::text;
using llvm::checkedAdd;
using llvm::checkedMul;
using Kind = Size::Atom::Kind;

/// Most terms and factors of one size, also inside atoms.
static constexpr size_t maximumWeight = 2048;

static size_t weight(llvm::ArrayRef<Size::Term> terms) {
  size_t total = 0;
  for (const Size::Term &term : terms) {
    total += 1 + term.factors.size();
    for (const Size::AtomRef &atom : term.factors)
      if (atom->kind != Kind::Symbol)
        total += weight(atom->left.terms()) + weight(atom->right.terms());
  }
  return total;
}

int gatefold::text::compareAtoms(const Size::Atom &a, const Size::Atom &b) {
  if (&a == &b)
    return 0;
  if (a.kind != b.kind)
    return a.kind < b.kind ? -1 : 1;
  if (a.kind == Kind::Symbol) {
    if (a.symbol == b.symbol)
      return 0;
    // Symbols of attention bodies (-1) stand behind those of the program.
    return std::make_tuple(unsigned(a.symbol->index),
                           llvm::StringRef(a.symbol->name), a.symbol) <
                   std::make_tuple(unsigned(b.symbol->index),
                                   llvm::StringRef(b.symbol->name), b.symbol)
               ? -1
               : 1;
  }
  if (int order = compareTerms(a.left.terms(), b.left.terms()))
    return order;
  return compareTerms(a.right.terms(), b.right.terms());
}

int gatefold::text::compareFactors(llvm::ArrayRef<Size::AtomRef> a,
                                   llvm::ArrayRef<Size::AtomRef> b) {
  for (auto [left, right] : llvm::zip(a, b))
    if (int order = compareAtoms(*left, *right))
      return order;
  // The longer one is greater and stands first.
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}

int gatefold::text::compareTerms(llvm::ArrayRef<Size::Term> a,
                                 llvm::ArrayRef<Size::Term> b) {
  for (auto [left, right] : llvm::zip(a, b)) {
    if (int order = compareFactors(left.factors, right.factors))
      return order;
    if (left.coefficient != right.coefficient)
      return left.coefficient < right.coefficient ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() > b.size() ? -1 : 1;
}

std::optional<Terms> gatefold::text::normalise(Terms terms) {
  llvm::sort(terms, [](const Size::Term &a, const Size::Term &b) {
    return compareTerms(a, b) < 0;
  });
  Terms sum;
  for (Size::Term &term : terms) {
    if (!sum.empty() && compareFactors(sum.back().factors, term.factors) == 0) {
      std::optional<int64_t> total =
          checkedAdd(sum.back().coefficient, term.coefficient);
      if (!total)
        return std::nullopt;
      sum.back().coefficient = *total;
    } else {
      sum.push_back(std::move(term));
    }
  }
  llvm::erase_if(sum, [](const Size::Term &t) { return t.coefficient == 0; });
  if (sum.size() > maximumTerms || weight(sum) > maximumWeight)
    return std::nullopt;
  return sum;
}

std::optional<int64_t> gatefold::text::floorQuotient(int64_t a, int64_t b) {
  if (a == INT64_MIN && b == -1)
    return std::nullopt;
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t gatefold::text::floorRemainder(int64_t a, int64_t b) {
  int64_t remainder = a % b;
  return remainder < 0 ? remainder + b : remainder;
}

std::optional<int64_t>
gatefold::text::lowerBound(llvm::ArrayRef<Size::Term> terms) {
  auto ofAtom = [](const Size::Atom &atom) -> std::optional<int64_t> {
    if (atom.kind == Kind::Symbol)
      return 0;
    std::optional<int64_t> left = lowerBound(atom.left.terms());
    std::optional<int64_t> right = lowerBound(atom.right.terms());
    switch (atom.kind) {
    case Kind::FloorDivide:
      if (left && atom.right.constant() && *atom.right.constant() > 0)
        return floorQuotient(*left, *atom.right.constant());
      // Never below 0 where neither operand is.
      return left && right && *left >= 0 && *right >= 0
                 ? std::optional<int64_t>(0)
                 : std::nullopt;
    case Kind::Modulo:
      return right && *right >= 0 ? std::optional<int64_t>(0) : std::nullopt;
    case Kind::Minimum:
      return left && right ? std::optional<int64_t>(std::min(*left, *right))
                           : std::nullopt;
    case Kind::Maximum:
      return left && right ? std::max(*left, *right) : left ? left : right;
    case Kind::Symbol:
      break;
    }
    return std::nullopt;
  };
  int64_t sum = 0;
  for (const Size::Term &term : terms) {
    std::optional<int64_t> bound = term.coefficient;
    if (term.coefficient < 0 && !term.factors.empty())
      return std::nullopt;
    for (const Size::AtomRef &atom : term.factors) {
      std::optional<int64_t> factor = ofAtom(*atom);
      // Of several factors none may be negative.
      if (!factor || (term.factors.size() > 1 && *factor < 0))
        return std::nullopt;
      bound = checkedMul(*bound, *factor);
      if (!bound)
        return std::nullopt;
    }
    std::optional<int64_t> next = checkedAdd(sum, *bound);
    if (!next)
      return std::nullopt;
    sum = *next;
  }
  return sum;
}
