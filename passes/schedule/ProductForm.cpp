// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductForm.cpp - How a product is computed ------------------------===//
//
// Chooses between packed panels and a plain loop.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ProductForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gatefold;

ProductForm gatefold::chooseProductForm(const TargetDescription &target,
                                        Type type, int64_t rows,
                                        int64_t columns, bool isPrepared) {
  int64_t lanes = target.getLanes(type), widest = target.getPanelWidth(type);
  // Packing reads and writes each weight once: what a row of the product costs.
  constexpr int64_t leastRows = 4;
  if (!isPrepared && !ShapedType::isDynamic(rows) && rows < leastRows)
    return {0, "its " + std::to_string(rows) +
                   " rows are fewer than packing pays for"};
  if (ShapedType::isDynamic(columns))
    return {widest, ""};
  // A sum of vectors along k fills the lanes, few columns do not.
  if (columns <= lanes / 4)
    return {0, "its " + std::to_string(columns) +
                   " columns fill too little of a vector of " +
                   std::to_string(lanes)};
  // As few panels as there are, none much emptier than the others.
  int64_t panels = llvm::divideCeil(columns, widest);
  return {std::min(widest, static_cast<int64_t>(llvm::alignTo(
                               llvm::divideCeil(columns, panels), lanes))),
          ""};
}
