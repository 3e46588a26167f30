// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParserStatements.cpp - Blocks and statements -----------------------===//

#include "frontend/text/ParserDetail.h"

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;

bool Parser::parseBlock(std::vector<StatementPtr> &statements) {
  if (!is(TokenKind::OpenBrace)) {
    expected("`{`");
    return false;
  }
  if (blocks == maximumNesting) {
    error(here(), "nested more than " + Twine(maximumNesting) + " deep");
    skipBlock();
    return false;
  }
  ++blocks;
  Range open = advance();
  bool good = true;
  for (;;) {
    if (consume(TokenKind::EndOfLine))
      continue;
    if (consume(TokenKind::CloseBrace))
      break;
    if (is(TokenKind::EndOfFile) || atDeclaration()) {
      good = expectClose(TokenKind::CloseBrace, open, "`}`");
      break;
    }
    Token start = current;
    StatementPtr statement = parseStatement();
    if (!statement) {
      recoverStatement(start);
      continue;
    }
    statements.push_back(std::move(statement));
    if (is(TokenKind::EndOfLine) || is(TokenKind::CloseBrace) ||
        is(TokenKind::EndOfFile))
      continue;
    expected("the end of the statement");
    recoverStatement(start);
  }
  --blocks;
  return good;
}

StatementPtr Parser::parseStatement() {
  switch (current.kind) {
  case TokenKind::Param:
    return parseParameters();
  case TokenKind::State:
    return parseStates();
  case TokenKind::For:
    return parseFor();
  case TokenKind::Return:
    return parseReturn();
  case TokenKind::Name:
  case TokenKind::Next:
  case TokenKind::OpenParenthesis:
    return parseAssign();
  default:
    hintReserved(expected("a statement"));
    return nullptr;
  }
}

StatementPtr Parser::parseParameters() {
  Range begin = advance();
  auto statement = std::make_unique<ParametersStatement>(begin);
  do {
    if (!parseParameter(statement->parameters))
      return nullptr;
  } while (consume(TokenKind::Comma));
  statement->range = since(begin);
  return statement;
}

bool Parser::parseParameter(std::vector<ParameterSyntax> &parameters) {
  std::optional<Identifier> name = expectName("the name of a parameter");
  if (!name || !expect(TokenKind::Colon, "`:` after the name of a parameter"))
    return false;
  ParameterSyntax parameter;
  parameter.name = *name;
  if (is(TokenKind::Name) && peek() == TokenKind::OpenParenthesis) {
    parameter.instanceOf = *expectName("a name");
    Range open = advance();
    if (!parseArguments(parameter.arguments, open))
      return false;
  } else if (is(TokenKind::OpenBracket) ||
             (is(TokenKind::Name) && peek() == TokenKind::OpenBracket)) {
    parameter.type = parseType();
    if (!parameter.type)
      return false;
  } else {
    bool named = is(TokenKind::Name);
    StringRef word = text(current);
    if (named)
      advance();
    Diagnostic *diagnostic =
        named ? expected("`(` or `[` after `" + word.take_front(60) + "`")
              : expected("a shape or a layer");
    if (diagnostic)
      diagnostic->hint("a tensor is `w: [H, I]`, a layer `fc: linear(N=H)`");
    return false;
  }
  if (is(TokenKind::Name) && text(current) == "as") {
    advance();
    if (!is(TokenKind::String)) {
      expected("a string after `as`");
      return false;
    }
    parameter.checkpointRange = advance();
    parameter.checkpointName =
        stringValue(parameter.checkpointRange, diagnostics);
    if (!parameter.checkpointName)
      return false;
  }
  if (consume(TokenKind::Assign)) {
    parameter.initial = parseExpression();
    if (!parameter.initial)
      return false;
  }
  parameter.range = since(name->range);
  parameters.push_back(std::move(parameter));
  return true;
}

StatementPtr Parser::parseStates() {
  Range begin = advance();
  auto statement = std::make_unique<StatesStatement>(begin);
  do {
    if (!parseState(statement->states))
      return nullptr;
  } while (consume(TokenKind::Comma));
  statement->range = since(begin);
  return statement;
}

bool Parser::parseState(std::vector<StateSyntax> &states) {
  std::optional<Identifier> name = expectName("the name of a state");
  if (!name || !expect(TokenKind::Colon, "`:` after the name of a state"))
    return false;
  StateSyntax state;
  state.name = *name;
  std::optional<TypeSyntax> type = parseType();
  if (!type)
    return false;
  state.type = std::move(*type);
  if (consume(TokenKind::Assign)) {
    state.initial = parseExpression();
    if (!state.initial)
      return false;
  }
  state.range = since(name->range);
  states.push_back(std::move(state));
  return true;
}

StatementPtr Parser::parseFor() {
  Range begin = advance();
  auto statement = std::make_unique<ForStatement>(begin);
  std::optional<Identifier> counter =
      expectName("the name of a counter after `for`");
  if (counter) {
    statement->counter = *counter;
    if (expect(TokenKind::In, "`in` after the counter"))
      statement->count = parseExpression();
  }
  bool good = statement->count != nullptr;
  if (good && !is(TokenKind::OpenBrace)) {
    expected("`{` after the count");
    good = false;
  }
  if (!good) {
    // The body may have errors of its own: go on with it, if it is on this
    // line.
    brackets = 0;
    while (!is(TokenKind::EndOfFile) && !is(TokenKind::EndOfLine) &&
           !is(TokenKind::OpenBrace) && !is(TokenKind::CloseBrace))
      advance();
    brackets = 0;
    if (!is(TokenKind::OpenBrace))
      return nullptr;
  }
  good &= parseBlock(statement->body);
  statement->range = since(begin);
  return good ? std::move(statement) : nullptr;
}

StatementPtr Parser::parseReturn() {
  Range begin = advance();
  auto statement = std::make_unique<ReturnStatement>(begin);
  statement->value = parseExpressions();
  if (!statement->value)
    return nullptr;
  statement->range = since(begin);
  return statement;
}

StatementPtr Parser::parseAssign() {
  Range begin = here();
  auto statement = std::make_unique<AssignStatement>(begin);
  if (!parseTargets(statement->targets))
    return nullptr;
  statement->equals = here();
  if (!expect(TokenKind::Assign, "`=` after the target of an assignment"))
    return nullptr;
  statement->value = parseExpressions();
  if (!statement->value)
    return nullptr;
  statement->range = since(begin);
  return statement;
}

bool Parser::parseTargets(std::vector<Target> &targets) {
  do {
    if (!parseTarget(targets))
      return false;
  } while (consume(TokenKind::Comma));
  return true;
}

bool Parser::parseTarget(std::vector<Target> &targets) {
  Target target;
  if (is(TokenKind::Name) || is(TokenKind::Next)) {
    bool next = is(TokenKind::Next);
    target.kind = next ? Target::Kind::Next : Target::Kind::Name;
    StringRef name = text(current);
    if (next)
      name = name.drop_back();
    target.range = advance();
    target.name = {name, target.range};
    targets.push_back(std::move(target));
    return true;
  }
  if (!is(TokenKind::OpenParenthesis)) {
    expected("a name to assign to");
    return false;
  }
  Nesting level(*this);
  if (!level.check())
    return false;
  Range open = advance();
  target.kind = Target::Kind::Tuple;
  if (!parseTargets(target.elements) ||
      !expectClose(TokenKind::CloseParenthesis, open, "`,` or `)`"))
    return false;
  target.range = since(open);
  // (x) is x.
  if (target.elements.size() == 1) {
    Target inner = std::move(target.elements.front());
    target = std::move(inner);
  }
  targets.push_back(std::move(target));
  return true;
}
