// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Size.h - Whole numbers made of open dimensions -----------*- C++ -*-===//
//
// A Size is a whole number that is known when compiling, or an expression over
// open dimensions, known when a run starts. It is kept in a normal form: a
// polynomial with integer coefficients over atoms, an atom being an open
// dimension or a floorDivide, modulo, minimum or maximum of two Sizes. Two
// Sizes whose normal forms agree are equal; two that differ may still be equal
// in a run.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_SIZE_H
#define FRONTEND_TEXT_SIZE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gatefold::text {

/// An open dimension. Identity is the address; `name` is for messages.
/// `index` is its number among the program's open dimensions, or -1 for T and
/// S of an attention's body.
struct Symbol {
  std::string name;
  int index = -1;
};

class Size {
public:
  /// One product of atoms with a coefficient.
  struct Atom;
  using AtomRef = std::shared_ptr<const Atom>;
  struct Term {
    int64_t coefficient = 0;
    std::vector<AtomRef> factors; // in the atoms' order; empty: the constant
  };

  Size() : Size(int64_t(0)) {}
  Size(int64_t constant);
  explicit Size(const Symbol *symbol);

  /// Its value where it is known when compiling.
  std::optional<int64_t> constant() const;
  bool isConstant(int64_t value) const { return constant() == value; }
  /// The symbol that it is, if it is nothing else.
  const Symbol *symbol() const;
  /// Its terms, in normal order.
  llvm::ArrayRef<Term> terms() const { return sum; }

  /// Equal in every run, as far as the normal form shows.
  bool operator==(const Size &other) const;
  bool operator!=(const Size &other) const { return !(*this == other); }
  /// Different in every run (their difference is a constant that is not 0).
  bool provablyDiffers(const Size &other) const;

  /// A number that it shows not to exceed in any run, if there is one.
  std::optional<int64_t> bound() const;

  /// Arithmetic; nothing on overflow of i64, division by a constant 0, or where
  /// the expression would grow beyond 256 terms.
  static std::optional<Size> add(const Size &a, const Size &b);
  static std::optional<Size> subtract(const Size &a, const Size &b);
  static std::optional<Size> multiply(const Size &a, const Size &b);
  /// Rounds down, as in Python.
  static std::optional<Size> floorDivide(const Size &a, const Size &b);
  static std::optional<Size> modulo(const Size &a, const Size &b);
  static std::optional<Size> minimum(const Size &a, const Size &b);
  static std::optional<Size> maximum(const Size &a, const Size &b);
  /// a / b where the division is exact in the normal form (every coefficient
  /// divides, or b's factors stand in each term).
  static std::optional<Size> divideExactly(const Size &a, const Size &b);

  /// Replaces symbols; nothing on overflow.
  std::optional<Size>
  substitute(llvm::function_ref<std::optional<Size>(const Symbol *)> map) const;
  /// Calls back for each symbol in it, also inside atoms.
  void forEachSymbol(llvm::function_ref<void(const Symbol *)> callback) const;

  /// As in a text: `2*T + S - 1`, `(T - 1)//2 + 1`.
  std::string str() const;

private:
  /// In normal form; nothing where that is too large.
  static std::optional<Size> make(std::vector<Term> terms);
  static std::optional<Size> make(Atom atom);

  std::vector<Term> sum; // sorted, no zero coefficients
};

struct Size::Atom {
  enum class Kind { Symbol, FloorDivide, Modulo, Minimum, Maximum };
  Kind kind;
  const Symbol *symbol = nullptr; // Symbol
  Size left, right;               // the others
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_SIZE_H
