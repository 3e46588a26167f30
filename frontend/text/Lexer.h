// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Lexer.h - Text to tokens ---------------------------------*- C++ -*-===//
//
// Tokens are made one at a time, so that a text costs no memory for tokens that
// nobody reads. Ends of lines are a flag of the token that follows: whether one
// ends a statement depends on brackets, which the parser knows.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_LEXER_H
#define FRONTEND_TEXT_LEXER_H

#include "frontend/text/Diagnostics.h"

namespace gatefold::text {

enum class TokenKind : uint8_t {
  EndOfFile,
  EndOfLine, // made by the parser
  Error,     // what no token begins with, or a string without an end
  Comment,   // only where comments are wanted
  Name,
  Next, // h', with the prime
  Number,
  String,
  // Reserved words.
  Param,
  State,
  For,
  In,
  Return,
  And,
  Or,
  Not,
  True,
  False,
  Inf,
  None,
  // Punctuation.
  OpenParenthesis,
  CloseParenthesis,
  OpenBracket,
  CloseBracket,
  OpenBrace,
  CloseBrace,
  Comma,
  Colon,
  Dot,
  Ellipsis,
  Arrow,
  Assign,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  SlashSlash,
  Percent,
  At
};

/// Bytes [begin, end) of the text.
struct Token {
  TokenKind kind = TokenKind::EndOfFile;
  /// Between this token and the one before a line ends.
  bool newlineBefore = false;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// `param` .. `None`
bool isReserved(TokenKind kind);
/// An operator with two operands; `-` too.
bool isBinaryOperator(TokenKind kind);
/// A newline after this token ends no statement.
bool continuesLine(TokenKind kind);
/// Letters, digits and `_`, not beginning with a digit.
bool isNameStart(char c);
bool isNamePart(char c);

/// Reports nothing: a parser asks for the message of the Error tokens that it
/// comes to, and is silent about those that it skips.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text, bool keepComments = false);

  /// The next token; at the end of the text EndOfFile, again and again.
  Token next();

private:
  Token make(TokenKind kind, uint32_t end);
  Token lexName();
  Token lexNumber();
  Token lexString();
  Token lexPunctuation();
  /// The byte at an offset, 0 after the end.
  char at(size_t offset) const {
    return offset < text.size() ? text[offset] : '\0';
  }

  llvm::StringRef text;
  bool keepComments;
  bool newlineBefore = false;
  uint32_t begin = 0; // of the token that is being read
};

/// What is wrong with the text of an Error token, and what to write instead
/// (may be empty).
struct LexicalProblem {
  std::string message;
  llvm::StringRef hint;
};
LexicalProblem problemOfToken(llvm::StringRef text);

/// Reports a text that is too large, is not UTF-8 or holds a NUL byte, at the
/// first such byte; gives whether the text can be read.
bool checkText(uint32_t file, Diagnostics &diagnostics);

/// The value of a Number token.
struct NumberValue {
  bool whole = false;
  int64_t integer = 0;
  double real = 0;
};
/// The value of a number's text; reports what is not a number or too large.
std::optional<NumberValue> numberValue(Range range, Diagnostics &diagnostics);

/// The value of a String token with its escapes resolved; reports unknown ones.
std::optional<std::string> stringValue(Range range, Diagnostics &diagnostics);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_LEXER_H
