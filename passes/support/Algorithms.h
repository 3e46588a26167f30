// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Algorithms.h - Names of what gf-choose-algorithms writes -*- C++ -*-===//
//
// The algorithms of recurrences and attentions beside the naive one, and the
// attributes that hold their sizes.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_ALGORITHMS_H
#define PASSES_SUPPORT_ALGORITHMS_H

#include "llvm/ADT/StringRef.h"

namespace gatefold {

/// A recurrence, step by step, with what is known before a block of steps
/// computed for the whole block.
inline constexpr llvm::StringLiteral stepsAlgorithm = "steps";
/// A recurrence that is linear in its states: a block of steps at once but for
/// the states, of which each element goes through the block on its own.
inline constexpr llvm::StringLiteral scanAlgorithm = "scan";
/// Attribute of both: steps times batch in a block.
inline constexpr llvm::StringLiteral stepRowsName = "gf.step_rows";

/// An attention, a block of queries at a time, whose rows of scores stay in the
/// cache from one pass over them to the next.
inline constexpr llvm::StringLiteral residentAlgorithm = "resident";
/// An attention, a block of queries and a block of keys at a time, with a
/// running maximum and sum, so that no row of scores exists.
inline constexpr llvm::StringLiteral onlineAlgorithm = "online";
/// An attention of a GPU, as `online`, where scores, powers and sums are in the
/// registers of a thread block.
inline constexpr llvm::StringLiteral registersAlgorithm = "registers";
/// Attribute of all three: how many queries a block has.
inline constexpr llvm::StringLiteral queryBlockName = "gf.query_block";
/// Attribute of the first, where the number of keys is open: how many elements
/// a query's rows of scores have in a block at most, so that fewer queries are
/// in one where there are more keys.
inline constexpr llvm::StringLiteral blockScoresName = "gf.block_scores";
/// Attribute of the last two: how many keys a block has.
inline constexpr llvm::StringLiteral keyBlockName = "gf.key_block";

/// Set where a user chose the algorithm: a lowering that cannot do it then
/// refuses instead of leaving the operation to the naive one.
inline constexpr llvm::StringLiteral algorithmGivenName = "gf.algorithm_given";

} // namespace gatefold

#endif // PASSES_SUPPORT_ALGORITHMS_H
