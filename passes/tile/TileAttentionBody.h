// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionBody.h - What a row program depends on ------*- C++ -*-===//
//
// Looks at the region of an attention before it is computed for a block of
// queries at once.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILEATTENTIONBODY_H
#define PASSES_TILE_TILEATTENTIONBODY_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace gatefold {

/// Rewrites the region in place: scales of scores go to the query, where
/// `movesScales`, elementwise operations in a chain become one, and no two
/// operations share an empty tensor.
void prepareAttentionBody(AttentionOp op, mlir::RewriterBase &rewriter,
                          bool movesScales = true);

/// What a text calls an operation of the region, for remarks and errors.
llvm::StringRef nameInText(mlir::Operation *inner);

/// The operation by which `scaled` multiplies or divides each element of its
/// one input, a row, by a number, or null.
mlir::Operation *matchScale(mlir::linalg::GenericOp scaled);

/// Whether multiplying the marked arguments of a structured operation's body by
/// one number multiplies all results by it: they are sums of the arguments,
/// each times a factor.
bool isHomogeneous(mlir::Block *block, llvm::ArrayRef<mlir::Value> marked);

/// Answers questions about the values of the region.
class AttentionBody {
public:
  /// With more leading dimensions than these, answers are not right.
  static constexpr unsigned mostLeadRank = 64;
  explicit AttentionBody(AttentionOp op);

  /// Whether the value may be another one for each query.
  bool isPerQuery(mlir::Value value) const { return perQuery.contains(value); }
  /// The leading dimensions, as bits, along which a value that is the same for
  /// all queries changes.
  uint64_t getLead(mlir::Value value) const { return leads.lookup(value); }
  /// Those along which the keys that are reached change.
  uint64_t getReachLead() const { return reachLead; }
  /// The dimension along the keys, if any.
  std::optional<int64_t> getKeyDim(mlir::Value value) const;
  /// Whether a loop of a structured operation runs along the keys.
  bool isKeyLoop(mlir::linalg::LinalgOp op, unsigned loop) const;

  /// Null if keys that no query of a block sees do not matter to it, so that
  /// they need not be looked at; else the operation for which they do.
  mlir::Operation *getNeedsAllKeys() const { return needsAllKeys; }

private:
  void findDependences();
  void findKeyDims();
  void joinDims(mlir::Operation *op);
  void joinStructured(mlir::linalg::LinalgOp op);
  void findHidden();
  mlir::Attribute hiddenResult(mlir::Operation *op);
  mlir::Attribute hiddenOfBody(mlir::linalg::LinalgOp op, mlir::Value yielded);
  bool ignoresHidden(mlir::OpOperand &use);
  bool reducesHidden(mlir::linalg::LinalgOp op);

  /// Number of a dimension of a value, or of a loop of an operation.
  int dimOf(void *of, unsigned dim) const;
  int dimOf(mlir::Value value, unsigned dim) const {
    return dimOf(value.getAsOpaquePointer(), dim);
  }
  void join(int left, int right) { dims.unionSets(left, right); }
  /// All dimensions of a value are used in a way that is not followed.
  void rearranges(mlir::Value value, mlir::Operation *by);
  bool isKey(int dim) const {
    return dims.findLeader(dim) == dims.findLeader(keyClass);
  }

  AttentionOp op;
  llvm::DenseSet<mlir::Value> perQuery;
  llvm::DenseMap<mlir::Value, uint64_t> leads;
  uint64_t reachLead = 0;
  mutable llvm::DenseMap<std::pair<void *, unsigned>, int> dimNumbers;
  mutable llvm::EquivalenceClasses<int> dims;
  static constexpr int keyClass = 0;
  llvm::SmallVector<std::pair<int, mlir::Operation *>> rearranged;
  /// What a value per query is where the query does not see the key, if that
  /// is known.
  llvm::DenseMap<mlir::Value, mlir::Attribute> hidden;
  mlir::Operation *needsAllKeys = nullptr;
};

} // namespace gatefold

#endif // PASSES_TILE_TILEATTENTIONBODY_H
