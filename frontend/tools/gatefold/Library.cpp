// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Library.cpp - Compiled libraries on disk ---------------------------===//

#include "frontend/tools/gatefold/Library.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <vector>

using namespace llvm;

namespace gatefold::tool {

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::string> findLibrary(StringRef path) {
  if (!sys::fs::is_directory(path)) {
    SmallString<256> absolute(path);
    sys::fs::make_absolute(absolute);
    return absolute.str().str();
  }
  std::vector<std::string> found;
  std::error_code code;
  for (sys::fs::directory_iterator it(path, code), end; it != end && !code;
       it.increment(code)) {
    StringRef name = sys::path::filename(it->path());
    if (name.starts_with("lib") && name.ends_with(".so"))
      found.push_back(it->path());
  }
  if (found.size() != 1)
    return error(path + " holds " + Twine(found.size()) +
                 " files lib*.so, expected one");
  return findLibrary(found.front());
}

Expected<std::string> libraryPrefix(StringRef path) {
  auto binary = object::ObjectFile::createObjectFile(path);
  if (!binary)
    return error(path + ": " + toString(binary.takeError()));
  auto *elf = dyn_cast<object::ELFObjectFileBase>(binary->getBinary());
  if (!elf)
    return error(path + ": not an ELF library");
  for (const object::ELFSymbolRef &symbol : elf->getDynamicSymbolIterators()) {
    Expected<StringRef> name = symbol.getName();
    if (!name) {
      consumeError(name.takeError());
      continue;
    }
    if (name->ends_with("_describe"))
      return name->drop_back(strlen("_describe")).str();
  }
  return error(path + ": not a library that Gatefold compiled (no function "
                      "NAME_describe)");
}

std::string makePrefix(StringRef name) {
  std::string prefix;
  for (char c : name)
    prefix += isAlnum(c) ? c : '_';
  // The functions of the runtime are gatefold_NAME.
  if (prefix.empty() || isDigit(prefix.front()) || prefix == "gatefold" ||
      StringRef(prefix).starts_with("gatefold_"))
    prefix.insert(0, "_");
  return prefix;
}

std::string symbolPrefix(StringRef name) {
  name = sys::path::filename(name);
  name.consume_front("lib");
  return makePrefix(name.take_until([](char c) { return c == '.'; }));
}

} // namespace gatefold::tool
