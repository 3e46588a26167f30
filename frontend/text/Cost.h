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

namespace gatefold::text {

/// Operations of one kind.
struct CostPart {
  std::string what; // "products", "convolutions", "elementwise", ...
  Size operations;
};

struct Cost {
  Size operations; // of a run
  Size inputBytes, resultBytes;
  std::vector<CostPart> parts; // those that are not 0
};

/// Nothing where a count overflows i64.
std::optional<Cost> countCost(const Program &program);

/// The value of a size for given open dimensions, by their index; nothing on
/// overflow.
std::optional<double> evaluate(const Size &size,
                               llvm::ArrayRef<int64_t> symbols);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_COST_H
