// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SizeTerms.h - Sums of products of dimensions -------------*- C++ -*-===//
//
// Terms in their order, and what they are known to be.
//
//===----------------------------------------------------------------------===//

#ifndef GATEFOLD_FRONTEND_TEXT_SIZETERMS_H
#define GATEFOLD_FRONTEND_TEXT_SIZETERMS_H

#include "frontend/text/Size.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace gatefold::text {

using Terms = std::vector<Size::Term>;

/// Most terms of one size.
constexpr size_t maximumTerms = 256;

/// Negative where a stands before b, 0 where they are equal.
int compareAtoms(const Size::Atom &a, const Size::Atom &b);
int compareFactors(llvm::ArrayRef<Size::AtomRef> a,
                   llvm::ArrayRef<Size::AtomRef> b);
int compareTerms(llvm::ArrayRef<Size::Term> a, llvm::ArrayRef<Size::Term> b);

/// Sorts the terms and sums those of the same factors. Nothing where a number
/// overflows, or where there are too many of them.
std::optional<Terms> normalise(Terms terms);

/// Rounds down. The divisor is not 0; nothing on overflow.
std::optional<int64_t> floorQuotient(int64_t a, int64_t b);

/// In [0, b), for b > 0.
int64_t floorRemainder(int64_t a, int64_t b);

/// A number that terms do not fall below in any run, as open dimensions are >=
/// 0; nothing where none shows.
std::optional<int64_t> lowerBound(llvm::ArrayRef<Size::Term> terms);

} // namespace gatefold::text

#endif // GATEFOLD_FRONTEND_TEXT_SIZETERMS_H
