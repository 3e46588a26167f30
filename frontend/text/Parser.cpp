// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Parser.cpp - Tokens, recovery, declarations ------------------------===//

#include "frontend/text/Parser.h"
#include "frontend/text/ParserDetail.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;

std::unique_ptr<Module> gatefold::text::parse(uint32_t file,
                                              Diagnostics &diagnostics) {
  if (checkText(file, diagnostics))
    return Parser(file, diagnostics).parseModule();
  auto module = std::make_unique<Module>();
  module->file = file;
  return module;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Parser::Parser(uint32_t file, Diagnostics &diagnostics)
    : file(file), diagnostics(diagnostics),
      source(diagnostics.getSources().contents(file)), lexer(source) {
  current = lexer.next();
  ahead = lexer.next();
}

/// The token after `current`: an end of line where it ends a statement.
Token Parser::makeToken() {
  bool endsLine = ahead.newlineBefore && brackets == 0 &&
                  !is(TokenKind::EndOfLine) && !continuesLine(current.kind);
  if (endsLine)
    return {TokenKind::EndOfLine, false, current.end, current.end};
  Token token = ahead;
  ahead = lexer.next();
  return token;
}

TokenKind Parser::peek() const {
  bool endsLine = ahead.newlineBefore && brackets == 0 &&
                  !is(TokenKind::EndOfLine) && !continuesLine(current.kind);
  return endsLine ? TokenKind::EndOfLine : ahead.kind;
}

Range Parser::advance() {
  if (is(TokenKind::OpenParenthesis) || is(TokenKind::OpenBracket))
    ++brackets;
  else if ((is(TokenKind::CloseParenthesis) || is(TokenKind::CloseBracket)) &&
           brackets > 0)
    --brackets;
  Range range = here();
  previousEnd = current.end;
  current = makeToken();
  return range;
}

bool Parser::consume(TokenKind kind) {
  if (!is(kind))
    return false;
  advance();
  return true;
}

std::string Parser::found() const {
  switch (current.kind) {
  case TokenKind::EndOfFile:
    return "the end of the file";
  case TokenKind::EndOfLine:
    return "the end of the line";
  default: {
    constexpr size_t longest = 60;
    StringRef shown = text(current);
    if (shown.size() <= longest)
      return ("`" + shown + "`").str();
    shown = shown.take_front(longest);
    while ((static_cast<uint8_t>(source[current.begin + shown.size()]) &
            0xC0) == 0x80)
      shown = shown.drop_back();
    return ("`" + shown + "...`").str();
  }
  }
}

Diagnostic *Parser::error(Range range, const Twine &message) {
  if (lastError == range.begin)
    return nullptr;
  lastError = range.begin;
  return &diagnostics.error(range, message);
}

Diagnostic *Parser::expected(const Twine &what) {
  if (!is(TokenKind::Error))
    return error(here(), "expected " + what + ", found " + found());
  LexicalProblem problem = problemOfToken(text(current));
  Diagnostic *diagnostic = error(here(), problem.message);
  if (diagnostic && !problem.hint.empty())
    diagnostic->hint(problem.hint);
  // It has its own message: callers have nothing to add.
  return nullptr;
}

/// After expected(): a reserved word where a name could stand, unless it begins
/// the next statement.
void Parser::hintReserved(Diagnostic *diagnostic) {
  if (diagnostic && isReserved(current.kind) && !beginsLine())
    diagnostic->hint("`" + text(current) +
                     "` is reserved and cannot be a name");
}

bool Parser::expect(TokenKind kind, const Twine &what) {
  if (consume(kind))
    return true;
  expected(what);
  return false;
}

bool Parser::expectClose(TokenKind kind, Range open, const Twine &what) {
  if (consume(kind))
    return true;
  if (Diagnostic *diagnostic = expected(what)) {
    Position position = diagnostics.getSources().position(open);
    diagnostic->hint("opened at " + Twine(position.line) + ":" +
                     Twine(position.column));
  }
  return false;
}

std::optional<Identifier> Parser::expectName(const Twine &what) {
  if (is(TokenKind::Name)) {
    StringRef name = text(current);
    return Identifier{name, advance()};
  }
  hintReserved(expected(what));
  return std::nullopt;
}

bool Parser::Nesting::check() {
  if (parser.nesting <= maximumNesting)
    return true;
  parser.error(parser.here(),
               "nested more than " + Twine(maximumNesting) + " deep");
  return false;
}

//===----------------------------------------------------------------------===//
// Recovery
//===----------------------------------------------------------------------===//

static bool isKindWord(StringRef word) {
  return word == "cell" || word == "attention" || word == "func" ||
         word == "model";
}

/// Where no statement can begin: a word for a declaration with a name behind
/// it, or at the left margin with what may be meant for one.
bool Parser::atDeclaration() const {
  if (!is(TokenKind::Name) || !beginsLine())
    return false;
  if (!isKindWord(text(current)) && text(current) != "import")
    return false;
  TokenKind next = peek();
  if (next == TokenKind::Name)
    return true;
  bool margin = current.begin == 0 || source[current.begin - 1] == '\n';
  return margin && (next == TokenKind::OpenParenthesis || isReserved(next));
}

// A bracket that was not closed hides the ends of lines. So a line that begins
// no further right than the statement, or with a word that only begins
// statements, ends it too.
void Parser::recoverStatement(Token start) {
  const Sources &sources = diagnostics.getSources();
  unsigned column = sources.position(file, start.begin).column;
  unsigned braces = 0;
  for (; !is(TokenKind::EndOfFile); advance()) {
    if (is(TokenKind::OpenBrace)) {
      ++braces;
    } else if (is(TokenKind::CloseBrace)) {
      if (braces == 0)
        break;
      --braces;
    }
    if (braces > 0)
      continue;
    if (is(TokenKind::EndOfLine))
      break;
    if (!beginsLine() || current.begin == start.begin)
      continue;
    if (is(TokenKind::Param) || is(TokenKind::State) || is(TokenKind::For) ||
        is(TokenKind::Return) || atDeclaration() ||
        sources.position(rangeOf(current)).column <= column)
      break;
  }
  brackets = 0;
}

void Parser::recoverDeclaration() {
  while (!is(TokenKind::EndOfFile) && !is(TokenKind::OpenBrace) &&
         !atDeclaration())
    advance();
  brackets = 0;
  if (is(TokenKind::OpenBrace))
    skipBlock();
}

void Parser::skipBlock() {
  unsigned braces = 0;
  do {
    if (is(TokenKind::OpenBrace))
      ++braces;
    else if (is(TokenKind::CloseBrace))
      --braces;
    else if (braces == 1 && atDeclaration())
      return;
    advance();
  } while (braces > 0 && !is(TokenKind::EndOfFile));
}

//===----------------------------------------------------------------------===//
// Files and declarations
//===----------------------------------------------------------------------===//

std::unique_ptr<Module> Parser::parseModule() {
  auto module = std::make_unique<Module>();
  module->file = file;
  while (!is(TokenKind::EndOfFile)) {
    if (consume(TokenKind::EndOfLine))
      continue;
    if (is(TokenKind::Name) && text(current) == "import") {
      if (!module->declarations.empty())
        error(here(), "an import stands before the declarations");
      parseImport(*module);
      continue;
    }
    if (is(TokenKind::Name) && isKindWord(text(current))) {
      if (auto declaration = parseDeclaration())
        module->declarations.push_back(std::move(declaration));
      continue;
    }
    if (Diagnostic *diagnostic =
            expected("`cell`, `attention`, `func`, `model` or `import`"))
      diagnostic->suggest(text(current),
                          {"cell", "attention", "func", "model", "import"});
    advance();
    recoverDeclaration();
  }
  return module;
}

void Parser::parseImport(Module &module) {
  Token start = current;
  advance();
  do {
    std::optional<Identifier> name = expectName("the name of a file to import");
    if (!name)
      return recoverStatement(start);
    module.imports.push_back({*name});
  } while (consume(TokenKind::Comma));
  if (!is(TokenKind::EndOfFile) && !is(TokenKind::EndOfLine)) {
    expected("`,` or the end of the line");
    recoverStatement(start);
  }
}

std::unique_ptr<Declaration> Parser::parseDeclaration() {
  auto declaration = std::make_unique<Declaration>();
  Token start = current;
  declaration->kind = llvm::StringSwitch<DeclarationKind>(text(current))
                          .Case("cell", DeclarationKind::Cell)
                          .Case("attention", DeclarationKind::Attention)
                          .Case("func", DeclarationKind::Func)
                          .Default(DeclarationKind::Model);
  advance();
  bool good = parseDeclarationHead(*declaration);
  if (!good) {
    // The body may have errors of its own: go on with it, if it is there.
    while (!is(TokenKind::EndOfFile) && !is(TokenKind::OpenBrace) &&
           !is(TokenKind::CloseBrace) && !(atDeclaration()))
      advance();
    brackets = 0;
    if (!is(TokenKind::OpenBrace)) {
      consume(TokenKind::CloseBrace);
      return nullptr;
    }
  }
  good &= parseBlock(declaration->body);
  declaration->range = since(rangeOf(start));
  return good ? std::move(declaration) : nullptr;
}

bool Parser::parseDeclarationHead(Declaration &declaration) {
  std::string what =
      ("a name after `" + spelling(declaration.kind) + "`").str();
  std::optional<Identifier> name = expectName(what);
  if (!name)
    return false;
  declaration.name = *name;
  Range open = here();
  if (!expect(TokenKind::OpenParenthesis,
              "`(` after the name of a declaration"))
    return false;
  while (!is(TokenKind::CloseParenthesis)) {
    if (!parseInput(declaration.inputs))
      return false;
    if (!consume(TokenKind::Comma))
      break;
  }
  if (!expectClose(TokenKind::CloseParenthesis, open, "`,` or `)`") ||
      !expect(TokenKind::Arrow, "`->` after the inputs") ||
      !parseResults(declaration.results))
    return false;
  if (is(TokenKind::OpenBrace))
    return true;
  expected("`{` after the results");
  return false;
}

bool Parser::parseInput(std::vector<InputSyntax> &inputs) {
  std::optional<Identifier> name = expectName("the name of an input");
  if (!name)
    return false;
  InputSyntax input;
  input.name = *name;
  if (consume(TokenKind::Colon)) {
    input.type = parseType();
    if (!input.type)
      return false;
    if (is(TokenKind::Assign)) {
      if (Diagnostic *diagnostic =
              error(here(), "a tensor input has no default, found `=`"))
        diagnostic->hint("an input without a type is a setting and may have "
                         "one");
      return false;
    }
  } else if (consume(TokenKind::Assign)) {
    input.defaultValue = parseExpression();
    if (!input.defaultValue)
      return false;
  }
  input.range = since(name->range);
  inputs.push_back(std::move(input));
  return true;
}

bool Parser::parseResults(std::vector<ResultSyntax> &results) {
  if (!is(TokenKind::OpenParenthesis))
    return parseResult(results);
  Range open = advance();
  do {
    if (!results.empty() && is(TokenKind::CloseParenthesis))
      break;
    if (!parseResult(results))
      return false;
  } while (consume(TokenKind::Comma));
  return expectClose(TokenKind::CloseParenthesis, open, "`,` or `)`");
}

bool Parser::parseResult(std::vector<ResultSyntax> &results) {
  ResultSyntax result;
  if (is(TokenKind::Name) && peek() == TokenKind::Colon) {
    result.name = expectName("a name");
    advance();
  }
  std::optional<TypeSyntax> type = parseType();
  if (!type)
    return false;
  result.type = std::move(*type);
  results.push_back(std::move(result));
  return true;
}

std::optional<TypeSyntax> Parser::parseType() {
  static constexpr StringRef elements[] = {"f16", "bf16", "f32", "f64",
                                           "i32", "i64",  "bool"};
  TypeSyntax type;
  Range begin = here();
  if (is(TokenKind::Name)) {
    StringRef name = text(current);
    type.element = llvm::StringSwitch<std::optional<Element>>(name)
                       .Case("f16", Element::F16)
                       .Case("bf16", Element::BF16)
                       .Case("f32", Element::F32)
                       .Case("f64", Element::F64)
                       .Case("i32", Element::I32)
                       .Case("i64", Element::I64)
                       .Case("bool", Element::Bool)
                       .Default(std::nullopt);
    if (!type.element && peek() == TokenKind::OpenBracket) {
      Diagnostic *diagnostic =
          error(here(), "`" + name + "` is not an element type");
      if (diagnostic && diagnostic->suggest(name, elements).hints.empty())
        diagnostic->hint("the element types are f16, bf16, f32, f64, i32, i64 "
                         "and bool");
      return std::nullopt;
    }
    if (!type.element) {
      if (Diagnostic *diagnostic = expected("a type"))
        diagnostic->hint("a type is a shape, `[B, T]`, or `i64[B, T]`");
      return std::nullopt;
    }
    advance();
    if (!is(TokenKind::OpenBracket)) {
      if (Diagnostic *diagnostic =
              expected("`[` after the element type `" + name + "`"))
        diagnostic->hint("a scalar is `" + name + "[]`");
      return std::nullopt;
    }
  }
  if (!is(TokenKind::OpenBracket)) {
    if (Diagnostic *diagnostic = expected("a type"))
      diagnostic->hint("a type is a shape, `[B, T]`, or `i64[B, T]`");
    return std::nullopt;
  }
  Range open = advance();
  while (!is(TokenKind::CloseBracket)) {
    ExpressionPtr size = parseExpression();
    if (!size)
      return std::nullopt;
    type.shape.push_back(std::move(size));
    if (!consume(TokenKind::Comma))
      break;
  }
  if (!expectClose(TokenKind::CloseBracket, open, "`,` or `]`"))
    return std::nullopt;
  type.range = since(begin);
  return type;
}
