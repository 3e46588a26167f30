// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Files.h - Reading and writing texts ----------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_FILES_H
#define FRONTEND_TOOLS_GATEFOLD_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace gatefold::tool {

/// The contents of a regular file of at most Sources::maximumBytes.
llvm::Expected<std::string> readText(llvm::StringRef path);

/// Writes under a temporary name, then renames, so that no reader sees half of
/// it; `-` is standard output.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef contents);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_FILES_H
