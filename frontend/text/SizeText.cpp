// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeText.cpp - Sizes as texts --------------------------------------===//
//
// What messages and interfaces print, which reads as what a program writes.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Size.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold::text;
using Kind = Size::Atom::Kind;

/// An operand of // or %. The left one may be a product of symbols, as these
/// operators group to the left.
static std::string operandText(const Size &size, bool isLeft) {
  std::string text = size.str();
  llvm::ArrayRef<Size::Term> terms = size.terms();
  if (terms.empty())
    return text;
  const Size::Term &only = terms.front();
  bool plain = terms.size() == 1 && only.coefficient > 0;
  if (plain && !only.factors.empty() && !isLeft)
    plain = only.coefficient == 1 && only.factors.size() == 1;
  for (const Size::AtomRef &atom : only.factors)
    if (atom->kind == Kind::FloorDivide || atom->kind == Kind::Modulo)
      plain = false;
  return plain ? text : "(" + text + ")";
}

static std::string atomText(const Size::Atom &atom) {
  switch (atom.kind) {
  case Kind::Symbol:
    return atom.symbol->name;
  case Kind::FloorDivide:
    return operandText(atom.left, true) + "//" + operandText(atom.right, false);
  case Kind::Modulo:
    return operandText(atom.left, true) + "%" + operandText(atom.right, false);
  case Kind::Minimum:
    return "min(" + atom.left.str() + ", " + atom.right.str() + ")";
  case Kind::Maximum:
    return "max(" + atom.left.str() + ", " + atom.right.str() + ")";
  }
  return {};
}

std::string Size::str() const {
  if (sum.empty())
    return "0";
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Term &term : sum) {
    bool first = &term == &sum.front();
    bool negative = term.coefficient < 0;
    uint64_t magnitude =
        negative ? -uint64_t(term.coefficient) : uint64_t(term.coefficient);
    if (first)
      out << (negative ? "-" : "");
    else
      out << (negative ? " - " : " + ");
    bool alone = magnitude == 1 && term.factors.size() == 1;
    if (magnitude != 1 || term.factors.empty())
      out << magnitude << (term.factors.empty() ? "" : "*");
    llvm::ListSeparator times("*");
    for (const AtomRef &atom : term.factors) {
      bool divides =
          atom->kind == Kind::FloorDivide || atom->kind == Kind::Modulo;
      bool enclose = divides && (!alone || (first && negative));
      out << times << (enclose ? "(" : "") << atomText(*atom)
          << (enclose ? ")" : "");
    }
  }
  return text;
}
