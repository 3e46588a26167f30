// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearest.cpp - finds the name that a user may have meant.

#include "runtime/Nearest.h"

#include <string.h>

namespace gatefold::runtime {

static constexpr size_t lengthLimit = 128;
static constexpr size_t looksLimit = 4096;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/// The distance of `a` and `b`, or `limit` if it is not below it.
static size_t distanceBelow(const char *a, size_t aLength, const char *b,
                            size_t bLength, size_t limit) {
  // Row i holds the distances of the first i bytes of `a` to the beginnings of
  // `b`; a swap of neighbours looks two rows back.
  size_t rows[3][lengthLimit + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= bLength; ++j)
    last[j] = j;
  for (size_t i = 1; i <= aLength; ++i) {
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= bLength; ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = smaller(replaced, smaller(last[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = smaller(row[j], before[j - 2] + 1);
      least = smaller(least, row[j]);
    }
    // A swap may come from two rows back, for 1.
    if (least > limit)
      return limit;
    size_t *free = before;
    before = last;
    last = row;
    row = free;
  }
  return smaller(last[bLength], limit);
}

Nearest::Nearest(const char *name) : name(name) {
  nameLength = strnlen(name, lengthLimit + 1);
  // Up to a third of the name may be wrong.
  bestDistance = (nameLength + 2) / 3 + 1;
}

void Nearest::offer(const char *candidate) {
  size_t length = strnlen(candidate, lengthLimit + 1);
  size_t difference =
      length > nameLength ? length - nameLength : nameLength - length;
  if (nameLength > lengthLimit || length > lengthLimit ||
      difference >= bestDistance || looks == looksLimit)
    return;
  ++looks;
  size_t distance =
      distanceBelow(name, nameLength, candidate, length, bestDistance);
  if (distance < bestDistance) {
    bestDistance = distance;
    bestCandidate = candidate;
  }
}

} // namespace gatefold::runtime
