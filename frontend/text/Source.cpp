// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Source.cpp - Texts and places in them ------------------------------===//

#include "frontend/text/Source.h"
#include <algorithm>
#include <cassert>

using namespace gatefold::text;
using llvm::StringRef;

uint32_t Sources::add(std::string name, std::string contents) {
  auto file = std::make_unique<File>();
  file->name = std::move(name);
  file->contents = std::move(contents);
  // Offsets are 32 bits wide. A reader refuses what is larger than the maximum
  // and parse() says so; one byte more is kept for it to see that.
  if (file->contents.size() > maximumBytes)
    file->contents.resize(maximumBytes + 1);
  StringRef text = file->contents;
  file->lineStarts.push_back(0);
  for (size_t at = text.find('\n'); at != StringRef::npos;
       at = text.find('\n', at + 1))
    file->lineStarts.push_back(static_cast<uint32_t>(at) + 1);
  files.push_back(std::move(file));
  return static_cast<uint32_t>(files.size() - 1);
}

StringRef Sources::name(uint32_t file) const {
  assert(file < files.size() && "no such file");
  return files[file]->name;
}

StringRef Sources::contents(uint32_t file) const {
  assert(file < files.size() && "no such file");
  return files[file]->contents;
}

StringRef Sources::text(Range range) const {
  return contents(range.file).slice(range.begin, range.end);
}

Position Sources::position(uint32_t file, uint32_t offset) const {
  assert(file < files.size() && "no such file");
  const std::vector<uint32_t> &starts = files[file]->lineStarts;
  auto after = std::upper_bound(starts.begin(), starts.end(), offset);
  Position position;
  position.line = static_cast<unsigned>(after - starts.begin());
  position.column = offset - *(after - 1) + 1;
  return position;
}

StringRef Sources::line(uint32_t file, uint32_t offset) const {
  const std::vector<uint32_t> &starts = files[file]->lineStarts;
  unsigned number = position(file, offset).line;
  StringRef text = contents(file);
  size_t end = number < starts.size() ? starts[number] - 1 : text.size();
  StringRef line = text.slice(starts[number - 1], end);
  line.consume_back("\r");
  return line;
}
