// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RaiseAttention.h - Parts of gf-raise-attention -----------*- C++ -*-===//
//
// An attention that is written out on whole tensors, and the row program that
// it becomes.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_RAISEATTENTION_H
#define PASSES_FUSE_RAISEATTENTION_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace gatefold {

/// A softmax written out in four operations, along one axis.
struct WrittenSoftmax {
  mlir::linalg::GenericOp largest, powers, sum, weights;
  int64_t axis = 0;

  mlir::Value getScores() { return powers.getInputs()[0]; }
};

/// The softmax whose weights the value is, if any.
std::optional<WrittenSoftmax> matchSoftmax(mlir::Value weights);

/// What an operand of the attention is to be made of. The map gives the place
/// of an element from the leading indices, the query and the key, in this
/// order, and one index more where the operand has rows.
struct WrittenOperand {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Scores of queries and keys, in one product.
struct WrittenProduct {
  mlir::linalg::ContractOp op;
  WrittenOperand query, keys;
};

/// Raises one, from its product with the values.
class AttentionRaise {
public:
  AttentionRaise(mlir::linalg::ContractOp product, mlir::IRRewriter &rewriter)
      : valuesProduct(product), rewriter(rewriter), loc(product.getLoc()) {}

  /// Whether two products with a softmax between them are written here: what
  /// may be an attention.
  bool find();
  /// After it is found: null, or why it is none.
  const char *match();
  /// After a match.
  void raise();

private:
  /// A value of the row: one number for each key, or one for all of them.
  struct RowValue {
    enum Kind { Product, Step, Pair, Query, Capture } kind;
    unsigned number;
  };
  /// An elementwise operation that the row repeats.
  struct RowStep {
    mlir::linalg::GenericOp op;
    llvm::SmallVector<RowValue> inputs;
  };

  unsigned queryDim() const { return leadRank; }
  unsigned keyDim() const { return leadRank + 1; }
  unsigned rowDim() const { return leadRank + 2; }
  mlir::Type getElement();
  /// Of the shape of the scores, and computed element by element.
  bool isStep(mlir::Value value);
  bool reachesProduct(mlir::Value value);
  std::optional<WrittenProduct> matchProduct(mlir::Value value);
  const char *matchValues();
  const char *planScores(mlir::Value scores, RowValue &result);
  const char *planOperand(mlir::OpOperand *operand, RowValue &result);
  mlir::Value arrange(WrittenOperand operand, llvm::ArrayRef<unsigned> last);
  void makeRow(mlir::OpBuilder &builder, mlir::ValueRange arguments,
               mlir::Value keyCount);

  mlir::linalg::ContractOp valuesProduct;
  mlir::IRRewriter &rewriter;
  mlir::Location loc;
  WrittenSoftmax softmax;
  unsigned leadRank = 0;
  WrittenOperand values;
  llvm::SmallVector<WrittenProduct> products;
  llvm::SmallVector<WrittenOperand> queries, pairs, captures;
  llvm::SmallVector<RowStep> steps;
  RowValue scores = {RowValue::Product, 0};
};

} // namespace gatefold

#endif // PASSES_FUSE_RAISEATTENTION_H
