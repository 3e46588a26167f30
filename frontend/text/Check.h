// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Check.h - Syntax trees to a checked program --------------*- C++ -*-===//
//
// The public face of the checker. It evaluates an entry as the language says
// (every call in place, with the dimensions, numbers and instances of that use) and
// so finds every type, every parameter and every error, and leaves a Program.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_CHECK_H
#define FRONTEND_TEXT_CHECK_H

#include "frontend/text/Diagnostics.h"
#include "frontend/text/Program.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace gatefold::text {

/// A file with everything that it imports, parsed.
class Package {
public:
  /// `folders`: where `import` looks after the importing file's own folder: those
  /// of -I, then the library.
  Package(Diagnostics &diagnostics, std::vector<std::string> folders)
      : diagnostics(diagnostics), folders(std::move(folders)) {}

  /// Reads and parses a file and, once each, its imports. False if it cannot be
  /// read (then the message is in `error`); errors inside go to the diagnostics.
  bool load(llvm::StringRef path, std::string &error);
  /// The same for a text that is already at hand (an editor's buffer, a test).
  void loadText(std::string name, std::string text);

  struct File {
    std::string path; // canonical
    std::unique_ptr<Module> module;
    std::vector<File *> imports; // resolved, in order
  };
  /// The file that was loaded first.
  File &main() { return *files.front(); }
  const std::vector<std::unique_ptr<File>> &all() const { return files; }
  Diagnostics &getDiagnostics() { return diagnostics; }

private:
  Diagnostics &diagnostics;
  std::vector<std::string> folders;
  std::vector<std::unique_ptr<File>> files;
};

struct EntryOptions {
  /// Empty: the file's only model.
  std::string entry;
  /// --dim
  std::map<std::string, int64_t> dimensions;
  /// --arg NAME=TEXT; TEXT is an expression of numbers, true, false, a string or a
  /// tuple of them.
  std::vector<std::pair<std::string, std::string>> arguments;
  /// The model's float type.
  Element floatType = Element::F32;
  /// For a cell, func or attention as entry: how many leading dimensions each of
  /// its inputs gets (open).
  unsigned leadRank = 0;
  /// `check`: what must be given before the entry can compute is listed, not
  /// an error, and the rest is checked with it unknown.
  bool allowUnknown = false;
};

/// Checks one entry. Null after an error (reported). With `allowUnknown` the program is
/// for listing only, not for import, when `missing` is not empty.
std::unique_ptr<Program>
checkEntry(Package &package, const EntryOptions &options,
           std::vector<std::string> *missing = nullptr);

/// Checks every declaration of the main file, each on its own with its dimensions
/// open, and what it uses of other files.
void checkFile(Package &package, Element floatType = Element::F32);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECK_H
