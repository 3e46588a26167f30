// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WorkRates.h - How long things take a rank ----------------*- C++ -*-===//
//
// What the sharing of a run among ranks weighs: a rank is a core of a CPU, or a
// thread block of a GPU. Only orders of magnitude are meant.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SUPPORT_WORKRATES_H
#define PASSES_SUPPORT_WORKRATES_H

#include "passes/support/Target.h"

namespace gatefold {

/// Times are in hundredths of a nanosecond.
struct WorkRates {
  /// Of a multiplication and addition of a product with packed weights, and of
  /// a weight that is read for it, however many rows it is used for.
  int64_t product, weight;
  /// Of a multiplication and addition of any other contraction.
  int64_t contraction;
  /// Of an element that is loaded and stored; of a function such as exp; of an
  /// operation on one element that is none of these.
  int64_t element, function, scalar;
  /// Of a barrier, with what a rank waits for the slowest one and for the
  /// memory that another has written.
  int64_t barrier;
  /// Below it an operation is done by one rank.
  int64_t leastShared;
  /// What is worth waiting for twice.
  int64_t worthSharing;
  /// What makes one more rank worth its start.
  int64_t rank;

  /// Rows of one register tile of a product, and how many each rank should have
  /// at least where rows are shared.
  int64_t tileRows, leastRows;
  /// Of an extent of so many rows each rank has enough, whatever their number.
  int64_t manyRows;
  /// How many ranks a run has where it is worth them.
  int64_t ranks;

  static const WorkRates &of(const TargetDescription &target);
};

} // namespace gatefold

#endif // PASSES_SUPPORT_WORKRATES_H
