// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Cost.h - Operations and bytes of a program ---------------*- C++ -*-===//
//
// What the equations ask for, as formulas of the open dimensions: a
// multiply-add is two operations, every elementwise function one. Reduced work
// (causal masks, lengths) is not taken off, so that two compilations of one
// text compare.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_COST_H
#define FRONTEND_TEXT_COST_H

#include "frontend/text/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gatefold::text {

/// Operations of one kind.
struct CostPart {
  std::string what; // "products", "convolutions", "elementwise", ...
  Size operations;
};

/// What operations take of a GPU's units, of those that belong together: what
/// stands in attentions, in recurrences, and elsewhere by its kind. An
/// attention keeps the products of its softmaxes with the values apart, as it
/// does when it looks at a block of keys at a time.
struct CostFamily {
  std::string what;
  /// Operations of products of two 16-bit operands, of one with another, and of
  /// others. Such an operand is one that is given, or rounded by the text; what
  /// is computed has the digits of f32.
  Size halfProducts, mixedProducts, products;
  /// Elements of keys and values that products read for each query, times the
  /// bytes of one: of attentions only.
  Size keyBytes;
  /// Exponentials and other functions of mathematics; all other operations.
  Size functions, elementwise;
  /// What is read and written, each tensor once.
  Size bytes;
  /// How often all of a grid's blocks wait for one another: of recurrences
  /// only. Two directions take their steps side by side.
  Size barriers;
};

struct Cost {
  Size operations; // of a run
  Size inputBytes, resultBytes;
  Size parameterBytes;
  std::vector<CostPart> parts; // those that are not 0
  std::vector<CostFamily> families;
};

/// Nothing where a count overflows i64. `countBarriers`: of each step of the
/// recurrence that comes from a place.
std::optional<Cost>
countCost(const Program &program,
          llvm::function_ref<int64_t(const Trace &)> countBarriers = nullptr);

/// The value of a size for given open dimensions, by their index; nothing on
/// overflow.
std::optional<double> evaluate(const Size &size,
                               llvm::ArrayRef<int64_t> symbols);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_COST_H
