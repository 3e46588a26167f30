// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- TileAttention.h - Attention for blocks of queries --------*- C++ -*-===//
//
// What the files of gf-tile-attention share: the loops over blocks of queries,
// and the region's values for all queries of a block at once.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_TILEATTENTION_H
#define PASSES_TILE_TILEATTENTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/support/Target.h"
#include "passes/tile/MapBounds.h"
#include "passes/tile/Slices.h"
#include "passes/tile/TileAttentionBody.h"

namespace gatefold {

/// Keys that queries see by lengths, causal, window and offset: of the query i
/// the keys [first + i, last + i + 1), as far as they are in [0, end).
struct KeyReach {
  /// Position of query 0.
  mlir::Value offset;
  /// Null where there is no bound.
  mlir::Value first, last;
  /// The length, or the number of keys.
  mlir::Value end;
  bool hasLength = false;
  /// The keys that some query sees.
  mlir::Value reachFirst, reachEnd;
};

/// The queries [start, start + rows), and the keys that are looked at for them.
struct QueryBlock {
  mlir::Value start;
  mlir::OpFoldResult rows, mostRows;
  /// Keys [first, first + columns), of at most mostKeys; mostColumns are those
  /// of a row in memory.
  mlir::Value first, end;
  mlir::OpFoldResult columns, mostKeys, mostColumns;
  /// All queries of the block see the keys [wholeFirst, wholeEnd).
  mlir::Value wholeFirst, wholeEnd;
};

/// A value of the region: whole, if it is the same for all queries, or for each
/// query of the block, `[rows, shape..]`.
struct Tile {
  mlir::Value value;
  bool isPerQuery = false;
  /// It is in memory of its own, which nothing else reads.
  bool isOwned = false;
  /// `[rows]`, or null: what is meant is value / denominator.
  mlir::Value denominator = nullptr;
};

/// Keys or values in panels, from a key on.
struct PackedKeys {
  mlir::Value panels, first;
};

/// A value that is the same for all queries and computed before the loops over
/// them, once for each index of some leading dimensions.
struct KeptValue {
  enum class Form { Whole, Keys, Values };
  mlir::Value value;
  Form form = Form::Whole;
  /// One for all leading indices.
  mlir::Value storage;
};

/// An operand of a structured operation and how its loops read it.
struct TileInput {
  mlir::Value value;
  mlir::AffineMap map;
};

/// What is known of a softmax when some keys have passed, for each query: the
/// largest score and the sum of the powers.
struct RunningSoftmax {
  mlir::Value largest, sum;
};

using TileBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::ValueRange arguments)>;

mlir::Value negativeInfinity(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Type element);

/// Computes an attention for blocks of queries.
class AttentionTiling {
public:
  /// `keyBlock`: how many keys are looked at at a time, 0 for all.
  AttentionTiling(AttentionOp op, mlir::IRRewriter &rewriter,
                  const TargetDescription &target, int64_t queryBlock,
                  int64_t keyBlock);
  virtual ~AttentionTiling() = default;

  /// Null, or what of the region cannot be computed for a block.
  mlir::Operation *findUnsupported();
  mlir::LogicalResult run();
  const AttentionBody &getBody() const { return body; }
  int64_t getKeyBlock() const { return keyBlock; }

protected:
  // Small values.
  mlir::Value constant(int64_t value);
  mlir::Value number(mlir::Type type, double value);
  mlir::Value least(mlir::Value left, mlir::Value right);
  mlir::Value greatest(mlir::Value left, mlir::Value right);
  mlir::Value plus(mlir::Value left, mlir::Value right);
  mlir::Value minus(mlir::Value left, mlir::Value right);
  mlir::Value clamp(mlir::Value value, mlir::Value low, mlir::Value high);
  mlir::Value toIndex(mlir::Value integer);
  mlir::Value toValue(mlir::OpFoldResult size);

  // TileAttentionLoops.cpp: loops.
  mlir::Value away(mlir::Value offset, int64_t distance);
  mlir::Value ofSequence(mlir::Value tensor);
  // TileAttentionTransposed.cpp: results that are made in another order.
  void findTransposed();
  llvm::SmallVector<int64_t> orderOf(unsigned result);
  /// Where the rows of the block lie in what is made of a result: offsets and
  /// sizes.
  std::pair<llvm::SmallVector<mlir::OpFoldResult>,
            llvm::SmallVector<mlir::OpFoldResult>>
  findBlockOf(unsigned result, mlir::Value made);
  void replaceResult(unsigned result, mlir::Value made);
  llvm::SmallVector<FixedIndex> fixLead(mlir::Value operand,
                                        int64_t operandLead);
  /// The last key before which a block of keys that begins at `key` may begin:
  /// sums along the keys then have the same order wherever blocks begin.
  mlir::Value alignKey(mlir::Value key);
  mlir::Value alignDown(mlir::Value number, int64_t step);
  /// Where products with the values begin, and whether what no query reaches is
  /// 0 from there.
  std::pair<mlir::Value, bool> findFirstValue(mlir::Value values);
  void findReach(uint64_t known);
  mlir::Value enterLoop(mlir::Value bound, mlir::Value step,
                        llvm::SmallVectorImpl<mlir::Value> &carried);
  void leaveLoops(unsigned count, llvm::SmallVectorImpl<mlir::Value> &carried);
  mlir::Value divideUp(mlir::Value left, mlir::Value right);
  virtual mlir::Value spreadQueries(mlir::Value blocks);
  mlir::Value findMostQueries();
  void findBlock(mlir::Value start);
  /// TileAttentionSoftmax.cpp.
  bool hidesByPlace();
  /// Whether a block of queries may look at a part of the keys alone.
  bool limitsKeys() {
    return hidesByPlace() || reach.hasLength || op.getQuerySegments() ||
           narrowsBlocks;
  }
  // TileAttentionVisible.cpp: parts that the region hides.
  mlir::Value numberOf(mlir::Value value);
  MapPart partOf(mlir::Value first, mlir::Value end);
  mlir::Value maySee(mlir::Value first, mlir::Value end);
  mlir::Value mayHold(mlir::Value condition, mlir::linalg::LinalgOp structured,
                      int64_t keyLoop, mlir::Value first, mlir::Value end);
  std::pair<mlir::Value, mlir::Value> findSeen(mlir::Value first,
                                               mlir::Value end, int64_t step);
  std::pair<mlir::Value, mlir::Value> leaveOutHidden(mlir::Value first,
                                                     mlir::Value end);
  mlir::scf::IfOp enterSeen(mlir::TypeRange types, mlir::Value first,
                            mlir::Value end);
  void leaveSeen(mlir::scf::IfOp choice, mlir::ValueRange made,
                 mlir::ValueRange otherwise);
  void narrowKeyBlock();
  // TileAttentionSegments.cpp: packed documents.
  using JoinBody = llvm::function_ref<std::pair<mlir::Value, mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange)>;
  std::pair<mlir::Value, mlir::Value>
  joinAll(mlir::Value values, std::pair<mlir::Value, mlir::Value> start,
          JoinBody join);
  mlir::Value takeSegments(mlir::Value segments, mlir::Value first,
                           mlir::OpFoldResult count);
  std::pair<mlir::Value, mlir::Value> findSegments(mlir::Value first,
                                                   mlir::Value end);
  /// The region for one block of queries, written into the results, which are
  /// `carried`.
  virtual mlir::LogicalResult
  makeBlock(llvm::SmallVectorImpl<mlir::Value> &carried);
  /// The element type that a result of the operation is computed in.
  virtual mlir::Type getResultElement(mlir::OpResult result);
  /// Puts the results in the place of the operation's.
  virtual void replaceResults(mlir::ValueRange results);

private:
  mlir::LogicalResult makeRows();

  // TileAttentionOnline.cpp: a loop over blocks of keys.
  mlir::LogicalResult makeRowsOnline();
  void findKeyBlock(const QueryBlock &whole, mlir::Value start);
  mlir::Value passKeys(RowSoftmaxOp softmax, RunningSoftmax &known);
  void scaleSums(mlir::Value factor, llvm::ArrayRef<mlir::Value *> sums);

  // TileAttentionUniform.cpp: what is the same for all queries.
  void collectKept();
  /// The 16-bit tensor that the argument's operand extends, if only products
  /// read the argument: they take it as it is.
  mlir::Value narrowOperand(mlir::BlockArgument argument);
  /// Of the value as it is before the loops.
  mlir::Type elementOf(mlir::Value value);
  llvm::SmallVector<mlir::OpFoldResult> sizesOf(mlir::Value value);
  llvm::SmallVector<mlir::OpFoldResult> panelSizes(const KeptValue &kept);
  mlir::Value placeOf(mlir::Value storage, uint64_t mask,
                      llvm::SmallVector<mlir::OpFoldResult> &offsets,
                      llvm::SmallVector<mlir::OpFoldResult> &sizes);
  mlir::LogicalResult keepUniform();
  void makeKept(uint64_t mask);
  void makeUniform(uint64_t known, bool isInBlock);
  void cloneUniform(mlir::Operation *inner);
  mlir::Value lowerUniform(mlir::Operation *inner);
  mlir::Value firstPacked(const KeptValue &kept);
  mlir::Value pack(const KeptValue &kept, mlir::Value output);
  mlir::Value packTile(mlir::Value matrix, int64_t along,
                       mlir::OpFoldResult most);
  mlir::Value multiplyPacked(mlir::Value rows, mlir::Value sum,
                             mlir::Value output, mlir::Value matrix,
                             int64_t along);
  mlir::Value multiplyPanels(mlir::Value rows, mlir::Value panels,
                             mlir::Value sum, mlir::Value output,
                             mlir::Value matrix, int64_t along);

  // TileAttentionLift.cpp, TileAttentionOther.cpp: operations for all queries
  // of a block; TileAttentionTiles.cpp: their values and memory.
  mlir::LogicalResult lift(mlir::Operation *inner);
  mlir::LogicalResult liftGeneric(mlir::linalg::GenericOp generic);
  mlir::LogicalResult liftContract(mlir::linalg::ContractOp contract);
  mlir::LogicalResult liftScalar(mlir::Operation *inner);
  mlir::LogicalResult liftByRow(mlir::Operation *inner);
  mlir::Value liftReshape(mlir::Operation *inner, mlir::Value source);
  mlir::Value liftBeginning(mlir::Value output, bool isRead);
  Tile argumentTile(mlir::BlockArgument argument);
  /// The tile of a value; one that is the same for all is cut to the block's
  /// keys.
  Tile tileOf(mlir::Value value);
  /// The value for each query, divided by its denominator.
  mlir::Value wholeTile(mlir::Value value);
  /// Whether `user` may write over the tile of its operand.
  bool mayOverwrite(mlir::Value value, const Tile &tile);
  mlir::Value indices(mlir::Value start);
  llvm::SmallVector<mlir::OpFoldResult>
  tileSizes(mlir::Value value, bool most, mlir::ValueRange dynamicSizes = {});
  mlir::Value makeBuffer(llvm::ArrayRef<mlir::OpFoldResult> sizes,
                         llvm::ArrayRef<mlir::OpFoldResult> most,
                         mlir::Type element);
  /// A buffer `[rows, columns]` or `[rows]`.
  mlir::Value makeScores(mlir::Type element);
  mlir::Value makeColumn(mlir::Type element, mlir::Value fill = {});

  // TileAttentionRows.cpp: row operations.
  llvm::SmallVector<mlir::Value> makeGeneric(llvm::ArrayRef<TileInput> inputs,
                                             llvm::ArrayRef<TileInput> outputs,
                                             bool reducesKeys, TileBody make);
  mlir::AffineMap mapOf(llvm::ArrayRef<unsigned> loops, unsigned count = 2);
  TileInput pairInput(mlir::Value tensor);
  bool hidesByElement();
  mlir::Value seenByPlace(mlir::OpBuilder &builder, mlir::Value query,
                          mlir::Value key);
  mlir::Value broadcastRow(const Tile &tile);
  /// Hides, adds the bias: -inf where a key does not take part.
  mlir::Value hide(RowSoftmaxOp op, bool &isOwned);
  mlir::Value hideEdge(mlir::Value scores, mlir::Value from, mlir::Value to);
  mlir::Value divide(mlir::Value value, mlir::Value denominator);
  mlir::Value invert(mlir::Value denominator);
  void lower(RowScoresOp op);
  void lower(RowValuesOp op);
  void lower(RowSoftmaxOp op);
  void lower(RowNeighboursOp op);
  void lower(RowTopKOp op);
  void lower(RowVisibleOp op);
  mlir::Value makeOrder(mlir::Value scores);
  mlir::Value
  countWhere(llvm::ArrayRef<TileInput> inputs,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &,
                                            mlir::ValueRange values)>
                 holds);
  mlir::Value searchBits(
      mlir::Type element, mlir::Value bits, mlir::Value bound,
      llvm::function_ref<mlir::Value(mlir::Value candidate)> count,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value count,
                                     mlir::Value bound)>
          stays);
  mlir::Value makeKeptCount(RowTopKOp topK, mlir::Value order);
  mlir::Value makeProduct(mlir::Value vector, mlir::Value matrix,
                          bool alongRows, mlir::Value sum = {});
  mlir::Value makeValuesBuffer(RowValuesOp op);
  mlir::Value clearBefore(mlir::Value weights, mlir::Value column);
  mlir::Value multiplyValues(RowValuesOp op, mlir::Value weights,
                             mlir::Value output, mlir::Value sum);
  void divideValues(RowValuesOp op, mlir::Value sum, mlir::Value denominator);
  void giveValues(RowValuesOp op, mlir::Value sum);
  mlir::Value findLargest(mlir::Value scores);
  mlir::Value makeBase(mlir::OpBuilder &builder, mlir::Value largest);
  mlir::Value replaceEmpty(mlir::Value largest);
  std::pair<mlir::Value, mlir::Value> makePowers(mlir::Value scores,
                                                 bool isOwned, mlir::Value base,
                                                 mlir::Value sum);
  void giveLogSumExp(RowSoftmaxOp softmax, mlir::Value base, mlir::Value sum);
  mlir::Value makeDenominator(RowSoftmaxOp softmax, mlir::Value base,
                              mlir::Value sum);
  mlir::Value makeVisible();
  void addSegments(llvm::SmallVectorImpl<TileInput> &inputs);
  mlir::Value seenHere(mlir::OpBuilder &builder, mlir::ValueRange values);

protected:
  AttentionOp op;
  mlir::IRRewriter &rewriter;
  mlir::Location loc;
  const TargetDescription &target;
  AttentionBody body;
  int64_t leadRank, queryBlock, keyBlock;
  /// The first key of a block of queries is a multiple of it.
  int64_t keyStep;
  /// Whether blocks look at the keys that they see only.
  bool cutsKeys;
  /// Whether the region may hide keys from all queries of a block, and whether
  /// its first and last key are found by that.
  bool skipsHidden, narrowsBlocks;
  /// Whether keys and values are packed; for few queries that takes longer than
  /// to multiply them.
  bool packs = true;
  /// Whether they are packed by the block of queries, of which there is one
  /// then; null if they never are.
  mlir::Value packsInBlock;

  mlir::Value queryCount, keyCount;
  /// Of a block: `queryBlock`, or fewer where there are many keys.
  mlir::Value mostQueries;
  /// From the start of a block to that of the next.
  mlir::Value blockRows;
  /// Number of each leading dimension, and the index, or null, of it.
  llvm::SmallVector<mlir::Value> leadCounts, lead;
  KeyReach reach;
  QueryBlock block;
  llvm::DenseMap<mlir::Value, Tile> tiles;

private:
  llvm::SmallVector<mlir::scf::ForOp> loops;
  llvm::SmallVector<KeptValue> kept;
  llvm::DenseMap<mlir::Value, PackedKeys> keyPanels, valuePanels;
  llvm::DenseMap<mlir::Value, mlir::Value> inverses;
  /// Where results of the region belong, in the result of the attention.
  llvm::DenseMap<mlir::Value, mlir::Value> destinations;
  /// Of each result the transposition that it is made for, or null.
  llvm::SmallVector<mlir::linalg::TransposeOp> transposed;
};

/// Where all that is read of a transposed tensor are slices whose rows are rows
/// before as well, they are taken there.
void readBehindTransposition(mlir::linalg::TransposeOp transpose,
                             mlir::IRRewriter &rewriter);

} // namespace gatefold

#endif // PASSES_TILE_TILEATTENTION_H
