// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttentionRegisters.h - Attention in registers --------*- C++ -*-===//
//
// An attention of a GPU whose scores, powers and sums are vectors that the
// threads of a block share in their registers: which regions have such a form,
// and code on vectors for a block of queries.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILEATTENTIONREGISTERS_H
#define PASSES_TILE_TILEATTENTIONREGISTERS_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/tile/TileAttention.h"
#include "passes/tile/TileAttentionOnline.h"

namespace gatefold {

/// Rows and columns of a product are multiples of it.
inline constexpr int64_t registerTile = 16;

/// The tensor of 16-bit floats that a structured operation extends element by
/// element, or null.
mlir::Value getExtended(mlir::Value value);

/// 1 / number, if it is a normal number.
std::optional<llvm::APFloat> getInverse(const llvm::APFloat &number);

/// How a structured operation runs over a row of one query.
struct RowLoops {
  /// The loop that has more than one index, if any.
  std::optional<unsigned> column;
  bool runsAlongKeys = false;
  /// Whether that loop is one of a sum; whether there are others of a sum.
  bool reducesColumn = false, reduces = false;
};

/// Which regions can be computed on vectors `[queries, columns]`: those in one
/// pass over blocks of keys (OnlineForm) whose values are rows of f32 or
/// numbers.
class RegistersForm {
public:
  /// Wider rows would not fit in registers.
  static constexpr int64_t mostColumns = 256;

  /// Of a region that prepareAttentionBody has rewritten.
  RegistersForm(AttentionOp op, const AttentionBody &body);

  /// The operation that has no such form, or null, and what is wrong with it,
  /// as what follows its name.
  mlir::Operation *getObstacle() const { return obstacle; }
  llvm::StringRef getReason() const { return reason; }

  /// The dimension of a value that has more than one index or is along the
  /// keys; none if there is no such; nullopt if there are several.
  static std::optional<std::optional<int64_t>>
  getColumnDim(mlir::Value value, const AttentionBody &body);
  static std::optional<RowLoops> getLoops(mlir::linalg::GenericOp generic,
                                          const AttentionBody &body);
  /// The size of a dimension of a value: of what is all of a query or nothing,
  /// that of the query.
  static int64_t getSize(mlir::Value value, int64_t dim);
  /// The size of a loop.
  static int64_t getRange(mlir::linalg::GenericOp generic, unsigned loop);
  /// Of a part of each query whose size a run chooses, if it is all of the
  /// query or nothing: the number that is chosen.
  static mlir::Value getChosenSize(mlir::Value part);

private:
  void refuse(mlir::Operation *inner, const llvm::Twine &why);
  void check(mlir::Operation *inner);
  void checkValue(mlir::Value value, mlir::Operation *by);
  void checkGeneric(mlir::linalg::GenericOp generic);
  bool checkExtract(mlir::tensor::ExtractOp extract,
                    llvm::function_ref<bool(mlir::Value)> isVector,
                    std::optional<unsigned> columnLoop = std::nullopt);

  AttentionOp op;
  const AttentionBody &body;
  mlir::Operation *obstacle = nullptr;
  std::string reason;
};

/// What decides how many keys fit in a block: the products of an attention.
struct RegistersProducts {
  struct Product {
    /// Of a row of keys or values.
    int64_t columns, bytes;
    /// Whether another product has the same keys or values.
    bool isShared;
    /// Of scores: whether the region computes the query.
    bool isQueryComputed;
  };
  llvm::SmallVector<Product> scores, values;
  /// Columns of each query that the region computes.
  llvm::SmallVector<int64_t> computedQueries;
  /// Floats of each query that scores are made of beside the products.
  int64_t queryNumbers = 0;
  /// Whether numbers of each query and key hide scores, and how many things
  /// hide scores or are added to them, but for the number of keys.
  bool hasMask = false;
  int64_t restrictions = 0;
  /// Whether they compare a number of each query with one of each key.
  bool hasSegments = false;
  /// Operations on a score and what it is made of. Functions that are computed
  /// by polynomials are many.
  int64_t scoreOperations = 0;
  /// Why there is no such form; then the rest says nothing.
  std::string obstacle;
};

/// Leaves the attention as it is.
RegistersProducts findRegistersProducts(AttentionOp op);

/// Computes an attention for blocks of queries, each by one thread block.
class AttentionRegisters : public AttentionTiling {
public:
  AttentionRegisters(AttentionOp op, mlir::IRRewriter &rewriter,
                     const TargetDescription &target, int64_t queryBlock,
                     int64_t keyBlock);

private:
  // What of the loops is other than for blocks in memory.
  mlir::Value spreadQueries(mlir::Value blocks) override;
  mlir::LogicalResult
  makeBlock(llvm::SmallVectorImpl<mlir::Value> &carried) override;
  mlir::Type getResultElement(mlir::OpResult result) override;
  void replaceResults(mlir::ValueRange results) override;
  /// `inside` in order, `after` in reverse order.
  void makeKeys(llvm::ArrayRef<mlir::Operation *> inside,
                llvm::ArrayRef<mlir::Operation *> after);
  /// Keys or values of the head, in 16 bits if they are given so.
  mlir::Value headOf(mlir::Value matrix);
  void findMatrix(mlir::Value matrix);
  mlir::Value readBlock(mlir::Value matrix);
  int64_t sumColumns(RowValuesOp product);
  mlir::Value passValues(RowValuesOp product, mlir::Value values,
                         mlir::Value factor, mlir::Value sum);
  /// The block's part of a result.
  mlir::Value makePart(unsigned number, mlir::Value result, mlir::Value row);

  // TileAttentionRegistersVectors.cpp: vectors, and what is read into them.
  mlir::VectorType vectorType(int64_t rows, int64_t columns, mlir::Type type);
  mlir::Value splat(mlir::Value scalar, int64_t rows, int64_t columns);
  mlir::Value stretch(mlir::Value value, int64_t rows, int64_t columns);
  /// 0, 1, ... down the rows or along the columns.
  mlir::Value countRows(mlir::Type type);
  mlir::Value countColumns(int64_t columns, mlir::Type type);
  mlir::Value toColumn(mlir::Value perRow);
  /// Reduces along the columns to `[rows, 1]`.
  mlir::Value reduce(mlir::vector::CombiningKind kind, mlir::Value value,
                     mlir::Value neutral);
  /// A vector from a tensor of as many dimensions as there are indices; a
  /// missing index is a dimension that the tensor does not have.
  mlir::Value read(mlir::Value tensor, mlir::Value row, mlir::Value column,
                   int64_t rows, int64_t columns);
  mlir::Value readArgument(mlir::BlockArgument argument);
  /// What a value that is the same for all queries is in the block, whole.
  mlir::Value uniformOf(mlir::Value value);
  mlir::Value readUniform(mlir::Value value);
  mlir::Value readPair(mlir::Value tensor);
  mlir::Value readSegments(mlir::Value tensor, bool isOfQueries);
  /// Columns of a value's vector.
  int64_t columnsOf(mlir::Value value);
  /// A number, or a vector of which a dimension has size 1 where the value is
  /// the same along it.
  mlir::Value vectorOf(mlir::Value value);
  void setVector(mlir::Value value, mlir::Value vector);
  /// The value for a product over `columns` columns: 16 bits where it was read
  /// so.
  mlir::Value productOperand(mlir::Value value, int64_t columns);
  mlir::Value readMatrix(mlir::Value matrix, mlir::Value row, int64_t rows);

  // TileAttentionRegistersLift.cpp: operations of the region on vectors.
  void lift(mlir::Operation *inner);
  void liftGeneric(mlir::linalg::GenericOp generic);
  /// Whether there is something to add up, if that is not certain, or null.
  mlir::Value hasTerms(mlir::linalg::GenericOp generic, const RowLoops &loops);
  /// The results as `makeThen` gives them where the condition holds, else as
  /// `makeElse` does.
  void liftBranches(mlir::linalg::GenericOp generic, mlir::Value condition,
                    llvm::function_ref<void()> makeThen,
                    llvm::function_ref<void()> makeElse);
  void evaluateGeneric(mlir::linalg::GenericOp generic, const RowLoops &loops,
                       mlir::IRMapping &mapping);
  void liftContract(mlir::linalg::ContractOp contract);
  void liftSlice(mlir::tensor::ExtractSliceOp slice);
  mlir::Value evaluate(mlir::Operation *inner, mlir::IRMapping &mapping);
  mlir::Value gather(mlir::tensor::ExtractOp extract, mlir::IRMapping &mapping);
  mlir::Value multiply(mlir::Value left, mlir::Value right, bool alongRows,
                       mlir::Value sum);

  // TileAttentionRegistersSoftmax.cpp: softmax and who sees whom.
  mlir::Value seenByPlace();
  mlir::Value seenByElement();
  mlir::Value isEdge();
  mlir::Value makeVisible();
  mlir::Value hide(RowSoftmaxOp softmax, mlir::Value scores);
  /// The scores of a softmax before they are multiplied by a positive number,
  /// which is null where there is none: what is largest is found without it.
  std::pair<mlir::Value, mlir::Value> scoresOf(RowSoftmaxOp softmax);
  mlir::Value scale(mlir::Value value, mlir::Value factor);
  mlir::Value baseOf(mlir::Value largest);
  mlir::Value passKeys(RowSoftmaxOp softmax, RunningSoftmax &known);
  void giveLogSumExp(RowSoftmaxOp softmax, const RunningSoftmax &known);
  mlir::Value invert(RowSoftmaxOp softmax, const RunningSoftmax &known);

  /// Whether blocks of keys may hold columns behind the end or before the first
  /// key that some query sees.
  bool mayHaveEdges();

  /// 16-bit tensors that operands of the attention extend.
  llvm::DenseMap<mlir::Value, mlir::Value> narrow;
  /// Operations of the region before the loop over keys that nothing reads but
  /// this loop.
  llvm::DenseSet<mlir::Operation *> forKeysAlone;
  /// Values of the region in the block.
  llvm::DenseMap<mlir::Value, mlir::Value> vectors;
  /// Keys and values of the head, as far as some query sees them.
  llvm::DenseMap<mlir::Value, mlir::Value> matrices;
  /// Rows of these in the block of keys at hand.
  llvm::DenseMap<mlir::Value, mlir::Value> rowsOfBlock;
  /// The first key of the block, and where its row is in `matrices`.
  mlir::Value keyStart, keyRow;
  /// What rounds a result to 16 bits, if nothing else reads it.
  llvm::DenseMap<mlir::Value, mlir::linalg::GenericOp> roundings;
};

} // namespace gatefold

#endif // PASSES_TILE_TILEATTENTIONREGISTERS_H
