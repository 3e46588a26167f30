// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Source.h - Texts and places in them ----------------------*- C++ -*-===//
//
// Every token, syntax node, program node and diagnostic points at a Range.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_SOURCE_H
#define FRONTEND_TEXT_SOURCE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gatefold::text {

/// Bytes [begin, end) of one file of a Sources.
struct Range {
  uint32_t file = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Line and column, both from 1; the column counts bytes.
struct Position {
  unsigned line = 1;
  unsigned column = 1;
};

/// The texts of one compilation. Owns them; what it returns stays valid.
class Sources {
public:
  /// A file larger than this is refused (64 MiB).
  static constexpr size_t maximumBytes = size_t(64) << 20;

  /// Adds a text under a name for messages; gives its file number.
  uint32_t add(std::string name, std::string contents);

  llvm::StringRef name(uint32_t file) const;
  llvm::StringRef contents(uint32_t file) const;
  llvm::StringRef text(Range range) const;
  Position position(uint32_t file, uint32_t offset) const;
  Position position(Range range) const {
    return position(range.file, range.begin);
  }
  /// The whole line (without its end) in which an offset stands.
  llvm::StringRef line(uint32_t file, uint32_t offset) const;
  size_t size() const { return files.size(); }

private:
  struct File {
    std::string name;
    std::string contents;
    std::vector<uint32_t> lineStarts;
  };
  std::vector<std::unique_ptr<File>> files;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_SOURCE_H
