// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Library.h - Compiled libraries on disk -------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_LIBRARY_H
#define FRONTEND_TOOLS_GATEFOLD_LIBRARY_H

#include "llvm/Support/Error.h"
#include <string>

namespace gatefold::tool {

/// The library that `path` is, or the only lib*.so of the folder that it is;
/// with a slash, so that no search path is looked at.
llvm::Expected<std::string> findLibrary(llvm::StringRef path);

/// NAME of the symbols NAME_describe, NAME_run, ... that a library exports.
llvm::Expected<std::string> libraryPrefix(llvm::StringRef path);

/// An identifier that the functions of a program called `name` may begin with,
/// and no other function does.
std::string makePrefix(llvm::StringRef name);

/// A C identifier of a file's or an entry's name: `libspeech.so` gives
/// `speech`.
std::string symbolPrefix(llvm::StringRef name);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_LIBRARY_H
