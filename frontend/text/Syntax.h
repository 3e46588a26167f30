// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Syntax.h - The typed syntax tree -------------------------*- C++ -*-===//
//
// One class for each construct of the grammar, each with its source range.
// Nodes are owned by their parents; names are slices of the source text.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_SYNTAX_H
#define FRONTEND_TEXT_SYNTAX_H

#include "frontend/text/Source.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Casting.h"

namespace gatefold::text {

enum class Element { F16, BF16, F32, F64, I32, I64, Bool };

/// A name (or h', then without the prime) and where it stands.
struct Identifier {
  llvm::StringRef name;
  Range range;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

struct Expression {
  enum class Kind {
    Number,
    String,
    Boolean,
    Infinity,
    Name,
    Next,
    Call,
    Tuple,
    Parenthesis,
    Unary,
    Binary,
    Index,
    Member
  };
  const Kind kind;
  /// From the first to the last byte of the whole expression.
  Range range;
  /// Where messages about it point: the operator of a Binary, else the first
  /// byte of the expression, or the name.
  Range place;
  /// Nodes on the longest way down to a leaf. The parser bounds it
  /// (maximumHeight), so recursion over a tree does not exhaust the stack.
  unsigned height = 1;

  virtual ~Expression() = default;

protected:
  Expression(Kind kind, Range range) : kind(kind), range(range), place(range) {}
};
using ExpressionPtr = std::unique_ptr<Expression>;

/// 3, 20_000, 0.5, 1e-5. A literal with neither point nor exponent is whole.
struct NumberExpression : Expression {
  bool whole;
  int64_t integer = 0; // if whole
  double real = 0;     // always
  NumberExpression(Range range, bool whole, int64_t integer, double real)
      : Expression(Kind::Number, range), whole(whole), integer(integer),
        real(real) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Number; }
};

struct StringExpression : Expression {
  std::string value; // escapes resolved
  StringExpression(Range range, std::string value)
      : Expression(Kind::String, range), value(std::move(value)) {}
  static bool classof(const Expression *e) { return e->kind == Kind::String; }
};

struct BooleanExpression : Expression {
  bool value;
  BooleanExpression(Range range, bool value)
      : Expression(Kind::Boolean, range), value(value) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Boolean; }
};

struct InfinityExpression : Expression {
  explicit InfinityExpression(Range range)
      : Expression(Kind::Infinity, range) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Infinity; }
};

struct NameExpression : Expression {
  llvm::StringRef name;
  NameExpression(Range range, llvm::StringRef name)
      : Expression(Kind::Name, range), name(name) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Name; }
};

/// h', the next value of state h; the name is without the prime.
struct NextExpression : Expression {
  llvm::StringRef name;
  NextExpression(Range range, llvm::StringRef name)
      : Expression(Kind::Next, range), name(name) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Next; }
};

struct Argument {
  std::optional<Identifier> name; // name = value
  ExpressionPtr value;
};

struct CallExpression : Expression {
  Identifier callee;
  std::vector<Argument> arguments;
  Range open; // the opening parenthesis
  CallExpression(Range range, Identifier callee)
      : Expression(Kind::Call, range), callee(callee) {
    place = callee.range;
  }
  static bool classof(const Expression *e) { return e->kind == Kind::Call; }
};

/// (a, b) or (a,), and the bare a, b of an assignment or a return.
struct TupleExpression : Expression {
  std::vector<ExpressionPtr> elements;
  bool parenthesised;
  TupleExpression(Range range, bool parenthesised)
      : Expression(Kind::Tuple, range), parenthesised(parenthesised) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Tuple; }
};

/// (x) is x; kept for the printer.
struct ParenthesisExpression : Expression {
  ExpressionPtr inner;
  ParenthesisExpression(Range range, ExpressionPtr inner)
      : Expression(Kind::Parenthesis, range), inner(std::move(inner)) {}
  static bool classof(const Expression *e) {
    return e->kind == Kind::Parenthesis;
  }
};

enum class UnaryOperator { Negate, Not };

struct UnaryExpression : Expression {
  UnaryOperator op;
  ExpressionPtr operand;
  UnaryExpression(Range range, UnaryOperator op, ExpressionPtr operand)
      : Expression(Kind::Unary, range), op(op), operand(std::move(operand)) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Unary; }
};

enum class BinaryOperator {
  Or,
  And,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  MatrixMultiply,
  Power
};
/// As it is written: `+`, `//`, `and`, ...
llvm::StringRef spelling(BinaryOperator op);

struct BinaryExpression : Expression {
  BinaryOperator op;
  ExpressionPtr left, right;
  BinaryExpression(Range range, Range operatorRange, BinaryOperator op,
                   ExpressionPtr left, ExpressionPtr right)
      : Expression(Kind::Binary, range), op(op), left(std::move(left)),
        right(std::move(right)) {
    place = operatorRange;
  }
  static bool classof(const Expression *e) { return e->kind == Kind::Binary; }
};

/// One entry of x[...]: an ellipsis, None, a number, or a slice.
struct IndexEntry {
  enum class Kind { Ellipsis, NewAxis, Number, Slice };
  Kind kind;
  Range range;
  ExpressionPtr value;             // Number
  ExpressionPtr start, stop, step; // Slice; each may be null
};

struct IndexExpression : Expression {
  ExpressionPtr base;
  std::vector<IndexEntry> entries;
  IndexExpression(Range range, ExpressionPtr base)
      : Expression(Kind::Index, range), base(std::move(base)) {}
  static bool classof(const Expression *e) { return e->kind == Kind::Index; }
};

/// x.T, embed.weight
struct MemberExpression : Expression {
  ExpressionPtr base;
  Identifier member;
  MemberExpression(Range range, ExpressionPtr base, Identifier member)
      : Expression(Kind::Member, range), base(std::move(base)), member(member) {
    place = member.range;
  }
  static bool classof(const Expression *e) { return e->kind == Kind::Member; }
};

//===----------------------------------------------------------------------===//
// Types, statements, declarations
//===----------------------------------------------------------------------===//

/// i64[B, T]; without an element the model's float type.
struct TypeSyntax {
  std::optional<Element> element;
  std::vector<ExpressionPtr> shape;
  Range range;
};

struct ParameterSyntax {
  Identifier name;
  std::optional<TypeSyntax> type; // a tensor, or else
  Identifier instanceOf;          // what it is an instance of, with
  std::vector<Argument> arguments;
  std::optional<std::string> checkpointName; // as "name"
  Range checkpointRange;
  ExpressionPtr initial; // may be null
  Range range;
};

struct StateSyntax {
  Identifier name;
  TypeSyntax type;
  ExpressionPtr initial; // may be null
  Range range;
};

/// A name, a next value, or a nested tuple of targets.
struct Target {
  enum class Kind { Name, Next, Tuple };
  Kind kind;
  Identifier name; // Name, Next
  std::vector<Target> elements;
  Range range;
};

struct Statement {
  enum class Kind { Parameters, States, For, Return, Assign };
  const Kind kind;
  Range range;
  virtual ~Statement() = default;

protected:
  Statement(Kind kind, Range range) : kind(kind), range(range) {}
};
using StatementPtr = std::unique_ptr<Statement>;

struct ParametersStatement : Statement {
  std::vector<ParameterSyntax> parameters;
  explicit ParametersStatement(Range range)
      : Statement(Kind::Parameters, range) {}
  static bool classof(const Statement *s) {
    return s->kind == Kind::Parameters;
  }
};

struct StatesStatement : Statement {
  std::vector<StateSyntax> states;
  explicit StatesStatement(Range range) : Statement(Kind::States, range) {}
  static bool classof(const Statement *s) { return s->kind == Kind::States; }
};

struct ForStatement : Statement {
  Identifier counter;
  ExpressionPtr count;
  std::vector<StatementPtr> body;
  explicit ForStatement(Range range) : Statement(Kind::For, range) {}
  static bool classof(const Statement *s) { return s->kind == Kind::For; }
};

struct ReturnStatement : Statement {
  /// What is returned; several are a TupleExpression without parentheses.
  ExpressionPtr value;
  explicit ReturnStatement(Range range) : Statement(Kind::Return, range) {}
  static bool classof(const Statement *s) { return s->kind == Kind::Return; }
};

struct AssignStatement : Statement {
  std::vector<Target> targets;
  Range equals; // the =
  ExpressionPtr value;
  explicit AssignStatement(Range range) : Statement(Kind::Assign, range) {}
  static bool classof(const Statement *s) { return s->kind == Kind::Assign; }
};

enum class DeclarationKind { Cell, Attention, Func, Model };
/// `cell`, `attention`, `func`, `model`
llvm::StringRef spelling(DeclarationKind kind);

struct InputSyntax {
  Identifier name;
  std::optional<TypeSyntax> type; // a tensor; without, a setting
  ExpressionPtr defaultValue;     // of a setting; may be null
  Range range;
};

struct ResultSyntax {
  std::optional<Identifier> name;
  TypeSyntax type;
};

struct Declaration {
  DeclarationKind kind;
  Identifier name;
  std::vector<InputSyntax> inputs;
  std::vector<ResultSyntax> results;
  std::vector<StatementPtr> body;
  Range range;
};

struct ImportSyntax {
  Identifier name;
};

/// One file.
struct Module {
  uint32_t file = 0;
  std::vector<ImportSyntax> imports;
  std::vector<std::unique_ptr<Declaration>> declarations;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_SYNTAX_H
