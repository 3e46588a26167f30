// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Diagnostics.cpp - Errors that point --------------------------------===//

#include "frontend/text/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include <numeric>
#include <tuple>

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

/// A longer message, mostly one that holds a huge name, is cut in its middle.
static constexpr size_t maximumMessageBytes = 1000;
/// A longer source line is cut on both sides of the caret.
static constexpr size_t maximumLineBytes = 200;
/// Names to choose a suggestion from; a text with more gets one of the first.
static constexpr size_t maximumCandidates = 2000;
/// Longer names get no suggestion.
static constexpr size_t maximumNearNameBytes = 64;

//===----------------------------------------------------------------------===//
// Text that is safe to show
//===----------------------------------------------------------------------===//

static bool isContinuationByte(char c) {
  return (static_cast<uint8_t>(c) & 0xC0) == 0x80;
}

/// The bytes of the character with which a text, not empty, begins; 0 where it
/// begins with none.
static size_t characterBytes(StringRef text) {
  unsigned bytes = llvm::getNumBytesForUTF8(static_cast<uint8_t>(text.front()));
  if (bytes > text.size())
    return 0;
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  return llvm::isLegalUTF8Sequence(begin, begin + bytes) ? bytes : 0;
}

/// Appends a text without the bytes that a terminal would obey; gives the
/// columns that it takes there.
static size_t appendShown(std::string &out, StringRef text) {
  size_t columns = 0;
  while (!text.empty()) {
    size_t bytes = characterBytes(text);
    StringRef character = text.take_front(std::max<size_t>(bytes, 1));
    text = text.drop_front(character.size());
    if (character == "\t" || character == "\n") {
      out += ' ';
      ++columns;
      continue;
    }
    // Formatting characters have no width, and some reverse what follows.
    int width = bytes ? llvm::sys::unicode::columnWidthUTF8(character) : -1;
    if (width > 0) {
      out += character;
      columns += static_cast<size_t>(width);
      continue;
    }
    for (char c : character) {
      out += "\\x" + llvm::toHex(StringRef(&c, 1), true);
      columns += 4;
    }
  }
  return columns;
}

static std::string shown(StringRef text) {
  std::string out;
  appendShown(out, text);
  return out;
}

/// A message short enough to keep and to print.
static std::string bounded(const Twine &message) {
  llvm::SmallString<128> storage;
  StringRef text = message.toStringRef(storage);
  if (text.size() <= maximumMessageBytes)
    return text.str();
  size_t head = maximumMessageBytes / 2;
  size_t tail = text.size() - maximumMessageBytes / 2;
  while (head > 0 && isContinuationByte(text[head]))
    --head;
  while (tail < text.size() && isContinuationByte(text[tail]))
    ++tail;
  return (text.take_front(head) + "..." + text.drop_front(tail)).str();
}

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

Diagnostic &Diagnostic::note(Range range, const Twine &message) {
  if (kept)
    notes.push_back({range, bounded(message)});
  return *this;
}

Diagnostic &Diagnostic::note(const Twine &message) {
  if (kept)
    notes.push_back({std::nullopt, bounded(message)});
  return *this;
}

Diagnostic &Diagnostic::hint(const Twine &message) {
  if (kept)
    hints.push_back(bounded(message));
  return *this;
}

Diagnostic &Diagnostic::suggest(StringRef name,
                                ArrayRef<StringRef> candidates) {
  if (!kept)
    return *this;
  if (std::optional<StringRef> nearest = nearestName(name, candidates))
    hint("did you mean `" + *nearest + "`?");
  return *this;
}

Diagnostic &Diagnostics::error(Range range, const Twine &message) {
  if (++errors > maximumErrors) {
    overflow.kept = false;
    return overflow;
  }
  Diagnostic &diagnostic = diagnostics.emplace_back();
  diagnostic.range = range;
  diagnostic.message = bounded(message);
  return diagnostic;
}

Diagnostic &Diagnostics::warning(Range range, const Twine &message) {
  if (++warnings > maximumErrors) {
    overflow.kept = false;
    return overflow;
  }
  Diagnostic &diagnostic = diagnostics.emplace_back();
  diagnostic.severity = Severity::Warning;
  diagnostic.range = range;
  diagnostic.message = bounded(message);
  return diagnostic;
}

std::optional<StringRef>
gatefold::text::nearestName(StringRef name, ArrayRef<StringRef> candidates) {
  if (name.empty() || name.size() > maximumNearNameBytes)
    return std::nullopt;
  auto limit = static_cast<unsigned>(std::max<size_t>(name.size() / 3, 1));
  std::optional<StringRef> nearest;
  unsigned least = limit + 1;
  for (StringRef candidate : candidates.take_front(maximumCandidates)) {
    if (candidate == name || candidate.size() > name.size() + limit ||
        candidate.size() + limit < name.size())
      continue;
    bool sameLetters = candidate.equals_insensitive(name);
    // Every name of one letter is one edit from every other.
    if (name.size() == 1 && candidate.size() == 1 && !sameLetters)
      continue;
    unsigned distance =
        sameLetters ? 0 : name.edit_distance(candidate, true, limit);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// FILE:LINE:COLUMN: , or nothing for what has no place in a text.
static std::string placeOf(const Sources &sources, Range range) {
  if (range.file >= sources.size())
    return "";
  Position position = sources.position(range);
  return shown(sources.name(range.file)) + ":" + std::to_string(position.line) +
         ":" + std::to_string(position.column) + ": ";
}

/// The source line of a range with a caret under its first byte and ~ under the
/// rest of it on this line.
static void printLine(llvm::raw_ostream &out, const Sources &sources,
                      Range range) {
  StringRef line = sources.line(range.file, range.begin);
  size_t caret =
      std::min<size_t>(sources.position(range).column - 1, line.size());
  size_t end = caret;
  if (range.end > range.begin)
    end = std::min<size_t>(caret + (range.end - range.begin), line.size());

  size_t first = 0, last = line.size();
  if (line.size() > maximumLineBytes) {
    first = caret > maximumLineBytes / 2 ? caret - maximumLineBytes / 2 : 0;
    last = std::min(first + maximumLineBytes, line.size());
    while (first < caret && isContinuationByte(line[first]))
      ++first;
    while (last > caret && last < line.size() && isContinuationByte(line[last]))
      --last;
    end = std::min(end, last);
  }

  std::string text = first > 0 ? "..." : "";
  size_t before = text.size() + appendShown(text, line.slice(first, caret));
  size_t under = appendShown(text, line.slice(caret, end));
  appendShown(text, line.slice(end, last));
  if (last < line.size())
    text += "...";
  out << text << '\n' << std::string(before, ' ') << '^';
  if (under > 1)
    out << std::string(under - 1, '~');
  out << '\n';
}

static StringRef nameOf(Severity severity) {
  return severity == Severity::Error ? "error" : "warning";
}

/// In order of file and position. What was said of a line is not said of
/// another place in it: one mistake in what several terms share looks so.
static std::vector<const Diagnostic *>
inOrder(const Sources &sources, const std::deque<Diagnostic> &diagnostics) {
  auto place = [](const Diagnostic &diagnostic) {
    return std::make_pair(diagnostic.range.file, diagnostic.range.begin);
  };
  auto lineOf = [&](const Diagnostic &diagnostic) {
    auto [file, offset] = place(diagnostic);
    const void *line =
        file < sources.size() ? sources.line(file, offset).data() : nullptr;
    return std::make_pair(file, line);
  };
  std::vector<size_t> order(diagnostics.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(place(diagnostics[a]), a) <
           std::make_pair(place(diagnostics[b]), b);
  });
  // There are few, so that comparing each with each of its line is cheap.
  std::vector<const Diagnostic *> once;
  for (size_t number : order) {
    const Diagnostic &diagnostic = diagnostics[number];
    bool known = false;
    for (size_t i = once.size();
         !known && i-- > 0 && lineOf(*once[i]) == lineOf(diagnostic);)
      known = once[i]->severity == diagnostic.severity &&
              once[i]->message == diagnostic.message;
    if (!known)
      once.push_back(&diagnostic);
  }
  return once;
}

void Diagnostics::print(llvm::raw_ostream &out) const {
  for (const Diagnostic *diagnostic : inOrder(sources, diagnostics)) {
    out << placeOf(sources, diagnostic->range) << nameOf(diagnostic->severity)
        << ": " << shown(diagnostic->message) << '\n';
    if (diagnostic->range.file < sources.size())
      printLine(out, sources, diagnostic->range);
    for (const Note &note : diagnostic->notes)
      out << (note.range ? placeOf(sources, *note.range) : "")
          << "note: " << shown(note.message) << '\n';
    for (const std::string &hint : diagnostic->hints)
      out << "hint: " << shown(hint) << '\n';
  }
  if (errors > maximumErrors)
    out << "note: " << errors - maximumErrors << " more errors\n";
  if (warnings > maximumErrors)
    out << "note: " << warnings - maximumErrors << " more warnings\n";
}

/// A JSON string is valid UTF-8.
static llvm::json::Value jsonText(StringRef text) {
  return llvm::json::Value(llvm::json::fixUTF8(text));
}

static llvm::json::Object jsonPlace(const Sources &sources,
                                    std::optional<Range> range,
                                    StringRef message) {
  llvm::json::Object object{{"message", jsonText(message)}};
  if (range && range->file < sources.size()) {
    Position position = sources.position(*range);
    object["file"] = jsonText(sources.name(range->file));
    object["line"] = position.line;
    object["column"] = position.column;
  }
  return object;
}

llvm::json::Value Diagnostics::toJson() const {
  llvm::json::Array all;
  for (const Diagnostic *diagnostic : inOrder(sources, diagnostics)) {
    llvm::json::Object object =
        jsonPlace(sources, diagnostic->range, diagnostic->message);
    object["severity"] = nameOf(diagnostic->severity);
    llvm::json::Array notes, hints;
    for (const Note &note : diagnostic->notes)
      notes.push_back(jsonPlace(sources, note.range, note.message));
    for (const std::string &hint : diagnostic->hints)
      hints.push_back(jsonText(hint));
    object["notes"] = std::move(notes);
    object["hints"] = std::move(hints);
    all.push_back(std::move(object));
  }
  return all;
}
