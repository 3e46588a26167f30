// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Check.h - Syntax trees to a checked program --------------*- C++ -*-===//
//
// The public face of the checker. It evaluates an entry as the language says
// (every call in place, with the dimensions, numbers and instances of that use)
// and so finds every type, every parameter and every error, and leaves a
// Program.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_CHECK_H
#define FRONTEND_TEXT_CHECK_H

#include "frontend/text/Diagnostics.h"
#include "frontend/text/Program.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <map>

namespace gatefold::text {

/// A file with everything that it imports, parsed.
class Package {
public:
  /// `folders`: where `import` looks after the importing file's own folder:
  /// those of -I, then the library.
  Package(Diagnostics &diagnostics, std::vector<std::string> folders)
      : diagnostics(diagnostics), folders(std::move(folders)) {}

  /// Reads and parses a file and, once each, its imports. False if it cannot be
  /// read (then the message is in `error`); errors inside go to the
  /// diagnostics.
  bool load(llvm::StringRef path, std::string &error);
  /// The same for a text that is already at hand (an editor's buffer, a test).
  void loadText(std::string name, std::string text);

  struct File {
    std::string path; // canonical
    std::unique_ptr<Module> module;
    std::vector<File *> imports; // resolved, in order
    /// Something of it, or an import, could not be read (reported): names that
    /// are not found in it may well exist.
    bool incomplete = false;
    /// Its text has errors, so its declarations are not evaluated.
    bool broken = false;
    /// `cells.gf`, for messages.
    llvm::StringRef name() const;
    /// The first declaration of that name, or null.
    const Declaration *find(llvm::StringRef name) const;

  private:
    /// By name, made at the first look.
    mutable std::optional<llvm::StringMap<const Declaration *>> declarations;
  };
  /// The file that was loaded first.
  File &main() { return *files.front(); }
  const std::vector<std::unique_ptr<File>> &all() const { return files; }
  Diagnostics &getDiagnostics() { return diagnostics; }

  /// What the files in the folders of imports declare, by a quick look: a hint
  /// for a name whose import was forgotten. Name, then what to import.
  const std::vector<std::pair<std::string, std::string>> &importable();

  /// A package holds at most this many files.
  static constexpr size_t maximumFiles = 1000;

private:
  File &add(std::string shownName, std::string canonical, std::string text);
  void loadImports(File &file);
  File *loadImport(File &importing, const ImportSyntax &import);
  void checkCycles();
  void checkNames(File &file);

  Diagnostics &diagnostics;
  std::vector<std::string> folders;
  std::vector<std::unique_ptr<File>> files;
  std::optional<std::vector<std::pair<std::string, std::string>>> importables;
};

struct EntryOptions {
  /// Empty: the file's only model.
  std::string entry;
  /// --dim
  std::map<std::string, int64_t> dimensions;
  /// --arg NAME=TEXT; TEXT is an expression of numbers, true, false, a string
  /// or a tuple of them.
  std::vector<std::pair<std::string, std::string>> arguments;
  /// For a cell or an attention as entry: the options of its call that are
  /// tensors and shall be inputs of the program under their own names:
  /// `lengths`, `reset` of a cell; `lengths`, `mask`, `bias`, `offset`,
  /// `segments` of an attention
  /// (`segments` gives the inputs `query_segments` and `key_segments`). The
  /// driver names those that it has data for. With a rank, the input has as
  /// many dimensions: the first leading ones (`lengths`, `offset`), or the last
  /// of [lead.., T, S] (`mask`, `bias`); without, `lengths` and `offset` have
  /// one (none where there is no lead), the others all.
  std::vector<std::pair<std::string, std::optional<unsigned>>> tensorOptions;
  /// The model's float type.
  Element floatType = Element::F32;
  /// For a cell, func or attention as entry: how many leading dimensions each
  /// of its inputs gets (open).
  unsigned leadRank = 0;
  /// The same for single inputs that have fewer: the last ones of the leading
  /// dimensions.
  std::map<std::string, unsigned> leadRanks;
  /// `check`: what must be given before the entry can compute is listed, not
  /// an error, and the rest is checked with it unknown.
  bool allowUnknown = false;
};

/// Checks one entry. Null after an error (reported). With `allowUnknown` the
/// program is for listing only, not for import, when `missing` is not empty.
std::unique_ptr<Program>
checkEntry(Package &package, const EntryOptions &options,
           std::vector<std::string> *missing = nullptr);

/// Checks every declaration of the main file, each on its own with its
/// dimensions open, and what it uses of other files.
void checkFile(Package &package, Element floatType = Element::F32);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECK_H
