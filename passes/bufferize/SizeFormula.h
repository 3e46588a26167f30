// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeFormula.h - A computed size as text -----------------*- C++ -*-===//
//
// What code computes from the open dimensions, in their names, for people.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_BUFFERIZE_SIZEFORMULA_H
#define PASSES_BUFFERIZE_SIZEFORMULA_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gatefold {

/// A sum of products of a number, names, and parts that are neither sums nor
/// products, such as `min(T, 126 // B)`. No part of it is negative. Numbers end
/// at the greatest; a run of such sizes is refused.
class SizeFormula {
public:
  explicit SizeFormula(int64_t number = 0);

  /// The formula of a value; nothing where it is made from anything but size
  /// arithmetic and values that `nameOf` has a name for, or is too long.
  static std::optional<SizeFormula>
  of(mlir::Value value, const std::function<std::string(mlir::Value)> &nameOf);

  SizeFormula operator+(const SizeFormula &other) const;
  SizeFormula operator*(const SizeFormula &other) const;
  SizeFormula operator-(const SizeFormula &other) const;
  /// Rounded up to a multiple of `unit`.
  SizeFormula roundedUp(int64_t unit) const;

  /// `2048*B*min(T, 126 // B) + 512`
  std::string text() const;

private:
  using Names = std::function<std::string(mlir::Value)>;

  static SizeFormula atom(std::string text);
  /// The greatest or least of several, `function` being `max` or `min`.
  static SizeFormula extreme(llvm::StringRef function,
                             std::vector<SizeFormula> parts);
  static bool gather(mlir::Value value, const Names &nameOf, bool isMax,
                     std::vector<SizeFormula> &parts);

  std::optional<int64_t> getNumber() const;
  bool isAtMost(const SizeFormula &other) const;
  bool isAtom() const;
  std::string asOperand() const;
  SizeFormula takeFactor(SizeFormula &rest) const;

  /// The atoms of a term, in order, and its number, which is not 0.
  std::map<std::vector<std::string>, int64_t> terms;
};

} // namespace gatefold

#endif // PASSES_BUFFERIZE_SIZEFORMULA_H
