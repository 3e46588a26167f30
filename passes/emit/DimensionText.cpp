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
