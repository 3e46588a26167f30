// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Format.h - The standard layout ---------------------------*- C++ -*-===//

#ifndef FRONTEND_TEXT_FORMAT_H
#define FRONTEND_TEXT_FORMAT_H

#include "frontend/text/Diagnostics.h"

namespace gatefold::text {

/// The text of a file in the standard layout, or nothing where it does not
/// parse (reported to `diagnostics`). Reading the result back gives the same
/// program, and formatting it again gives the same text.
std::optional<std::string> format(uint32_t file, Diagnostics &diagnostics);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_FORMAT_H
