// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Lexer.cpp - Text to tokens -----------------------------------------===//

#include "frontend/text/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include <cmath>

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;

/// A longer number has no use, and reading it would take quadratic time.
static constexpr size_t maximumNumberBytes = 1000;

bool gatefold::text::isReserved(TokenKind kind) {
  return kind >= TokenKind::Param && kind <= TokenKind::None;
}

bool gatefold::text::isBinaryOperator(TokenKind kind) {
  return kind == TokenKind::And || kind == TokenKind::Or ||
         (kind >= TokenKind::Equal && kind <= TokenKind::At);
}

bool gatefold::text::continuesLine(TokenKind kind) {
  return isBinaryOperator(kind) || kind == TokenKind::Comma ||
         kind == TokenKind::Assign || kind == TokenKind::Arrow ||
         kind == TokenKind::OpenBrace;
}

bool gatefold::text::isNameStart(char c) {
  return llvm::isAlpha(c) || c == '_';
}

bool gatefold::text::isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

bool gatefold::text::checkText(uint32_t file, Diagnostics &diagnostics) {
  StringRef text = diagnostics.getSources().contents(file);
  if (text.size() > Sources::maximumBytes) {
    diagnostics.error({file, 0, 0}, "the file is larger than 64 MiB");
    return false;
  }
  auto *position = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  if (!llvm::isLegalUTF8String(
          &position, reinterpret_cast<const llvm::UTF8 *>(text.end()))) {
    auto offset = static_cast<uint32_t>(
        reinterpret_cast<const char *>(position) - text.begin());
    diagnostics.error({file, offset, offset + 1},
                      "the text is not UTF-8: unexpected byte 0x" +
                          llvm::toHex(text.substr(offset, 1), true));
    return false;
  }
  size_t nul = text.find('\0');
  if (nul != StringRef::npos) {
    auto offset = static_cast<uint32_t>(nul);
    diagnostics.error({file, offset, offset + 1}, "the text holds a NUL byte");
    return false;
  }
  return true;
}

Lexer::Lexer(StringRef text, bool keepComments)
    : text(text), keepComments(keepComments) {
  // A byte order mark says nothing in UTF-8; editors leave one.
  if (text.starts_with("\xEF\xBB\xBF"))
    begin = 3;
}

Token Lexer::make(TokenKind kind, uint32_t end) {
  Token token{kind, newlineBefore, begin, end};
  newlineBefore = false;
  begin = end;
  return token;
}

Token Lexer::next() {
  for (;;) {
    char c = at(begin);
    if (begin >= text.size())
      return make(TokenKind::EndOfFile, begin);
    if (c == '\n') {
      newlineBefore = true;
      ++begin;
    } else if (c == ' ' || c == '\t' || (c == '\r' && at(begin + 1) == '\n')) {
      ++begin;
    } else if (c == '#') {
      size_t end = std::min(text.find('\n', begin), text.size());
      if (keepComments)
        return make(TokenKind::Comment, static_cast<uint32_t>(end));
      begin = static_cast<uint32_t>(end);
    } else if (isNameStart(c)) {
      return lexName();
    } else if (llvm::isDigit(c) || (c == '.' && llvm::isDigit(at(begin + 1)))) {
      return lexNumber();
    } else if (c == '"') {
      return lexString();
    } else {
      return lexPunctuation();
    }
  }
}

Token Lexer::lexName() {
  uint32_t end = begin;
  while (isNamePart(at(end)))
    ++end;
  auto kind = llvm::StringSwitch<TokenKind>(text.slice(begin, end))
                  .Case("param", TokenKind::Param)
                  .Case("state", TokenKind::State)
                  .Case("for", TokenKind::For)
                  .Case("in", TokenKind::In)
                  .Case("return", TokenKind::Return)
                  .Case("and", TokenKind::And)
                  .Case("or", TokenKind::Or)
                  .Case("not", TokenKind::Not)
                  .Case("true", TokenKind::True)
                  .Case("false", TokenKind::False)
                  .Case("inf", TokenKind::Inf)
                  .Case("None", TokenKind::None)
                  .Default(TokenKind::Name);
  if (kind == TokenKind::Name && at(end) == '\'')
    return make(TokenKind::Next, end + 1);
  return make(kind, end);
}

// Takes all that a reader would take for one number, so that `1.`, `1__0` and
// `3x` are one wrong number each; numberValue judges it.
Token Lexer::lexNumber() {
  uint32_t end = begin;
  for (;;) {
    char c = at(end), after = at(end + 1);
    if ((c == 'e' || c == 'E') && (after == '+' || after == '-') &&
        llvm::isDigit(at(end + 2)))
      end += 2;
    else if (isNamePart(c) || (c == '.' && after != '.'))
      ++end;
    else
      break;
    // What follows a point belongs to it only if it is a digit: `1.T`.
    if (at(end - 1) == '.' && !llvm::isDigit(at(end)))
      break;
  }
  return make(TokenKind::Number, end);
}

Token Lexer::lexString() {
  for (uint32_t end = begin + 1; end < text.size(); ++end) {
    char c = text[end];
    if (c == '\n')
      break;
    if (c == '"')
      return make(TokenKind::String, end + 1);
    if (c == '\\' && at(end + 1) != '\n')
      ++end;
  }
  StringRef line = text.substr(begin).take_until(
      [](char c) { return c == '\n' || c == '\r'; });
  return make(TokenKind::Error, static_cast<uint32_t>(begin + line.size()));
}

Token Lexer::lexPunctuation() {
  static const std::pair<StringRef, TokenKind> spellings[] = {
      {"...", TokenKind::Ellipsis},
      {"->", TokenKind::Arrow},
      {"==", TokenKind::Equal},
      {"!=", TokenKind::NotEqual},
      {"<=", TokenKind::LessEqual},
      {">=", TokenKind::GreaterEqual},
      {"**", TokenKind::StarStar},
      {"//", TokenKind::SlashSlash},
      {"(", TokenKind::OpenParenthesis},
      {")", TokenKind::CloseParenthesis},
      {"[", TokenKind::OpenBracket},
      {"]", TokenKind::CloseBracket},
      {"{", TokenKind::OpenBrace},
      {"}", TokenKind::CloseBrace},
      {",", TokenKind::Comma},
      {":", TokenKind::Colon},
      {".", TokenKind::Dot},
      {"=", TokenKind::Assign},
      {"<", TokenKind::Less},
      {">", TokenKind::Greater},
      {"+", TokenKind::Plus},
      {"-", TokenKind::Minus},
      {"*", TokenKind::Star},
      {"/", TokenKind::Slash},
      {"%", TokenKind::Percent},
      {"@", TokenKind::At}};
  StringRef rest = text.substr(begin);
  for (const auto &[spelling, kind] : spellings)
    if (rest.starts_with(spelling))
      return make(kind, static_cast<uint32_t>(begin + spelling.size()));

  unsigned bytes = llvm::getNumBytesForUTF8(static_cast<uint8_t>(rest.front()));
  return make(TokenKind::Error, begin + bytes);
}

LexicalProblem gatefold::text::problemOfToken(StringRef text) {
  if (text.starts_with("\""))
    return {"expected `\"` at the end of a string, found the end of the line",
            ""};
  StringRef hint =
      llvm::StringSwitch<StringRef>(text)
          .Case(";", "a newline ends a statement")
          .Case("&", "write `and`")
          .Case("|", "write `or`")
          .Case("!", "write `not`")
          .Case("^", "a power is written `**`")
          .Case("'", "a string stands in `\"`; `h'` is the next value of a "
                     "state `h`")
          .Default("");
  return {("unexpected character `" + text + "`").str(), hint};
}

/// Takes digits with single `_` between them; gives whether there is one.
static bool takeDigits(StringRef &text) {
  if (text.empty() || !llvm::isDigit(text.front()))
    return false;
  while (!text.empty()) {
    if (llvm::isDigit(text.front()))
      text = text.drop_front();
    else if (text.size() > 1 && text[0] == '_' && llvm::isDigit(text[1]))
      text = text.drop_front(2);
    else
      break;
  }
  return true;
}

/// Why a text is not a number; empty where it is one. Sets `whole`.
static StringRef problemOfNumber(StringRef text, bool &whole) {
  static constexpr StringRef point = "a digit stands on both sides of a point";
  whole = true;
  if (!takeDigits(text))
    return point;
  if (text.consume_front(".")) {
    whole = false;
    if (!takeDigits(text))
      return point;
  }
  if (text.consume_front("e") || text.consume_front("E")) {
    whole = false;
    if (!text.consume_front("+"))
      text.consume_front("-");
    if (!takeDigits(text))
      return "digits follow the `e` of an exponent";
  }
  if (text.empty())
    return "";
  if (text.front() == '_')
    return "a `_` stands between two digits";
  if (text.front() == '.')
    return "a number has one point";
  return "a name does not begin with a digit";
}

std::optional<NumberValue>
gatefold::text::numberValue(Range range, Diagnostics &diagnostics) {
  StringRef text = diagnostics.getSources().text(range);
  if (text.size() > maximumNumberBytes) {
    diagnostics.error(range, "a number of " + Twine(text.size()) +
                                 " characters, expected " +
                                 Twine(maximumNumberBytes) + " or fewer");
    return std::nullopt;
  }
  NumberValue value;
  StringRef problem = problemOfNumber(text, value.whole);
  if (!problem.empty()) {
    diagnostics.error(range, "`" + text + "` is not a number").hint(problem);
    return std::nullopt;
  }
  std::string plain = text.str();
  llvm::erase(plain, '_');
  if (value.whole && StringRef(plain).getAsInteger(10, value.integer)) {
    diagnostics.error(range, "the whole number `" + text + "` is too large")
        .hint("whole numbers go up to 9223372036854775807");
    return std::nullopt;
  }
  bool failed = StringRef(plain).getAsDouble(value.real);
  StringRef mantissa =
      StringRef(plain).take_until([](char c) { return c == 'e' || c == 'E'; });
  bool zero = mantissa.find_first_of("123456789") == StringRef::npos;
  if (failed || std::isinf(value.real)) {
    diagnostics.error(range, "the number `" + text + "` is too large")
        .hint("write `inf` for infinity");
    return std::nullopt;
  }
  if (value.real == 0 && !zero) {
    diagnostics.error(range, "the number `" + text + "` is too small")
        .hint("write `0.0`");
    return std::nullopt;
  }
  return value;
}

std::optional<std::string>
gatefold::text::stringValue(Range range, Diagnostics &diagnostics) {
  StringRef text =
      diagnostics.getSources().text(range).drop_front().drop_back();
  std::string value;
  bool good = true;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    ++i; // the closing quote is not escaped, so something follows
    if (text[i] == '"' || text[i] == '\\') {
      value += text[i];
      continue;
    }
    unsigned bytes = llvm::getNumBytesForUTF8(static_cast<uint8_t>(text[i]));
    auto at = static_cast<uint32_t>(range.begin + i);
    diagnostics
        .error({range.file, at, at + 1 + bytes},
               "unknown escape `\\" + text.substr(i, bytes) + "` in a string")
        .hint("a string knows `\\\"` and `\\\\`");
    good = false;
    i += bytes - 1;
  }
  if (!good)
    return std::nullopt;
  return value;
}
