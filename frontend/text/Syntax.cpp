// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Syntax.cpp - The typed syntax tree ---------------------------------===//

#include "frontend/text/Syntax.h"
#include "llvm/Support/ErrorHandling.h"

using namespace gatefold::text;
using llvm::StringRef;

StringRef gatefold::text::spelling(BinaryOperator op) {
  switch (op) {
  case BinaryOperator::Or:
    return "or";
  case BinaryOperator::And:
    return "and";
  case BinaryOperator::Less:
    return "<";
  case BinaryOperator::LessEqual:
    return "<=";
  case BinaryOperator::Greater:
    return ">";
  case BinaryOperator::GreaterEqual:
    return ">=";
  case BinaryOperator::Equal:
    return "==";
  case BinaryOperator::NotEqual:
    return "!=";
  case BinaryOperator::Add:
    return "+";
  case BinaryOperator::Subtract:
    return "-";
  case BinaryOperator::Multiply:
    return "*";
  case BinaryOperator::Divide:
    return "/";
  case BinaryOperator::FloorDivide:
    return "//";
  case BinaryOperator::Modulo:
    return "%";
  case BinaryOperator::MatrixMultiply:
    return "@";
  case BinaryOperator::Power:
    return "**";
  }
  llvm_unreachable("a binary operator");
}

StringRef gatefold::text::spelling(DeclarationKind kind) {
  switch (kind) {
  case DeclarationKind::Cell:
    return "cell";
  case DeclarationKind::Attention:
    return "attention";
  case DeclarationKind::Func:
    return "func";
  case DeclarationKind::Model:
    return "model";
  }
  llvm_unreachable("a declaration kind");
}
