// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearest.h - finds the name that a user may have meant.

#ifndef GATEFOLD_RUNTIME_NEAREST_H
#define GATEFOLD_RUNTIME_NEAREST_H

#include <stddef.h>

namespace gatefold::runtime {

/// Looks among candidates for the one nearest to a name, by insertions,
/// deletions, replacements and swaps of neighbours. Costs are bounded: only the
/// first candidates that are offered are looked at, and no long names.
class Nearest {
public:
  explicit Nearest(const char *name);
  void offer(const char *candidate);
  /// The nearest candidate if it is near enough for a hint, else null.
  const char *best() const { return bestCandidate; }

private:
  const char *name;
  size_t nameLength;
  size_t bestDistance;
  size_t looks = 0;
  const char *bestCandidate = nullptr;
};

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_NEAREST_H
