// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Format.cpp - The standard layout -----------------------------------===//
//
// Works on the tokens of a text that parses, comments among them: every token
// is written again, so only the space between them can change.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Format.h"
#include "frontend/text/Lexer.h"
#include "frontend/text/Parser.h"

using namespace gatefold::text;
using llvm::StringRef;

namespace {

class Formatter {
public:
  Formatter(uint32_t file, Diagnostics &diagnostics)
      : text(diagnostics.getSources().contents(file)),
        lexer(text, /*keepComments=*/true) {}

  /// Nothing where the result would be larger than a text may be.
  std::optional<std::string> run();

private:
  struct Bracket {
    enum class Kind { Declaration, Call, Group, Square };
    Kind kind;
    /// Arithmetic inside stands without spaces.
    bool tight;
    /// Of the first character inside.
    size_t column;
  };

  bool inside(Bracket::Kind kind) const {
    return !brackets.empty() && brackets.back().kind == kind;
  }
  bool tight() const { return !brackets.empty() && brackets.back().tight; }

  void writeBreak(Token token);
  void writeSpace(Token token);
  void write(StringRef written);
  bool spaceBetween(Token token) const;
  bool spaceAround(TokenKind op) const;
  void follow(Token token);
  void open(TokenKind kind);

  StringRef text;
  Lexer lexer;
  std::string out;
  size_t column = 0;
  std::vector<Bracket> brackets;
  unsigned blocks = 0;
  /// The last token that was written, a comment or not.
  Token last;
  /// The last token of this statement that is no comment; EndOfLine before the
  /// first.
  TokenKind previous = TokenKind::EndOfLine;
  bool previousIsUnary = false;
  /// The line that was written last opens a block.
  bool afterOpen = false;
};

} // namespace

/// What may stand before a binary operator, an index or the `(` of a call.
static bool endsOperand(TokenKind kind) {
  switch (kind) {
  case TokenKind::Name:
  case TokenKind::Next:
  case TokenKind::Number:
  case TokenKind::String:
  case TokenKind::True:
  case TokenKind::False:
  case TokenKind::Inf:
  case TokenKind::None:
  case TokenKind::CloseParenthesis:
  case TokenKind::CloseBracket:
    return true;
  default:
    return false;
  }
}

static bool isArithmetic(TokenKind kind) {
  return kind >= TokenKind::Plus && kind <= TokenKind::At;
}

std::optional<std::string> Formatter::run() {
  for (Token token = lexer.next(); token.kind != TokenKind::EndOfFile;
       token = lexer.next()) {
    bool comment = token.kind == TokenKind::Comment;
    bool behind = comment && !token.newlineBefore; // behind a statement
    bool breaks = token.newlineBefore || token.kind == TokenKind::CloseBrace ||
                  last.kind == TokenKind::OpenBrace ||
                  last.kind == TokenKind::CloseBrace;
    if (out.empty())
      previous = TokenKind::EndOfLine;
    else if (behind)
      write("  ");
    else if (breaks)
      writeBreak(token);
    else
      writeSpace(token);
    StringRef written = text.slice(token.begin, token.end);
    write(comment ? written.rtrim() : written);
    if (!comment)
      follow(token);
    afterOpen = token.kind == TokenKind::OpenBrace || (behind && afterOpen);
    last = token;
    if (out.size() > Sources::maximumBytes)
      return std::nullopt;
  }
  if (!out.empty())
    out += '\n';
  return std::move(out);
}

void Formatter::write(StringRef written) {
  out += written;
  for (char c : written)
    column += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
}

/// Ends the line and indents the next, which begins with `token`.
void Formatter::writeBreak(Token token) {
  bool closes = token.kind == TokenKind::CloseBrace;
  bool blank = text.slice(last.end, token.begin).count('\n') > 1;
  out += '\n';
  if (blank && !afterOpen && !closes)
    out += '\n';
  column = 0;

  size_t indent = 2 * size_t(closes ? blocks - 1 : blocks);
  if (!brackets.empty())
    indent = brackets.back().column;
  else if (continuesLine(previous) && previous != TokenKind::OpenBrace)
    indent += 4;
  else
    previous = TokenKind::EndOfLine;
  out.append(indent, ' ');
  column = indent;
}

void Formatter::writeSpace(Token token) {
  if (spaceBetween(token))
    write(" ");
}

bool Formatter::spaceAround(TokenKind op) const {
  if (op == TokenKind::StarStar)
    return false;
  return !(isArithmetic(op) && tight());
}

/// Whether a space stands between the previous token and this one on its line.
bool Formatter::spaceBetween(Token token) const {
  TokenKind kind = token.kind;
  if (kind == TokenKind::Comma || kind == TokenKind::CloseParenthesis ||
      kind == TokenKind::CloseBracket ||
      previous == TokenKind::OpenParenthesis ||
      previous == TokenKind::OpenBracket)
    return false;
  if (previous == TokenKind::Comma)
    return true;
  // `1.T` would be read as a number.
  if (kind == TokenKind::Dot)
    return previous == TokenKind::Number;
  if (previous == TokenKind::Dot || kind == TokenKind::Colon)
    return false;
  if (previous == TokenKind::Colon)
    return !inside(Bracket::Kind::Square);
  if (kind == TokenKind::OpenBracket && endsOperand(previous))
    return false;
  if (kind == TokenKind::OpenParenthesis && previous == TokenKind::Name)
    return false;
  if (kind == TokenKind::Assign || previous == TokenKind::Assign)
    return !inside(Bracket::Kind::Call);
  if (previousIsUnary)
    return false;
  if (isBinaryOperator(kind) && endsOperand(previous))
    return spaceAround(kind);
  if (isBinaryOperator(previous))
    return spaceAround(previous);
  return true;
}

void Formatter::open(TokenKind kind) {
  Bracket bracket{Bracket::Kind::Square, true, column};
  if (kind == TokenKind::OpenParenthesis) {
    bool head = blocks == 0 && brackets.empty();
    bool call = previous == TokenKind::Name;
    bracket.kind = head   ? Bracket::Kind::Declaration
                   : call ? Bracket::Kind::Call
                          : Bracket::Kind::Group;
    // The arguments of a call are a place of their own, wherever it stands.
    bracket.tight = bracket.kind == Bracket::Kind::Group && tight();
  }
  brackets.push_back(bracket);
}

/// Keeps the state behind a token that was written.
void Formatter::follow(Token token) {
  bool unary = token.kind == TokenKind::Minus && !endsOperand(previous);
  switch (token.kind) {
  case TokenKind::OpenParenthesis:
  case TokenKind::OpenBracket:
    open(token.kind);
    break;
  case TokenKind::CloseParenthesis:
  case TokenKind::CloseBracket:
    brackets.pop_back();
    break;
  case TokenKind::OpenBrace:
    ++blocks;
    break;
  case TokenKind::CloseBrace:
    --blocks;
    break;
  case TokenKind::Assign:
  case TokenKind::Comma:
    if (inside(Bracket::Kind::Call))
      brackets.back().tight = token.kind == TokenKind::Assign;
    break;
  default:
    break;
  }
  previous = token.kind;
  previousIsUnary = unary;
}

std::optional<std::string> gatefold::text::format(uint32_t file,
                                                  Diagnostics &diagnostics) {
  unsigned errors = diagnostics.errorCount();
  parse(file, diagnostics);
  if (diagnostics.errorCount() != errors)
    return std::nullopt;
  std::optional<std::string> result = Formatter(file, diagnostics).run();
  if (!result)
    diagnostics.error({file, 0, 0},
                      "the text in the standard layout is larger than 64 MiB");
  return result;
}
