// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckPackage.cpp - Files and their imports -------------------------===//

#include "frontend/text/Check.h"
#include "frontend/text/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;
namespace path = llvm::sys::path;
namespace fs = llvm::sys::fs;

/// At most so many names of a folder are looked at for a near one.
static constexpr unsigned maximumFolderEntries = 4096;

StringRef Package::File::name() const {
  StringRef last = path::filename(path);
  return last.empty() ? StringRef(path) : last;
}

const Declaration *Package::File::find(StringRef name) const {
  if (!declarations) {
    declarations.emplace();
    for (const auto &declaration : module->declarations)
      declarations->try_emplace(declaration->name.name, declaration.get());
  }
  return declarations->lookup(name);
}

/// The contents of a regular file; the message of a failure in `error`.
static std::optional<std::string> readText(StringRef name, std::string &error) {
  fs::file_status status;
  if (std::error_code code = fs::status(name, status)) {
    error = code.message();
    return std::nullopt;
  }
  if (status.type() != fs::file_type::regular_file) {
    error = "not a regular file";
    return std::nullopt;
  }
  if (status.getSize() > Sources::maximumBytes) {
    error = "larger than " + llvm::utostr(Sources::maximumBytes >> 20) + " MiB";
    return std::nullopt;
  }
  // Read, not mapped: a file that shrinks meanwhile must not end in a fault.
  auto buffer = llvm::MemoryBuffer::getFileSlice(name, status.getSize(), 0,
                                                 /*IsVolatile=*/true);
  if (!buffer) {
    error = buffer.getError().message();
    return std::nullopt;
  }
  return (*buffer)->getBuffer().str();
}

static std::string canonical(StringRef name) {
  llvm::SmallString<256> real;
  if (fs::real_path(name, real))
    return name.str();
  return std::string(real);
}

Package::File &Package::add(std::string shownName, std::string canonical,
                            std::string text) {
  uint32_t number =
      diagnostics.getSources().add(std::move(shownName), std::move(text));
  unsigned errorsBefore = diagnostics.errorCount();
  auto file = std::make_unique<File>();
  file->path = std::move(canonical);
  file->module = parse(number, diagnostics);
  file->broken = diagnostics.errorCount() != errorsBefore;
  file->incomplete = file->broken;
  files.push_back(std::move(file));
  checkNames(*files.back());
  return *files.back();
}

bool Package::load(StringRef name, std::string &error) {
  std::optional<std::string> text = readText(name, error);
  if (!text) {
    error = "cannot read `" + name.str() + "`: " + error;
    return false;
  }
  add(name.str(), canonical(name), std::move(*text));
  for (size_t i = 0; i < files.size(); ++i)
    loadImports(*files[i]);
  checkCycles();
  return true;
}

void Package::loadText(std::string name, std::string text) {
  std::string real = canonical(name);
  add(std::move(name), std::move(real), std::move(text));
  for (size_t i = 0; i < files.size(); ++i)
    loadImports(*files[i]);
  checkCycles();
}

void Package::loadImports(File &file) {
  // Each of these costs a look into every folder; more would not be shown.
  unsigned failures = 0;
  for (const ImportSyntax &import : file.module->imports) {
    if (failures >= Diagnostics::maximumErrors)
      break;
    File *imported = loadImport(file, import);
    failures += !imported;
    if (!imported)
      file.incomplete = true;
    else if (!llvm::is_contained(file.imports, imported))
      file.imports.push_back(imported);
  }
}

Package::File *Package::loadImport(File &importing,
                                   const ImportSyntax &import) {
  std::string fileName = (import.name.name + ".gf").str();
  std::vector<std::string> places;
  StringRef shownName = diagnostics.getSources().name(importing.module->file);
  places.push_back(path::parent_path(shownName).str());
  if (places.back().empty())
    places.back() = ".";
  for (const std::string &folder : folders)
    if (!llvm::is_contained(places, folder))
      places.push_back(folder);

  for (const std::string &folder : places) {
    llvm::SmallString<256> candidate(folder == "." ? "" : folder);
    path::append(candidate, fileName);
    if (!fs::exists(candidate))
      continue;
    std::string real = canonical(candidate);
    for (const auto &file : files)
      if (file->path == real)
        return file.get();
    if (files.size() >= maximumFiles) {
      diagnostics.error(import.name.range, "more than " + Twine(maximumFiles) +
                                               " files are imported");
      return nullptr;
    }
    std::string message;
    std::optional<std::string> text = readText(candidate, message);
    if (!text) {
      diagnostics.error(import.name.range,
                        "cannot read `" + candidate.str() + "`: " + message);
      return nullptr;
    }
    return &add(std::string(candidate), std::move(real), std::move(*text));
  }

  std::string list;
  llvm::StringSet<> near;
  for (const std::string &folder : places) {
    list += (list.empty() ? "`" : ", `") + folder + "`";
    std::error_code code;
    unsigned count = 0;
    for (fs::directory_iterator entry(folder, code), end;
         entry != end && !code && ++count <= maximumFolderEntries;
         entry.increment(code))
      if (path::extension(entry->path()) == ".gf")
        near.insert(path::stem(entry->path()));
  }
  std::vector<StringRef> candidates(near.keys().begin(), near.keys().end());
  llvm::sort(candidates);
  diagnostics.error(import.name.range, "no file `" + fileName + "` in " + list)
      .suggest(import.name.name, candidates);
  return nullptr;
}

/// Reports each import that closes a cycle, and takes it away, so that whatever
/// follows imports may rely on an end.
void Package::checkCycles() {
  std::vector<File *> chain;
  std::vector<const File *> done;
  std::function<void(File &)> visit = [&](File &file) {
    chain.push_back(&file);
    llvm::erase_if(file.imports, [&](File *next) {
      auto begin = llvm::find(chain, next);
      if (begin == chain.end()) {
        if (!llvm::is_contained(done, next))
          visit(*next);
        return false;
      }
      std::string text = "import cycle: ";
      for (auto file = begin; file != chain.end(); ++file)
        text += ((*file)->name() + " -> ").str();
      Range range{file.module->file, 0, 0};
      for (const ImportSyntax &import : file.module->imports)
        if ((import.name.name + ".gf").str() == next->name())
          range = import.name.range;
      diagnostics.error(range, text + next->name());
      file.incomplete = true;
      return true;
    });
    chain.pop_back();
    done.push_back(&file);
  };
  for (const auto &file : files)
    if (!llvm::is_contained(done, file.get()))
      visit(*file);
}

void Package::checkNames(File &file) {
  llvm::StringMap<Range> seen;
  for (const auto &declaration : file.module->declarations) {
    Identifier name = declaration->name;
    auto [entry, isNew] = seen.try_emplace(name.name, name.range);
    if (!isNew)
      diagnostics
          .error(name.range, "`" + name.name + "` is declared twice in `" +
                                 file.name() + "`")
          .note(entry->second, "first declared here");
  }
}

const std::vector<std::pair<std::string, std::string>> &Package::importable() {
  if (importables)
    return *importables;
  importables.emplace();
  constexpr unsigned maximumLooks = 64;
  constexpr size_t maximumSize = size_t(1) << 20;
  unsigned looks = 0;
  for (const std::string &folder : folders) {
    std::error_code code;
    for (fs::directory_iterator entry(folder, code), end;
         entry != end && !code && ++looks <= maximumLooks;
         entry.increment(code)) {
      uint64_t size = 0;
      if (path::extension(entry->path()) != ".gf" ||
          fs::file_size(entry->path(), size) || size > maximumSize)
        continue;
      std::string error;
      std::optional<std::string> text = readText(entry->path(), error);
      if (!text)
        continue;
      llvm::SmallVector<StringRef> lines;
      StringRef(*text).split(lines, '\n');
      for (StringRef line : lines)
        for (StringRef kind : {"cell ", "attention ", "func "})
          if (line.consume_front(kind))
            importables->emplace_back(line.split('(').first.trim().str(),
                                      path::stem(entry->path()).str());
    }
  }
  llvm::sort(*importables);
  return *importables;
}
