// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ImportSizes.cpp - Sizes in MLIR ------------------------------------===//

#include "frontend/text/Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace gatefold::text;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
using Kind = Size::Atom::Kind;
namespace arith = mlir::arith;

mlir::Value Importer::inPrologue(llvm::function_ref<mlir::Value()> make) {
  mlir::OpBuilder::InsertionGuard guard(b);
  mlir::Location location = b.getLoc();
  mlir::Block *entry = &function.front();
  if (prologueEnd)
    b.setInsertionPointAfter(prologueEnd);
  else
    b.setInsertionPointToStart(entry);
  mlir::Value value = make();
  if (b.getInsertionPoint() != entry->begin())
    prologueEnd = &*std::prev(b.getInsertionPoint());
  b.setLoc(location);
  return value;
}

/// The size without the terms that hold `symbol`, and the coefficient of that
/// symbol, if it occurs once, as itself.
static std::optional<std::pair<Size, int64_t>>
splitLinear(const Size &size, const Symbol *symbol) {
  Size rest = size;
  int64_t coefficient = 0;
  for (const Size::Term &term : size.terms()) {
    if (term.factors.size() != 1 || term.factors[0]->symbol != symbol)
      continue;
    coefficient = term.coefficient;
    std::optional<Size> part = Size::multiply(coefficient, Size(symbol));
    std::optional<Size> without =
        part ? Size::subtract(size, *part) : std::nullopt;
    if (!without)
      return std::nullopt;
    rest = *without;
  }
  bool occurs = false;
  rest.forEachSymbol([&](const Symbol *other) { occurs |= other == symbol; });
  if (coefficient == 0 || occurs)
    return std::nullopt;
  return std::make_pair(rest, coefficient);
}

LogicalResult Importer::bindSymbols() {
  symbols.resize(program.symbols.size());
  // A dimension that is a symbol alone binds it at once; one such as 2*T + S
  // when the others in it are bound.
  for (bool progress = true; progress;) {
    progress = false;
    for (auto [number, input] : llvm::enumerate(program.inputs)) {
      for (auto [axis, size] : llvm::enumerate(input.type.shape)) {
        const Symbol *unknown = nullptr;
        bool several = false;
        size.forEachSymbol([&](const Symbol *symbol) {
          if (symbol->index < 0 || symbols[symbol->index])
            return;
          several |= unknown && unknown != symbol;
          unknown = symbol;
        });
        if (!unknown || several)
          continue;
        auto parts = splitLinear(size, unknown);
        if (!parts)
          continue;
        symbols[unknown->index] =
            inPrologue([&, number = number, axis = axis,
                        range = input.range]() -> mlir::Value {
              b.setLoc(locationOf(range));
              mlir::Value value = mlir::tensor::DimOp::create(
                  b, function.getArgument(number), axis);
              if (!parts->first.isConstant(0))
                value =
                    arith::SubIOp::create(b, value, sizeValue(parts->first));
              if (parts->second != 1)
                value = floorDivide(value, indexNumber(parts->second));
              return value;
            });
        progress = true;
      }
    }
  }
  for (const Symbol &symbol : program.symbols)
    if (!symbols[symbol.index]) {
      Range range;
      if (!program.inputs.empty())
        range = program.inputs.front().range;
      return refuse(range,
                    "dimension `" + symbol.name + "`, which no input has alone",
                    "give it: `--dim " + symbol.name + "=SIZE`");
    }
  return success();
}

Size Importer::resolve(const Size &size) const {
  if (bodySizes.empty())
    return size;
  std::optional<Size> resolved =
      size.substitute([&](const Symbol *symbol) -> std::optional<Size> {
        auto found = bodySizes.find(symbol);
        return found == bodySizes.end() ? Size(symbol) : found->second;
      });
  return resolved.value_or(size);
}

int64_t Importer::staticSize(const Size &size) const {
  return resolve(size).constant().value_or(mlir::ShapedType::kDynamic);
}

mlir::Value Importer::sizeValue(const Size &size) {
  Size resolved = resolve(size);
  mlir::Value &value = sizes[resolved.str()];
  if (!value)
    value = computeSize(resolved);
  return value;
}

mlir::Value Importer::computeSize(const Size &size) {
  // What it is made of comes first: inPrologue does not nest.
  llvm::SmallVector<
      std::pair<const Size::Atom *, std::pair<mlir::Value, mlir::Value>>>
      operands;
  for (const Size::Term &term : size.terms())
    for (const Size::AtomRef &atom : term.factors)
      if (atom->kind != Kind::Symbol)
        operands.push_back(
            {atom.get(), {sizeValue(atom->left), sizeValue(atom->right)}});
  return inPrologue([&] {
    const auto *next = operands.begin();
    auto atomValue = [&](const Size::Atom &atom) -> mlir::Value {
      if (atom.kind == Kind::Symbol)
        return symbols[atom.symbol->index];
      auto [left, right] = (next++)->second;
      switch (atom.kind) {
      case Kind::Minimum:
        return arith::MinSIOp::create(b, left, right);
      case Kind::Maximum:
        return arith::MaxSIOp::create(b, left, right);
      case Kind::FloorDivide:
      case Kind::Modulo:
      case Kind::Symbol:
        break;
      }
      if (!atom.right.constant()) {
        // An empty dimension may stand below; dividing by it must not trap.
        mlir::Value isZero = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                   right, indexNumber(0));
        right = arith::SelectOp::create(b, isZero, indexNumber(1), right);
      }
      return atom.kind == Kind::FloorDivide ? floorDivide(left, right)
                                            : floorModulo(left, right);
    };
    mlir::Value sum;
    for (const Size::Term &term : size.terms()) {
      mlir::Value product;
      for (const Size::AtomRef &atom : term.factors) {
        mlir::Value factor = atomValue(*atom);
        product = product ? arith::MulIOp::create(b, product, factor) : factor;
      }
      if (!product)
        product = indexNumber(term.coefficient);
      else if (term.coefficient != 1)
        product =
            arith::MulIOp::create(b, product, indexNumber(term.coefficient));
      sum = sum ? arith::AddIOp::create(b, sum, product) : product;
    }
    return sum ? sum : indexNumber(0);
  });
}

mlir::OpFoldResult Importer::foldedSize(const Size &size) {
  if (std::optional<int64_t> constant = resolve(size).constant())
    return b.getIndexAttr(*constant);
  return sizeValue(size);
}

llvm::SmallVector<mlir::OpFoldResult>
Importer::foldedShape(const TensorType &type) {
  llvm::SmallVector<mlir::OpFoldResult> shape;
  for (const Size &size : keptShape(type.shape))
    shape.push_back(foldedSize(size));
  return shape;
}

/// The greater of right - left and 0: with d = left - right, d * (d // 2**62).
static mlir::AffineExpr lackOf(mlir::AffineExpr left, mlir::AffineExpr right) {
  mlir::AffineExpr difference = left - right;
  return difference * difference.floorDiv(int64_t(1) << 62);
}

void Importer::requireDivisor(const Size &size, mlir::AffineExpr divisor) {
  if (isAtLeast(size, 1) ||
      !checkedSizes.try_emplace("divisor " + size.str(), true).second)
    return;
  mlir::AffineExpr one = b.getAffineConstantExpr(1);
  divisors.push_back(mlir::AffineMapAttr::get(
      affineMap({divisor + lackOf(divisor, one), divisor})));
  divisorMessages.push_back(
      b.getStringAttr("a size is divided by " + size.str()));
}

mlir::AffineExpr Importer::affineSize(const Size &size) {
  mlir::AffineExpr sum = b.getAffineConstantExpr(0);
  for (const Size::Term &term : size.terms()) {
    mlir::AffineExpr product = b.getAffineConstantExpr(1);
    for (const Size::AtomRef &atom : term.factors) {
      if (atom->kind == Kind::Symbol) {
        if (atom->symbol->index < 0)
          return {};
        product = product * b.getAffineSymbolExpr(atom->symbol->index);
        continue;
      }
      mlir::AffineExpr left = affineSize(atom->left);
      if (!left)
        return {};
      mlir::AffineExpr right = affineSize(atom->right);
      if (!right)
        return {};
      switch (atom->kind) {
      case Kind::Minimum:
        product = product * (right - lackOf(left, right));
        break;
      case Kind::Maximum:
        product = product * (left + lackOf(left, right));
        break;
      default:
        if (atom->right.constant().value_or(1) <= 0)
          return {};
        requireDivisor(atom->right, right);
        product =
            product * (atom->kind == Kind::FloorDivide ? left.floorDiv(right)
                                                       : left % right);
      }
    }
    sum = sum + product * term.coefficient;
  }
  return sum;
}

mlir::AffineExpr Importer::nonNegativity(const Size &size) {
  mlir::AffineExpr expression = affineSize(size);
  return expression ? expression.floorDiv(int64_t(1) << 62) : expression;
}

mlir::AffineMap Importer::affineMap(llvm::ArrayRef<mlir::AffineExpr> sizes) {
  return mlir::AffineMap::get(0, program.symbols.size(), sizes, &context);
}

bool Importer::isAtLeast(const Size &size, int64_t least) const {
  // The normal form drops a bound that shows to hold.
  Size resolved = resolve(size);
  std::optional<Size> larger = Size::maximum(resolved, least);
  return larger && *larger == resolved;
}

LogicalResult Importer::requireNonNegative(const Node &node,
                                           const TensorType &type) {
  for (const Size &size : type.shape) {
    if (isAtLeast(size, 0))
      continue;
    Size resolved = resolve(size);
    if (!checkedSizes.try_emplace(resolved.str(), true).second)
      continue;
    mlir::AffineExpr quotient = nonNegativity(resolved);
    if (!quotient || resolved.constant())
      return refuse(node, "a size that may be negative, " + resolved.str(),
                    "`max(.., 0)` is none below 0");
    equalities.push_back(mlir::AffineMapAttr::get(
        affineMap({quotient, b.getAffineConstantExpr(0)})));
    equalityMessages.push_back(b.getStringAttr(
        failureAt(node, "the size " + resolved.str() + " is negative")));
  }
  return success();
}
