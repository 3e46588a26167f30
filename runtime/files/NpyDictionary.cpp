// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strict parser for the one dictionary that npy files carry. Nothing nests,
// so nothing recurses.
#include "runtime/files/NpyDictionary.h"

#include <limits>

namespace gatefold::files {

namespace {

class DictionaryParser {
public:
  explicit DictionaryParser(std::string_view text) : text(text) {}

  Result<NpyDictionary> parse() {
    if (!accept('{'))
      return expected("'{'");
    bool seen[3] = {false, false, false};
    while (!accept('}')) {
      std::optional<std::string_view> key = parseString();
      if (!key)
        return expected("a key in quotes or '}'");
      static constexpr std::string_view keys[] = {"descr", "fortran_order",
                                                  "shape"};
      size_t which = 0;
      while (which < 3 && keys[which] != *key)
        ++which;
      if (which == 3)
        return FileError{"unknown key " + quotedName(*key), ""};
      if (seen[which])
        return FileError{"duplicate key " + quotedName(*key), ""};
      seen[which] = true;
      if (!accept(':'))
        return expected("':'");
      std::optional<FileError> error = which == 0   ? parseType()
                                       : which == 1 ? parseOrder()
                                                    : parseShape();
      if (error)
        return *error;
      if (accept(','))
        continue;
      if (!accept('}'))
        return expected("',' or '}'");
      break;
    }
    if (!seen[0])
      return FileError{"key \"descr\" is missing", ""};
    if (!seen[1])
      return FileError{"key \"fortran_order\" is missing", ""};
    if (!seen[2])
      return FileError{"key \"shape\" is missing", ""};
    skipSpace();
    if (position != text.size())
      return expected("only spaces after '}'");
    return std::move(result);
  }

private:
  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n'))
      ++position;
  }

  bool accept(char character) {
    skipSpace();
    if (position == text.size() || text[position] != character)
      return false;
    ++position;
    return true;
  }

  bool acceptWord(std::string_view word) {
    skipSpace();
    if (text.substr(position, word.size()) != word)
      return false;
    position += word.size();
    return true;
  }

  std::optional<std::string_view> parseString() {
    skipSpace();
    if (position == text.size())
      return std::nullopt;
    char quote = text[position];
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = text.find(quote, position + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view content = text.substr(position + 1, end - position - 1);
    if (content.find('\\') != std::string_view::npos)
      return std::nullopt;
    position = end + 1;
    return content;
  }

  std::optional<FileError> parseType() {
    skipSpace();
    if (position < text.size() &&
        (text[position] == '[' || text[position] == '('))
      return FileError{"structured element types are not supported",
                       "save each field as an array of its own"};
    std::optional<std::string_view> type = parseString();
    if (!type)
      return expected("an element type in quotes");
    result.type = std::string(*type);
    return std::nullopt;
  }

  std::optional<FileError> parseOrder() {
    if (acceptWord("True"))
      result.fortranOrder = true;
    else if (!acceptWord("False"))
      return expected("True or False");
    return std::nullopt;
  }

  std::optional<FileError> parseShape() {
    if (!accept('('))
      return expected("a tuple of whole numbers");
    bool comma = true;
    while (!accept(')')) {
      if (!comma)
        return expected("',' or ')'");
      std::optional<FileError> error = parseDimension();
      if (error)
        return error;
      comma = accept(',');
    }
    // In Python `(3)` is a number, not a tuple.
    if (result.shape.size() == 1 && !comma)
      return expected("',' after a single dimension");
    return std::nullopt;
  }

  std::optional<FileError> parseDimension() {
    skipSpace();
    size_t first = position;
    int64_t value = 0;
    while (position < text.size() && text[position] >= '0' &&
           text[position] <= '9') {
      int digit = text[position] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10)
        return FileError{"a dimension of the shape overflows", ""};
      value = value * 10 + digit;
      ++position;
    }
    if (position == first)
      return expected("a whole number in the shape");
    if (result.shape.size() == maxRank)
      return FileError{"rank exceeds the limit of " + std::to_string(maxRank),
                       ""};
    result.shape.push_back(value);
    return std::nullopt;
  }

  FileError expected(const std::string &what) const {
    return FileError{
        "expected " + what + " at byte " + std::to_string(position), ""};
  }

  std::string_view text;
  size_t position = 0;
  NpyDictionary result;
};

} // namespace

Result<NpyDictionary> parseNpyDictionary(std::string_view text) {
  return DictionaryParser(text).parse();
}

} // namespace gatefold::files
