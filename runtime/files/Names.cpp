// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edit distance within a band, so that a hint stays cheap among many names.
#include "runtime/files/Names.h"

#include <algorithm>
#include <cstddef>

namespace gatefold::files {

namespace {

constexpr size_t longestName = 256;
constexpr size_t mostCandidates = 100000;
constexpr size_t farthest = 8;

/// The edit distance of the two, or `limit + 1` where it exceeds `limit`.
size_t boundedDistance(std::string_view left, std::string_view right,
                       size_t limit) {
  size_t difference = left.size() > right.size() ? left.size() - right.size()
                                                 : right.size() - left.size();
  if (difference > limit)
    return limit + 1;
  size_t previous[longestName + 1], current[longestName + 1];
  for (size_t j = 0; j <= right.size(); ++j)
    previous[j] = j;
  for (size_t i = 1; i <= left.size(); ++i) {
    // Cells farther than `limit` from the diagonal cannot lie on a short path.
    size_t first = i > limit ? i - limit : 1;
    size_t last = std::min(right.size(), i + limit);
    std::fill(current, current + right.size() + 1, limit + 1);
    if (i <= limit)
      current[0] = i;
    size_t least = current[0];
    for (size_t j = first; j <= last; ++j) {
      size_t replaced = previous[j - 1] + (left[i - 1] != right[j - 1]);
      current[j] =
          std::min({replaced, previous[j] + 1, current[j - 1] + 1, limit + 1});
      least = std::min(least, current[j]);
    }
    if (least > limit)
      return limit + 1;
    std::copy(current, current + right.size() + 1, previous);
  }
  return std::min(previous[right.size()], limit + 1);
}

} // namespace

std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  if (name.empty() || name.size() > longestName)
    return std::nullopt;
  size_t limit = std::min(std::max<size_t>(name.size() / 3, 1), farthest);
  const std::string *nearest = nullptr;
  size_t count = std::min(candidates.size(), mostCandidates);
  for (size_t i = 0; i < count; ++i) {
    const std::string &candidate = candidates[i];
    if (candidate.size() > longestName)
      continue;
    size_t distance = boundedDistance(name, candidate, limit);
    if (distance > limit)
      continue;
    nearest = &candidate;
    if (distance == 0)
      break;
    limit = distance - 1;
  }
  if (!nearest)
    return std::nullopt;
  return *nearest;
}

} // namespace gatefold::files
