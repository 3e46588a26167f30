// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ParserExpressions.cpp - Expressions --------------------------------===//

#include "frontend/text/ParserDetail.h"
#include "llvm/Support/ErrorHandling.h"

using namespace gatefold::text;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static BinaryOperator operatorOf(TokenKind kind) {
  switch (kind) {
  case TokenKind::Or:
    return BinaryOperator::Or;
  case TokenKind::And:
    return BinaryOperator::And;
  case TokenKind::Less:
    return BinaryOperator::Less;
  case TokenKind::LessEqual:
    return BinaryOperator::LessEqual;
  case TokenKind::Greater:
    return BinaryOperator::Greater;
  case TokenKind::GreaterEqual:
    return BinaryOperator::GreaterEqual;
  case TokenKind::Equal:
    return BinaryOperator::Equal;
  case TokenKind::NotEqual:
    return BinaryOperator::NotEqual;
  case TokenKind::Plus:
    return BinaryOperator::Add;
  case TokenKind::Minus:
    return BinaryOperator::Subtract;
  case TokenKind::Star:
    return BinaryOperator::Multiply;
  case TokenKind::Slash:
    return BinaryOperator::Divide;
  case TokenKind::SlashSlash:
    return BinaryOperator::FloorDivide;
  case TokenKind::Percent:
    return BinaryOperator::Modulo;
  case TokenKind::At:
    return BinaryOperator::MatrixMultiply;
  case TokenKind::StarStar:
    return BinaryOperator::Power;
  default:
    llvm_unreachable("an operator with two operands");
  }
}

static bool isOr(TokenKind kind) { return kind == TokenKind::Or; }
static bool isAnd(TokenKind kind) { return kind == TokenKind::And; }
static bool isSumOperator(TokenKind kind) {
  return kind == TokenKind::Plus || kind == TokenKind::Minus;
}
static bool isProductOperator(TokenKind kind) {
  return kind == TokenKind::Star || kind == TokenKind::Slash ||
         kind == TokenKind::SlashSlash || kind == TokenKind::Percent ||
         kind == TokenKind::At;
}
static bool isComparison(TokenKind kind) {
  return kind >= TokenKind::Equal && kind <= TokenKind::GreaterEqual;
}

ExpressionPtr Parser::bounded(ExpressionPtr node, unsigned heightBelow) {
  node->height = heightBelow + 1;
  if (node->height <= maximumHeight)
    return node;
  if (Diagnostic *diagnostic =
          error(node->place, "an expression of more than " +
                                 Twine(maximumHeight) + " operations in a row"))
    diagnostic->hint("give a part of it a name");
  return nullptr;
}

ExpressionPtr Parser::makeBinary(Range operatorRange, TokenKind op,
                                 ExpressionPtr left, ExpressionPtr right) {
  unsigned height = std::max(left->height, right->height);
  Range range{file, left->range.begin, right->range.end};
  return bounded(
      std::make_unique<BinaryExpression>(range, operatorRange, operatorOf(op),
                                         std::move(left), std::move(right)),
      height);
}

ExpressionPtr Parser::parseChain(ExpressionPtr (Parser::*operand)(),
                                 bool (*belongs)(TokenKind)) {
  ExpressionPtr left = (this->*operand)();
  while (left && belongs(current.kind)) {
    TokenKind op = current.kind;
    Range operatorRange = advance();
    ExpressionPtr right = (this->*operand)();
    if (!right)
      return nullptr;
    left = makeBinary(operatorRange, op, std::move(left), std::move(right));
  }
  return left;
}

ExpressionPtr Parser::parseExpressions() {
  ExpressionPtr first = parseExpression();
  if (!first || !is(TokenKind::Comma))
    return first;
  Range begin = first->range;
  auto tuple = std::make_unique<TupleExpression>(begin, false);
  unsigned height = first->height;
  tuple->elements.push_back(std::move(first));
  while (consume(TokenKind::Comma)) {
    ExpressionPtr element = parseExpression();
    if (!element)
      return nullptr;
    height = std::max(height, element->height);
    tuple->elements.push_back(std::move(element));
  }
  tuple->range = since(begin);
  return bounded(std::move(tuple), height);
}

ExpressionPtr Parser::parseExpression() {
  return parseChain(&Parser::parseConjunction, isOr);
}

ExpressionPtr Parser::parseConjunction() {
  return parseChain(&Parser::parseNegation, isAnd);
}

ExpressionPtr Parser::parseNegation() {
  if (!is(TokenKind::Not))
    return parseComparison();
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  Range begin = advance();
  ExpressionPtr operand = parseNegation();
  if (!operand)
    return nullptr;
  unsigned height = operand->height;
  auto node = std::make_unique<UnaryExpression>(
      Range{file, begin.begin, operand->range.end}, UnaryOperator::Not,
      std::move(operand));
  node->place = begin;
  return bounded(std::move(node), height);
}

ExpressionPtr Parser::parseComparison() {
  ExpressionPtr left = parseSum();
  if (!left || !isComparison(current.kind))
    return left;
  TokenKind op = current.kind;
  Range operatorRange = advance();
  ExpressionPtr right = parseSum();
  if (!right)
    return nullptr;
  ExpressionPtr node =
      makeBinary(operatorRange, op, std::move(left), std::move(right));
  if (node && isComparison(current.kind)) {
    reportComparisonChain(*llvm::cast<BinaryExpression>(node.get()));
    return nullptr;
  }
  return node;
}

void Parser::reportComparisonChain(const BinaryExpression &first) {
  Diagnostic *diagnostic = error(here(), "comparisons do not chain");
  StringRef op = text(current);
  advance();
  ExpressionPtr last = parseSum();
  if (!diagnostic || !last)
    return;
  const Sources &sources = diagnostics.getSources();
  StringRef left = sources.text(first.left->range);
  StringRef middle = sources.text(first.right->range);
  StringRef right = sources.text(last->range);
  bool brief =
      left.size() + middle.size() + right.size() <= 60 &&
      !sources.text({file, first.range.begin, last->range.end}).contains('\n');
  if (brief)
    diagnostic->hint("write `" + left + " " + spelling(first.op) + " " +
                     middle + " and " + middle + " " + op + " " + right + "`");
  else
    diagnostic->hint("write `a < b and b < c`");
}

ExpressionPtr Parser::parseSum() {
  return parseChain(&Parser::parseProduct, isSumOperator);
}

ExpressionPtr Parser::parseProduct() {
  return parseChain(&Parser::parseSign, isProductOperator);
}

ExpressionPtr Parser::parseSign() {
  if (!is(TokenKind::Minus))
    return parsePower();
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  Range begin = advance();
  ExpressionPtr operand = parseSign();
  if (!operand)
    return nullptr;
  unsigned height = operand->height;
  auto node = std::make_unique<UnaryExpression>(
      Range{file, begin.begin, operand->range.end}, UnaryOperator::Negate,
      std::move(operand));
  node->place = begin;
  return bounded(std::move(node), height);
}

ExpressionPtr Parser::parsePower() {
  ExpressionPtr base = parsePostfix();
  if (!base || !is(TokenKind::StarStar))
    return base;
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  Range operatorRange = advance();
  ExpressionPtr exponent = parseSign();
  if (!exponent)
    return nullptr;
  return makeBinary(operatorRange, TokenKind::StarStar, std::move(base),
                    std::move(exponent));
}

//===----------------------------------------------------------------------===//
// Indices and members
//===----------------------------------------------------------------------===//

ExpressionPtr Parser::parsePostfix() {
  ExpressionPtr node = parsePrimary();
  while (node) {
    if (is(TokenKind::OpenBracket)) {
      node = parseIndex(std::move(node));
    } else if (is(TokenKind::Dot)) {
      node = parseMember(std::move(node));
    } else if (is(TokenKind::OpenParenthesis)) {
      if (Diagnostic *diagnostic = error(here(), "only a name can be called"))
        diagnostic->hint("give the value before `(` a name first");
      return nullptr;
    } else {
      break;
    }
  }
  return node;
}

ExpressionPtr Parser::parseMember(ExpressionPtr base) {
  advance();
  std::optional<Identifier> member = expectName("a name after `.`");
  if (!member)
    return nullptr;
  unsigned height = base->height;
  Range range = since(base->range);
  return bounded(
      std::make_unique<MemberExpression>(range, std::move(base), *member),
      height);
}

ExpressionPtr Parser::parseIndex(ExpressionPtr base) {
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  unsigned height = base->height;
  auto node = std::make_unique<IndexExpression>(base->range, std::move(base));
  Range open = advance();
  do {
    if (!node->entries.empty() && is(TokenKind::CloseBracket))
      break;
    if (!parseIndexEntry(node->entries))
      return nullptr;
    const IndexEntry &entry = node->entries.back();
    for (const Expression *part : {entry.value.get(), entry.start.get(),
                                   entry.stop.get(), entry.step.get()})
      if (part)
        height = std::max(height, part->height);
  } while (consume(TokenKind::Comma));
  if (!expectClose(TokenKind::CloseBracket, open, "`,` or `]`"))
    return nullptr;
  node->range = since(node->range);
  return bounded(std::move(node), height);
}

bool Parser::parseIndexEntry(std::vector<IndexEntry> &entries) {
  IndexEntry entry;
  entry.kind = IndexEntry::Kind::Number;
  Range begin = here();
  if (consume(TokenKind::Ellipsis)) {
    entry.kind = IndexEntry::Kind::Ellipsis;
  } else if (consume(TokenKind::None)) {
    entry.kind = IndexEntry::Kind::NewAxis;
  } else {
    if (is(TokenKind::CloseBracket)) {
      expected("an index");
      return false;
    }
    if (!is(TokenKind::Colon)) {
      entry.value = parseExpression();
      if (!entry.value)
        return false;
    }
    auto missing = [&] {
      return is(TokenKind::Colon) || is(TokenKind::Comma) ||
             is(TokenKind::CloseBracket);
    };
    if (consume(TokenKind::Colon)) {
      entry.kind = IndexEntry::Kind::Slice;
      entry.start = std::move(entry.value);
      if (!missing() && !(entry.stop = parseExpression()))
        return false;
      if (consume(TokenKind::Colon) && !missing() &&
          !(entry.step = parseExpression()))
        return false;
    }
  }
  entry.range = since(begin);
  entries.push_back(std::move(entry));
  return true;
}

//===----------------------------------------------------------------------===//
// Primaries
//===----------------------------------------------------------------------===//

ExpressionPtr Parser::parsePrimary() {
  switch (current.kind) {
  case TokenKind::Number:
    return parseNumber();
  case TokenKind::String:
    return parseString();
  case TokenKind::True:
  case TokenKind::False: {
    bool value = is(TokenKind::True);
    return std::make_unique<BooleanExpression>(advance(), value);
  }
  case TokenKind::Inf:
    return std::make_unique<InfinityExpression>(advance());
  case TokenKind::Name: {
    if (peek() == TokenKind::OpenParenthesis)
      return parseCall();
    StringRef name = text(current);
    return std::make_unique<NameExpression>(advance(), name);
  }
  case TokenKind::Next: {
    StringRef name = text(current).drop_back();
    return std::make_unique<NextExpression>(advance(), name);
  }
  case TokenKind::OpenParenthesis:
    return parseParenthesis();
  case TokenKind::None:
    error(here(), "`None` stands in an index only");
    return nullptr;
  default: {
    Diagnostic *diagnostic = expected("an expression");
    if (diagnostic && is(TokenKind::OpenBracket))
      diagnostic->hint("a tuple is written `(a, b)`");
    else
      hintReserved(diagnostic);
    return nullptr;
  }
  }
}

ExpressionPtr Parser::parseNumber() {
  std::optional<NumberValue> value = numberValue(here(), diagnostics);
  if (!value)
    return nullptr;
  return std::make_unique<NumberExpression>(advance(), value->whole,
                                            value->integer, value->real);
}

ExpressionPtr Parser::parseString() {
  std::optional<std::string> value = stringValue(here(), diagnostics);
  if (!value)
    return nullptr;
  return std::make_unique<StringExpression>(advance(), std::move(*value));
}

ExpressionPtr Parser::parseParenthesis() {
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  Range open = advance();
  ExpressionPtr inner = parseExpressions();
  if (!inner || !expectClose(TokenKind::CloseParenthesis, open, "`,` or `)`"))
    return nullptr;
  Range range = since(open);
  // A bare tuple came from the commas inside: one in parentheses of its own is
  // wrapped already.
  auto *tuple = llvm::dyn_cast<TupleExpression>(inner.get());
  if (tuple && !tuple->parenthesised) {
    tuple->parenthesised = true;
    tuple->range = tuple->place = range;
    return inner;
  }
  unsigned height = inner->height;
  return bounded(
      std::make_unique<ParenthesisExpression>(range, std::move(inner)), height);
}

ExpressionPtr Parser::parseCall() {
  Nesting level(*this);
  if (!level.check())
    return nullptr;
  Identifier callee = *expectName("a name");
  auto call = std::make_unique<CallExpression>(callee.range, callee);
  call->open = advance();
  if (!parseArguments(call->arguments, call->open))
    return nullptr;
  call->range = since(callee.range);
  unsigned height = 0;
  for (const Argument &argument : call->arguments)
    height = std::max(height, argument.value->height);
  return bounded(std::move(call), height);
}

bool Parser::parseArguments(std::vector<Argument> &arguments, Range open) {
  while (!is(TokenKind::CloseParenthesis)) {
    Argument argument;
    if (is(TokenKind::Name) && peek() == TokenKind::Assign) {
      argument.name = expectName("a name");
      advance();
    }
    argument.value = parseExpression();
    if (!argument.value)
      return false;
    arguments.push_back(std::move(argument));
    if (!consume(TokenKind::Comma))
      break;
  }
  return expectClose(TokenKind::CloseParenthesis, open, "`,` or `)`");
}
