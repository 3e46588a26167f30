// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SyntaxWalk.cpp - Visiting syntax trees -----------------------------===//

#include "frontend/text/SyntaxWalk.h"

using namespace gatefold::text;

void gatefold::text::walk(
    const Expression &expression,
    llvm::function_ref<void(const Expression &)> callback) {
  callback(expression);
  auto visit = [&](const ExpressionPtr &child) {
    if (child)
      walk(*child, callback);
  };
  switch (expression.kind) {
  case Expression::Kind::Call:
    for (const Argument &a : llvm::cast<CallExpression>(expression).arguments)
      visit(a.value);
    break;
  case Expression::Kind::Tuple:
    for (const auto &e : llvm::cast<TupleExpression>(expression).elements)
      visit(e);
    break;
  case Expression::Kind::Parenthesis:
    visit(llvm::cast<ParenthesisExpression>(expression).inner);
    break;
  case Expression::Kind::Unary:
    visit(llvm::cast<UnaryExpression>(expression).operand);
    break;
  case Expression::Kind::Binary:
    visit(llvm::cast<BinaryExpression>(expression).left);
    visit(llvm::cast<BinaryExpression>(expression).right);
    break;
  case Expression::Kind::Index: {
    const auto &index = llvm::cast<IndexExpression>(expression);
    visit(index.base);
    for (const IndexEntry &entry : index.entries) {
      visit(entry.value);
      visit(entry.start);
      visit(entry.stop);
      visit(entry.step);
    }
    break;
  }
  case Expression::Kind::Member:
    visit(llvm::cast<MemberExpression>(expression).base);
    break;
  case Expression::Kind::Number:
  case Expression::Kind::String:
  case Expression::Kind::Boolean:
  case Expression::Kind::Infinity:
  case Expression::Kind::Name:
  case Expression::Kind::Next:
    break;
  }
}

void gatefold::text::walk(
    llvm::ArrayRef<StatementPtr> statements,
    llvm::function_ref<void(const Statement &, bool)> callback, bool inFor) {
  for (const StatementPtr &statement : statements) {
    callback(*statement, inFor);
    if (auto *loop = llvm::dyn_cast<ForStatement>(statement.get()))
      walk(loop->body, callback, true);
  }
}

void gatefold::text::forEachExpression(
    const Statement &statement,
    llvm::function_ref<void(const Expression &)> callback) {
  auto visit = [&](const ExpressionPtr &expression) {
    if (expression)
      callback(*expression);
  };
  switch (statement.kind) {
  case Statement::Kind::Parameters:
    for (const auto &p :
         llvm::cast<ParametersStatement>(statement).parameters) {
      for (const Argument &argument : p.arguments)
        visit(argument.value);
      visit(p.initial);
    }
    break;
  case Statement::Kind::States:
    for (const auto &state : llvm::cast<StatesStatement>(statement).states)
      visit(state.initial);
    break;
  case Statement::Kind::For:
    visit(llvm::cast<ForStatement>(statement).count);
    break;
  case Statement::Kind::Return:
    visit(llvm::cast<ReturnStatement>(statement).value);
    break;
  case Statement::Kind::Assign:
    visit(llvm::cast<AssignStatement>(statement).value);
    break;
  }
}

void gatefold::text::forEachType(
    const Statement &statement,
    llvm::function_ref<void(const TypeSyntax &)> callback) {
  if (auto *parameters = llvm::dyn_cast<ParametersStatement>(&statement)) {
    for (const ParameterSyntax &parameter : parameters->parameters)
      if (parameter.type)
        callback(*parameter.type);
  } else if (auto *states = llvm::dyn_cast<StatesStatement>(&statement)) {
    for (const StateSyntax &state : states->states)
      callback(state.type);
  }
}

void gatefold::text::forEachName(
    const Target &target, llvm::function_ref<void(Identifier)> callback) {
  if (target.kind == Target::Kind::Name)
    callback(target.name);
  for (const Target &element : target.elements)
    forEachName(element, callback);
}

const Expression &
gatefold::text::withoutParentheses(const Expression &expression) {
  const Expression *e = &expression;
  while (auto *parenthesis = llvm::dyn_cast<ParenthesisExpression>(e))
    e = parenthesis->inner.get();
  return *e;
}
