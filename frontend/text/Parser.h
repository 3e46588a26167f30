// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Parser.h - Text to syntax tree ---------------------------*- C++ -*-===//

#ifndef FRONTEND_TEXT_PARSER_H
#define FRONTEND_TEXT_PARSER_H

#include "frontend/text/Diagnostics.h"
#include "frontend/text/Syntax.h"

namespace gatefold::text {

/// Expressions and blocks nest at most this deep.
constexpr unsigned maximumNesting = 200;

/// The syntax tree of an expression is at most this high; only chains such as
/// `a + b + c + ...` or `x[0][0][0]...` come near.
constexpr unsigned maximumHeight = 1000;

/// Parses a file that `diagnostics.getSources()` holds. Recovers at the ends of
/// statements and declarations, so that one run reports several errors; what
/// could not be parsed is left out of the tree. Never null.
std::unique_ptr<Module> parse(uint32_t file, Diagnostics &diagnostics);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_PARSER_H
