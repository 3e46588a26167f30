// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "Did you mean": the nearest of some names.
#ifndef GATEFOLD_RUNTIME_FILES_NAMES_H
#define GATEFOLD_RUNTIME_FILES_NAMES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gatefold::files {

/// The candidate with the least edit distance (insert, delete, replace) to
/// `name`, the first among equals; nothing where even that one differs in more
/// than a third of `name`'s length or in more than 8 bytes. Names over 256
/// bytes, and candidates after the first 100,000, are not looked at, which
/// bounds the work.
std::optional<std::string>
nearestName(std::string_view name, const std::vector<std::string> &candidates);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_NAMES_H
