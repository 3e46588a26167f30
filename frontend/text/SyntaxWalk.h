// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SyntaxWalk.h - Visiting syntax trees ---------------------*- C++ -*-===//

#ifndef FRONTEND_TEXT_SYNTAXWALK_H
#define FRONTEND_TEXT_SYNTAXWALK_H

#include "frontend/text/Syntax.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gatefold::text {

/// Calls back for an expression and all inside it, outer ones first. (A tree is
/// at most maximumHeight high.)
void walk(const Expression &expression,
          llvm::function_ref<void(const Expression &)> callback);

/// Calls back for each statement, those of a `for` after it.
void walk(llvm::ArrayRef<StatementPtr> statements,
          llvm::function_ref<void(const Statement &, bool inFor)> callback,
          bool inFor = false);

/// The expressions that stand in a statement itself (a `for`: its count).
void forEachExpression(const Statement &statement,
                       llvm::function_ref<void(const Expression &)> callback);

/// The types that stand in a statement.
void forEachType(const Statement &statement,
                 llvm::function_ref<void(const TypeSyntax &)> callback);

/// The names that a target assigns (next values apart).
void forEachName(const Target &target,
                 llvm::function_ref<void(Identifier)> callback);

/// What stands inside any parentheses around an expression.
const Expression &withoutParentheses(const Expression &expression);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_SYNTAXWALK_H
