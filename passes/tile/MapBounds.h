// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- MapBounds.h - What holds in a part of a score map --------*- C++ -*-===//
//
// Bounds of the integers and conditions that a row program computes, over all
// queries and keys of a part of the score map: of a condition, whether it may
// hold and whether it does. So a part that `where=` hides as a whole is found
// before anything of it is computed.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_MAPBOUNDS_H
#define PASSES_TILE_MAPBOUNDS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/tile/TileAttentionBody.h"

namespace gatefold {

/// Queries and keys from the first to the last one, as indices.
struct MapPart {
  mlir::Value firstRow, lastRow, firstKey, lastKey;
  /// Position of query 0; null where it is not known.
  mlir::Value offset;
};

/// Makes code that bounds values of an attention's region in a part of the
/// score map. What cannot be followed may be anything.
class MapBounds {
public:
  /// The number that a value of one element is, if it is the same for all
  /// queries and keys; null if it is not at hand.
  using NumberOf = llvm::function_ref<mlir::Value(mlir::Value)>;

  MapBounds(AttentionOp op, const AttentionBody &body, mlir::OpBuilder &builder,
            mlir::Location loc, const MapPart &part, NumberOf numberOf)
      : op(op), body(body), builder(builder), loc(loc), part(part),
        numberOf(numberOf) {}

  /// Whether some query may make something of some key. Scores may be hidden
  /// from a softmax, and weights of a product with the values be 0.
  mlir::Value mayCount();
  /// Whether a condition in the body of a structured operation may hold for
  /// some query and key; `keyLoop` is the loop along the keys.
  mlir::Value mayHold(mlir::Value condition, mlir::linalg::LinalgOp structured,
                      int64_t keyLoop);

private:
  /// Of an integer the least and the greatest number, as indices, which are
  /// null if nothing is known. Of a condition whether it holds, and whether it
  /// may. Of a floating-point number whether it may be other than 0, and other
  /// than -inf.
  struct Bounds {
    mlir::Value low, high;
    /// Magnitudes are below 2^bits.
    unsigned bits = 63;
  };
  /// The body of a structured operation, and which of its loops runs along the
  /// keys.
  struct Frame {
    mlir::Block *body;
    std::optional<int64_t> keyLoop;
  };

  template <typename Op, typename... Operands>
  mlir::Value make(Operands... operands) {
    return builder.createOrFold<Op>(loc, operands...);
  }
  mlir::Value number(int64_t value);
  mlir::Value truth(bool value);
  mlir::Value negate(mlir::Value condition);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value left,
                      mlir::Value right);
  mlir::Value choose(mlir::Value condition, mlir::Value left,
                     mlir::Value right);

  mlir::Value mayBeSeen(RowSoftmaxOp softmax);
  Bounds unknown(mlir::Type type);
  Bounds exact(mlir::Value number, mlir::Type type);
  Bounds ofConstant(mlir::Attribute value, mlir::Type type);
  /// Of all elements; `keyDim` is the dimension along the keys.
  Bounds ofTensor(mlir::Value tensor, std::optional<int64_t> keyDim);
  Bounds followTensor(mlir::Value tensor, std::optional<int64_t> keyDim);
  Bounds ofStructured(mlir::OpResult result, std::optional<int64_t> keyDim);
  Bounds ofScalar(mlir::Value value, const Frame *frame);
  Bounds followScalar(mlir::Value value, const Frame *frame);
  Bounds ofOperation(mlir::Operation *inner, const Frame *frame);
  Bounds ofNumbers(mlir::Operation *inner, llvm::ArrayRef<Bounds> operands);
  Bounds ofFloats(mlir::Operation *inner, llvm::ArrayRef<Bounds> operands);
  Bounds ofConditions(mlir::Operation *inner, llvm::ArrayRef<Bounds> operands);
  Bounds ofComparison(mlir::arith::CmpIOp inner, const Bounds &left,
                      const Bounds &right);
  Bounds ofSelect(const Bounds &condition, const Bounds &left,
                  const Bounds &right, mlir::Type type);
  Bounds add(const Bounds &left, const Bounds &right, mlir::Type type);
  Bounds subtract(const Bounds &left, const Bounds &right, mlir::Type type);
  Bounds multiply(const Bounds &left, const Bounds &right, mlir::Type type);
  Bounds divide(mlir::Operation *inner, const Bounds &left,
                const Bounds &right);
  Bounds findRest(const Bounds &left, const Bounds &right);
  Bounds unlessWrapped(Bounds bounds, mlir::Value wrapped, unsigned bits);
  Bounds fit(Bounds bounds, mlir::Type type);

  AttentionOp op;
  const AttentionBody &body;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  MapPart part;
  NumberOf numberOf;
  /// Of values with the number of the dimension, or loop, along the keys.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, Bounds> known;
};

/// Whether parts of the score map may be hidden by the region, for all that it
/// makes of keys, so that they need not be looked at.
bool hidesParts(AttentionOp op, const AttentionBody &body);

/// Of the keys from the first to the last that a block of queries sees, the
/// share that lies in parts which are not hidden as a whole, with so many
/// queries and keys. Leaves the attention as it is.
double findSeenShare(AttentionOp op, int64_t queries, int64_t keys);

} // namespace gatefold

#endif // PASSES_TILE_MAPBOUNDS_H
