// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- WrittenAttention.h - Attention written out on tensors ----*- C++ -*-===//
//
// Finds an attention that is written out on whole tensors, and plans the row
// program that it becomes.
//
// An attention has a frame: leading indices, a query, a key, and a place in the
// row of an operand, in this order. A tensor is looked at in it by a map that
// gives the place of its element from these indices. So transpositions, axes of
// one element and another order of the axes change the map alone.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_FUSE_WRITTENATTENTION_H
#define PASSES_FUSE_WRITTENATTENTION_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/fuse/WrittenSoftmax.h"
#include "llvm/ADT/SetVector.h"
#include <deque>

namespace gatefold {

/// A tensor in the frame.
struct WrittenElement {
  mlir::Value value;
  mlir::AffineMap map;
};

/// What an operand of the attention is to its row.
enum class WrittenRole {
  QueryRow,
  QueryNumber,
  KeyRows,
  Pair,
  Capture,
  /// All of a small tensor along one axis, which is looked up by an index; one
  /// for each leading index that it has.
  Table
};

/// A value of the row program.
struct WrittenNode {
  enum Kind {
    /// An operand of the attention.
    Operand,
    /// One number, the same everywhere.
    Number,
    /// Scores: of a row of queries and rows of keys.
    Product,
    Softmax,
    /// An elementwise operation.
    Step
  } kind;
  WrittenRole role = WrittenRole::Capture;
  /// Of an operand, its tensor; of a number, the scalar.
  WrittenElement element;
  /// What is repeated: a product, an elementwise operation, or the quotients of
  /// a softmax.
  mlir::Operation *op = nullptr;
  /// Of a step, the index in the frame that each of its loops runs over.
  llvm::SmallVector<mlir::AffineExpr> loops;
  /// Of a step, its inputs, then the tables that it looks up.
  llvm::SmallVector<unsigned> inputs;
  /// One number for each key, or one for all of them.
  bool isAlongKeys = false;
};

/// The index of an element that is looked up, if the others are leading ones;
/// `isLead`: of the loops of the operation.
std::optional<unsigned>
findTableIndex(mlir::tensor::ExtractOp extract,
               llvm::function_ref<bool(unsigned loop)> isLead);

/// A product of two tensors that sums over one index and starts at 0.
bool isPlainProduct(mlir::linalg::ContractOp op);

/// An attention that ends with a product with the values.
class WrittenAttention {
public:
  explicit WrittenAttention(mlir::linalg::ContractOp product) : root(product) {}

  /// Whether weights that are made of scores of two tensors meet values here:
  /// by a softmax, or what looks like one, or element by element where that
  /// saves memory.
  bool find();
  /// After it is found: null, or why it is none.
  const char *plan();
  /// After a plan: null, or what is needed by more than the attentions, of
  /// which this is one, that are to be raised.
  const char *
  findOtherReader(llvm::ArrayRef<const WrittenAttention *> raised) const;

  unsigned getLeadRank() const { return leadRank; }
  unsigned getQueryDim() const { return leadRank; }
  unsigned getKeyDim() const { return leadRank + 1; }
  unsigned getRowDim() const { return leadRank + 2; }
  mlir::linalg::ContractOp getRoot() const { return root; }
  mlir::Type getElement() const;
  int64_t getKeyCount() const;
  /// The index in the frame of each axis of the result.
  llvm::ArrayRef<unsigned> getResultDims() const { return resultDims; }
  /// In an order in which each comes behind its inputs.
  llvm::ArrayRef<WrittenNode> getNodes() const { return nodes; }
  unsigned getWeights() const { return weightsNode; }
  bool hasSoftmax() const {
    return llvm::any_of(nodes, [](const WrittenNode &node) {
      return node.kind == WrittenNode::Softmax;
    });
  }
  unsigned getValues() const { return valuesNode; }
  /// Operations that depend on a product, which the attention takes in.
  llvm::ArrayRef<mlir::Operation *> getCovered() const {
    return covered.getArrayRef();
  }

private:
  /// How an element comes about.
  struct Source {
    enum Kind { Unknown, View, Step, Number, Softmax, Product } kind = Unknown;
    llvm::SmallVector<WrittenElement> inputs;
    llvm::SmallVector<mlir::AffineExpr> loops;
    /// What is looked up; along the axis of the index, the place in the row.
    llvm::SmallVector<WrittenElement> tables;
    WrittenSoftmax softmax;
    /// Whether it is made of a product, and of a softmax, or of any operation,
    /// on the way to one.
    bool hasProduct = false, hasSoftmax = false, hasStep = false;
    /// Whether it is made of indices and of what is the same for all queries
    /// and keys.
    bool isOfIndices = false;
    /// Whether it is elementwise but for its leading index.
    bool hasLeadIndex = false;
  };

  bool findFrame(unsigned weightsOperand, unsigned query);
  bool hasPowersOverSum();
  bool hasLargeWeights() const;
  const Source &look(WrittenElement element, unsigned depth = 0);
  void lookAtStep(WrittenElement element, mlir::linalg::GenericOp op,
                  Source &source);
  bool lookThroughView(WrittenElement element, Source &source);
  bool lookAtProduct(WrittenElement element, Source &source);
  bool lookUpTables(mlir::linalg::GenericOp op, Source &source);
  bool isInRow(WrittenElement element, const Source &source) const;
  const char *planElement(WrittenElement element, unsigned &node);
  const char *planSource(WrittenElement element, const Source &source,
                         unsigned &node);
  const char *planOperand(WrittenElement element, WrittenRole role,
                          unsigned &node);
  const char *planOperand(WrittenElement element, unsigned &node);
  unsigned add(WrittenNode node);
  bool takesIn(mlir::Operation *op, mlir::Operation *reader) const;
  mlir::AffineExpr dim(unsigned number) const;
  bool hasQuery(mlir::AffineMap map) const;
  bool hasKey(mlir::AffineMap map) const;

  mlir::linalg::ContractOp root;
  unsigned leadRank = 0;
  llvm::SmallVector<unsigned> resultDims;
  WrittenElement weights, values;
  const char *obstacle = nullptr;
  std::deque<Source> sources;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineMap>, unsigned> looked;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineMap>, unsigned> planned;
  llvm::SmallVector<WrittenNode> nodes;
  unsigned weightsNode = 0, valuesNode = 0;
  llvm::SetVector<mlir::Operation *> covered;
};

} // namespace gatefold

#endif // PASSES_FUSE_WRITTENATTENTION_H
