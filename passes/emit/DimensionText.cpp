// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- DimensionText.cpp - A size as a program writes it ------------------===//
//
// Prints an affine expression in the notation of the language.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/DimensionText.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace gatefold;

namespace {
/// How tightly the operators bind, loosest first.
enum Binding { Sum, Product, Atom };
} // namespace

/// d where a term is d * (d // 2**62), the greater of -d and 0; else null.
static AffineExpr matchLack(AffineExpr term) {
  auto product = dyn_cast<AffineBinaryOpExpr>(term);
  if (product && term.getKind() == AffineExprKind::Mul)
    for (auto [left, right] : {std::pair(product.getLHS(), product.getRHS()),
                               std::pair(product.getRHS(), product.getLHS())})
      if (right == left.floorDiv(int64_t(1) << 62))
        return left;
  return {};
}

/// Where a size is the greater or the lesser of two, b + m or b - m with m the
/// greater of -d and 0: b -+ d and b.
static std::optional<std::pair<AffineExpr, AffineExpr>>
matchExtreme(AffineExpr size, unsigned symbols, bool &isMaximum) {
  SmallVector<AffineExpr> open{size};
  AffineExpr one = getAffineConstantExpr(0, size.getContext()), lack;
  while (!open.empty()) {
    AffineExpr term = open.pop_back_val(), found = matchLack(term);
    bool isAdded = bool(found);
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    if (binary && term.getKind() == AffineExprKind::Add) {
      open.append({binary.getRHS(), binary.getLHS()});
      continue;
    }
    if (binary && term.getKind() == AffineExprKind::Mul &&
        binary.getRHS() == getAffineConstantExpr(-1, size.getContext()))
      found = matchLack(binary.getLHS());
    if (!found) {
      one = one + term;
      continue;
    }
    if (lack)
      return std::nullopt;
    lack = -found;
    isMaximum = isAdded;
  }
  if (!lack)
    return std::nullopt;
  one = simplifyAffineExpr(one, /*numDims=*/0, symbols);
  AffineExpr other = simplifyAffineExpr(isMaximum ? one + lack : one - lack,
                                        /*numDims=*/0, symbols);
  if (isa<AffineConstantExpr>(other))
    std::swap(one, other);
  return std::make_pair(other, one);
}

static std::string print(AffineExpr size, llvm::ArrayRef<std::string> names,
                         Binding around) {
  auto enclose = [&](std::string text, Binding binding) {
    return binding < around ? "(" + text + ")" : text;
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(size))
    return enclose(std::to_string(constant.getValue()),
                   constant.getValue() < 0 ? Sum : Atom);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return names[symbol.getPosition()];
  bool isMaximum;
  if (auto both = matchExtreme(size, names.size(), isMaximum))
    return (isMaximum ? "max(" : "min(") + print(both->first, names, Sum) +
           ", " + print(both->second, names, Sum) + ")";
  auto binary = cast<AffineBinaryOpExpr>(size);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  switch (size.getKind()) {
  case AffineExprKind::Add: {
    std::string text = print(left, names, Sum);
    // A difference is a sum with a negative term.
    if (auto constant = dyn_cast<AffineConstantExpr>(right))
      if (constant.getValue() < 0)
        return enclose(
            text + " - " + std::to_string(constant.getValue()).substr(1), Sum);
    if (auto product = dyn_cast<AffineBinaryOpExpr>(right))
      if (product.getKind() == AffineExprKind::Mul)
        if (auto factor = dyn_cast<AffineConstantExpr>(product.getRHS()))
          if (factor.getValue() < 0 &&
              factor.getValue() > std::numeric_limits<int64_t>::min())
            return enclose(text + " - " +
                               print(product.getLHS() * -factor.getValue(),
                                     names, Product),
                           Sum);
    return enclose(text + " + " + print(right, names, Sum), Sum);
  }
  case AffineExprKind::Mul:
    // The number goes first.
    if (isa<AffineConstantExpr>(right))
      std::swap(left, right);
    return enclose(print(left, names, Product) + "*" +
                       print(right, names, Product),
                   Product);
  case AffineExprKind::FloorDiv:
    return enclose(print(left, names, Product) + " // " +
                       print(right, names, Atom),
                   Product);
  case AffineExprKind::Mod:
    return enclose(print(left, names, Product) + " % " +
                       print(right, names, Atom),
                   Product);
  case AffineExprKind::CeilDiv:
    return "ceil(" + print(left, names, Product) + " / " +
           print(right, names, Atom) + ")";
  default:
    llvm_unreachable("a size is made of numbers, symbols and operators");
  }
}

std::string gatefold::dimensionText(AffineExpr size,
                                    llvm::ArrayRef<std::string> dimensions) {
  return print(size, dimensions, Sum);
}
