// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParserDetail.h - The parser's own class ------------------*- C++ -*-===//
//
// Recursive descent with one token of lookahead, as the grammar of the language
// reference is written. A function that fails has reported it and gives
// nothing; its caller passes that on, up to a statement or declaration, which
// recovers.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_PARSERDETAIL_H
#define FRONTEND_TEXT_PARSERDETAIL_H

#include "frontend/text/Lexer.h"
#include "frontend/text/Parser.h"

namespace gatefold::text {

class Parser {
public:
  Parser(uint32_t file, Diagnostics &diagnostics);

  std::unique_ptr<Module> parseModule();

private:
  //===--------------------------------------------------------------------===//
  // Tokens (Parser.cpp)
  //===--------------------------------------------------------------------===//

  bool is(TokenKind kind) const { return current.kind == kind; }
  /// The kind of the token after the current one.
  TokenKind peek() const;
  /// Goes on to the next token; gives the range of the one left behind.
  Range advance();
  /// Advances if the current token is of this kind.
  bool consume(TokenKind kind);
  /// Consumes a token of this kind, or reports "expected WHAT, found ..".
  bool expect(TokenKind kind, const llvm::Twine &what);
  /// As expect, of a closing bracket; the message tells where it was opened.
  bool expectClose(TokenKind kind, Range open, const llvm::Twine &what);
  std::optional<Identifier> expectName(const llvm::Twine &what);

  Range rangeOf(Token token) const { return {file, token.begin, token.end}; }
  Range here() const { return rangeOf(current); }
  /// From the beginning of one range to the token before the current one.
  Range since(Range begin) const { return {file, begin.begin, previousEnd}; }
  llvm::StringRef text(Token token) const {
    return source.slice(token.begin, token.end);
  }
  Token makeToken();

  /// The error for a place; null if the parser has reported one there.
  Diagnostic *error(Range range, const llvm::Twine &message);
  /// "expected WHAT, found the current token", or what is wrong with an Error
  /// token; null where nothing may be added.
  Diagnostic *expected(const llvm::Twine &what);
  void hintReserved(Diagnostic *diagnostic);
  std::string found() const;

  /// Skips to the end of the statement that began at `start`.
  void recoverStatement(Token start);
  /// Skips to what may begin a declaration.
  void recoverDeclaration();
  /// Skips from a `{` behind the `}` that closes it.
  void skipBlock();
  bool beginsLine() const { return current.newlineBefore; }
  bool atDeclaration() const;

  /// Counts one level of expressions while it lives.
  class Nesting {
  public:
    explicit Nesting(Parser &parser) : parser(parser) { ++parser.nesting; }
    ~Nesting() { --parser.nesting; }
    Nesting(const Nesting &) = delete;
    Nesting &operator=(const Nesting &) = delete;
    /// Whether this level is allowed; else it is reported at the current token.
    bool check();

  private:
    Parser &parser;
  };

  //===--------------------------------------------------------------------===//
  // Declarations and statements (Parser.cpp, ParserStatements.cpp)
  //===--------------------------------------------------------------------===//

  void parseImport(Module &module);
  std::unique_ptr<Declaration> parseDeclaration();
  bool parseDeclarationHead(Declaration &declaration);
  bool parseInput(std::vector<InputSyntax> &inputs);
  bool parseResult(std::vector<ResultSyntax> &results);
  bool parseResults(std::vector<ResultSyntax> &results);
  std::optional<TypeSyntax> parseType();

  /// False if its end was not found.
  bool parseBlock(std::vector<StatementPtr> &statements);
  StatementPtr parseStatement();
  StatementPtr parseParameters();
  bool parseParameter(std::vector<ParameterSyntax> &parameters);
  StatementPtr parseStates();
  bool parseState(std::vector<StateSyntax> &states);
  StatementPtr parseFor();
  StatementPtr parseReturn();
  StatementPtr parseAssign();
  bool parseTargets(std::vector<Target> &targets);
  bool parseTarget(std::vector<Target> &targets);

  //===--------------------------------------------------------------------===//
  // Expressions (ParserExpressions.cpp)
  //===--------------------------------------------------------------------===//

  /// One expression, or a TupleExpression of several.
  ExpressionPtr parseExpressions();
  ExpressionPtr parseExpression();
  ExpressionPtr parseConjunction();
  ExpressionPtr parseNegation();
  ExpressionPtr parseComparison();
  ExpressionPtr parseSum();
  ExpressionPtr parseProduct();
  ExpressionPtr parseSign();
  ExpressionPtr parsePower();
  ExpressionPtr parsePostfix();
  ExpressionPtr parsePrimary();
  ExpressionPtr parseNumber();
  ExpressionPtr parseString();
  ExpressionPtr parseParenthesis();
  ExpressionPtr parseCall();
  ExpressionPtr parseIndex(ExpressionPtr base);
  bool parseIndexEntry(std::vector<IndexEntry> &entries);
  ExpressionPtr parseMember(ExpressionPtr base);
  /// Up to and with the `)`.
  bool parseArguments(std::vector<Argument> &arguments, Range open);
  /// The operators of one level of precedence, from left to right.
  ExpressionPtr parseChain(ExpressionPtr (Parser::*operand)(),
                           bool (*belongs)(TokenKind));
  ExpressionPtr makeBinary(Range operatorRange, TokenKind op,
                           ExpressionPtr left, ExpressionPtr right);
  void reportComparisonChain(const BinaryExpression &first);
  /// The node, or nothing if the tree would become too high.
  ExpressionPtr bounded(ExpressionPtr node, unsigned heightBelow);

  uint32_t file;
  Diagnostics &diagnostics;
  llvm::StringRef source;
  Lexer lexer;
  Token current;
  Token ahead;              // the token after `current`, ends of lines apart
  uint32_t previousEnd = 0; // of the token before `current`
  unsigned brackets = 0;    // open ( and [
  unsigned nesting = 0;     // of expressions
  unsigned blocks = 0;      // open {
  std::optional<uint32_t> lastError;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_PARSERDETAIL_H
