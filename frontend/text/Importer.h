// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Importer.h - Inside the import ---------------------------*- C++ -*-===//
//
// One Importer makes one module. Each node becomes a value of the type
// typeOf(node); a node of rank 0 whose operands are known numbers and sizes
// becomes a scalar, so that no tensor is made for `sqrt(D)`.
//
// Sizes are computed once, at the start of the function (the prologue), and so
// may be used in every region.
//
// In the body of an attention the axis T of a type is left out in MLIR. Nodes
// count axes as the language does; axisOf and keptAxes translate.
//
// Files: Import.cpp the entry and graphs, ImportSizes.cpp sizes,
// ImportBounds.cpp what integers may be, ImportScalar.cpp numbers,
// ImportElementwise.cpp, ImportContract.cpp (products, convolution),
// ImportReduce.cpp (reductions, softmax), ImportShape.cpp (reshape to slices),
// ImportGather.cpp (what reads or writes by computed indices),
// ImportChecks.cpp (what a run finds on its way), ImportRecurrence.cpp,
// ImportAttention.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_IMPORTER_H
#define FRONTEND_TEXT_IMPORTER_H

#include "frontend/text/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <map>

namespace gatefold::text {

class Importer {
public:
  Importer(const Program &program, Diagnostics &diagnostics,
           mlir::MLIRContext &context);
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  using Values = llvm::SmallVector<mlir::Value>;
  using Maps = llvm::SmallVector<mlir::AffineMap>;
  /// Makes the scalar that a linalg.generic yields, with the builder `b` inside
  /// it.
  using ScalarBody = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  //===--- Import.cpp --------------------------------------------------===//

  /// Reports "not compiled yet: WHAT" at the node; fails.
  llvm::LogicalResult refuse(const Node &node, const llvm::Twine &what,
                             const llvm::Twine &hint = "");
  llvm::LogicalResult refuse(Range range, const llvm::Twine &what,
                             const llvm::Twine &hint = "");
  /// What goes over an attention's queries, of which its body sees one.
  llvm::LogicalResult refuseQueries(const Node &node, const llvm::Twine &what);
  mlir::Location locationOf(Range range);
  mlir::Location locationOf(const Trace &trace);

  llvm::LogicalResult importFunction(mlir::ModuleOp module);
  void importParameters();
  TensorType typeOfResult(const ProgramResult &result) const;
  llvm::LogicalResult setAttributes();
  llvm::LogicalResult importGraph(const Graph &graph);
  bool holdsNothing(const Node &node);
  llvm::LogicalResult importNode(const Node &node);

  /// Makes `value`, cast to the node's type, the node's result.
  void define(const Node &node, mlir::Value value, unsigned index = 0);
  /// The tensor of a value.
  mlir::Value get(Value value);
  mlir::Value cast(mlir::Value value, mlir::RankedTensorType type);

  //===--- Types -------------------------------------------------------===//

  mlir::Type elementType(Element element);
  mlir::RankedTensorType typeOf(const TensorType &type);
  mlir::RankedTensorType typeOf(Value value) { return typeOf(value.type()); }
  /// Whether a size is the axis T of the attention around.
  bool isQueryAxis(const Size &size) const {
    return size.symbol() && querySymbols.contains(size.symbol());
  }
  /// Whether a size is the axis S of the attention around.
  bool isKeyAxis(const Size &size) const {
    return attention && size.symbol() == attention->keySymbol;
  }
  /// The axes of the language that exist in MLIR, in order.
  llvm::SmallVector<unsigned> keptAxes(llvm::ArrayRef<Size> shape) const;
  /// The dimension in MLIR of an axis; nothing for T.
  std::optional<unsigned> axisOf(llvm::ArrayRef<Size> shape,
                                 unsigned axis) const;
  /// The shape without T.
  Shape keptShape(llvm::ArrayRef<Size> shape) const;

  //===--- ImportSizes.cpp ---------------------------------------------===//

  llvm::LogicalResult bindSymbols();
  /// T and S of attentions replaced by what they are outside.
  Size resolve(const Size &size) const;
  /// Static size, or kDynamic.
  int64_t staticSize(const Size &size) const;
  mlir::Value sizeValue(const Size &size); // index
  mlir::OpFoldResult foldedSize(const Size &size);
  llvm::SmallVector<mlir::OpFoldResult> foldedShape(const TensorType &type);
  mlir::Value computeSize(const Size &size);
  /// null where the size is no affine map (see `gf.shape`).
  mlir::AffineExpr affineSize(const Size &size);
  /// A run in which a size divides by one that is not positive is refused.
  void requireDivisor(const Size &size, mlir::AffineExpr divisor);
  mlir::AffineMap affineMap(llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// An expression that is 0 where the size is not negative, and below 0
  /// elsewhere: size // 2**62. null where it is no affine map.
  mlir::AffineExpr nonNegativity(const Size &size);
  /// At least `least` in every run.
  bool isAtLeast(const Size &size, int64_t least) const;
  /// Sizes of a type that may be negative in a run are refused when it starts.
  llvm::LogicalResult requireNonNegative(const Node &node,
                                         const TensorType &type);
  //===--- ImportBounds.cpp --------------------------------------------===//

  /// Whether a run has checked, or it shows, that every value v of an integer
  /// tensor has 0 <= v < bound (or <= bound if `inclusive`).
  bool isBounded(Value value, const Size &bound, bool inclusive);
  bool proveBounded(Value value, const Size &bound, bool inclusive);
  /// The same of a state of a recurrence, by induction.
  bool isInductive(const Node *state, const Size &limit);
  /// The same of a state that grows by as much at each step of a recurrence.
  bool isCounted(const Node *state, const Size &bound, bool inclusive);
  /// The least and the largest value that an integer tensor shows to have.
  /// Looks at no more than `budget` nodes.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(Value value,
                                                     unsigned &budget);

  //===--- ImportChecks.cpp --------------------------------------------===//

  /// What a body has found: bools, true where the run must fail.
  struct Finding {
    mlir::Value wrong;
    std::string message;
    mlir::Location location;
  };
  /// WHAT with the place of the node in front.
  std::string failureAt(const Node &node, const llvm::Twine &what);
  std::string failureAt(Range range, const llvm::Twine &what);
  /// Whether any of them is true, for each index of the first `kept`
  /// dimensions.
  mlir::Value anyOf(mlir::Value bools, unsigned kept);
  /// The run fails with the message where one of the bools is true; in a body,
  /// if the step is taken and the key is seen. `shape` is theirs in the
  /// language.
  void failWhere(mlir::Value wrong, llvm::ArrayRef<Size> shape,
                 llvm::StringRef message);
  /// The same where an integer is not in 0 .. last.
  void failOutside(const Node &node, mlir::Value integers,
                   llvm::ArrayRef<Size> shape, const Size &last,
                   const llvm::Twine &what);
  mlir::Value clampTo(mlir::Value integer, mlir::Value last);
  /// Lengths that no run has checked: they are checked here, and cut to
  /// 0 .. most. `shape` may have more dimensions behind theirs.
  mlir::Value checkedLengths(const Node &node, mlir::Value lengths,
                             llvm::ArrayRef<Size> shape, const Size &most);
  /// Adds what a body has found to its results, one bool `[lead..]` each.
  void yieldFindings(llvm::ArrayRef<Finding> found, llvm::ArrayRef<Size> lead,
                     Values &results, unsigned place);

  //===--- ImportScalar.cpp --------------------------------------------===//

  mlir::TypedAttr numberAttribute(Element element, double real,
                                  int64_t integer);
  mlir::Value number(mlir::Type type, double value);
  mlir::Value indexNumber(int64_t value);
  /// Whether a value is kept as a scalar, and that scalar at the insertion
  /// point.
  bool isScalar(Value value) const;
  mlir::Value scalar(Value value);
  /// One element of an elementwise node.
  mlir::Value scalarOperation(const ElementwiseNode &node,
                              mlir::ValueRange operands);
  mlir::Value convert(mlir::Value value, Element from, Element to,
                      bool rounds = false);
  mlir::Value floorDivide(mlir::Value left, mlir::Value right);
  mlir::Value floorModulo(mlir::Value left, mlir::Value right);
  mlir::Value guardedDivision(const ElementwiseNode &node, mlir::Value left,
                              mlir::Value right);
  mlir::Value floatDivision(ElementwiseOp op, mlir::Value left,
                            mlir::Value right);
  mlir::Value power(const ElementwiseNode &node, mlir::Value base,
                    mlir::Value exponent);
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value softplus(mlir::Value x);

  //===--- ImportElementwise.cpp ---------------------------------------===//

  mlir::Value empty(const TensorType &type);
  mlir::Value filled(const TensorType &type, mlir::Value scalar);
  /// Loops over the result, every one parallel; `maps` are those of the inputs.
  mlir::Value generic(const TensorType &result, mlir::ValueRange inputs,
                      llvm::ArrayRef<mlir::AffineMap> maps, ScalarBody body);
  /// (d0, .., d[rank - 1]) -> (d0, .., d[count - 1]). Upstream's getMajorSubMap
  /// gives no map at all for a count of 0.
  mlir::AffineMap leadingMap(unsigned rank, unsigned count) {
    llvm::SmallVector<mlir::AffineExpr> leading;
    for (unsigned i = 0; i < count; ++i)
      leading.push_back(b.getAffineDimExpr(i));
    return mlir::AffineMap::get(rank, 0, leading, &context);
  }
  /// From the loops over `result` to an operand that broadcasts to it.
  mlir::AffineMap broadcastMap(llvm::ArrayRef<Size> operand,
                               llvm::ArrayRef<Size> result);
  mlir::Value broadcast(Value value, const TensorType &type);
  llvm::LogicalResult visit(const ElementwiseNode &node);
  llvm::LogicalResult visit(const BroadcastNode &node);

  //===--- ImportContract.cpp, ImportReduce.cpp ------------------------===//

  /// An operand without its axes of size 1 and label -1; `labels` likewise.
  mlir::Value dropUnlabelled(Value value, llvm::ArrayRef<int64_t> labels,
                             llvm::SmallVectorImpl<int64_t> &kept);
  llvm::LogicalResult visit(const ContractNode &node);
  llvm::LogicalResult visit(const ConvolutionNode &node);
  /// Reduces dimension `axis` of MLIR of a tensor; one input more may stand
  /// beside it, with a map over (the result's loops, the reduced one). The body
  /// gets the element, the other input's, the accumulator.
  mlir::Value reduce(mlir::Value source, unsigned axis, mlir::Value initial,
                     mlir::Value other, mlir::AffineMap otherMap,
                     ScalarBody body);
  /// Inside linalg.generic: whether the index of a loop is below a length.
  mlir::Value isBefore(unsigned loop, mlir::Value length);
  llvm::LogicalResult visit(const ReduceNode &node);
  /// max, min or argmax of `count` elements, or of the `lengths` of each: a run
  /// in which there is one of none fails. Fails where there is none in any run.
  llvm::LogicalResult requireElements(const ReduceNode &node, const Size &count,
                                      mlir::Value lengths,
                                      llvm::StringRef name);
  /// Which keys may reach a result of the attention around, a bool for each;
  /// null where all do.
  mlir::Value reachedKeys(const Size &count);
  /// How many elements of a row of bools are true, an i64.
  mlir::Value countTrue(mlir::Value row);
  mlir::Value argMaximum(const ReduceNode &node, unsigned axis,
                         mlir::Value lengths);
  llvm::LogicalResult visit(const SoftmaxNode &node);

  //===--- ImportShape.cpp ---------------------------------------------===//

  /// The same elements under another shape (without T).
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<Size> from,
                      llvm::ArrayRef<Size> to);
  llvm::LogicalResult visit(const ReshapeNode &node);
  llvm::LogicalResult visit(const PermuteNode &node);
  llvm::LogicalResult visit(const SliceNode &node);
  llvm::LogicalResult visit(const ConcatNode &node);
  mlir::Value padZero(mlir::Value source, unsigned dimension,
                      mlir::OpFoldResult left, mlir::OpFoldResult right,
                      mlir::RankedTensorType type);

  //===--- ImportGather.cpp --------------------------------------------===//

  /// What `make` makes where the condition holds, else 0.
  mlir::Value orZero(mlir::Value condition, Element element,
                     llvm::function_ref<mlir::Value()> make);
  llvm::LogicalResult visit(const PadNode &node);
  llvm::LogicalResult visit(const FlipNode &node);
  /// Whether indices are 0, 1, .., which a run then requires to be below a
  /// bound.
  bool coversIota(const Node &node, Value indices, const Size &bound);
  llvm::LogicalResult visit(const TakeNode &node);
  llvm::LogicalResult visit(const AppendNode &node);
  llvm::LogicalResult visit(const IotaNode &node);

  //===--- ImportRecurrence.cpp, ImportAttention.cpp -------------------===//

  llvm::LogicalResult visit(const RecurrenceNode &node);
  llvm::LogicalResult visit(const AttentionNode &node);
  llvm::LogicalResult visitRow(const Node &node);
  /// Imports a body whose block the builder stands in, and yields its results,
  /// which `finish` may still change.
  llvm::LogicalResult
  importBody(const Graph &body, llvm::ArrayRef<mlir::Value> arguments,
             llvm::ArrayRef<TensorType> yielded,
             llvm::function_ref<void(Values &)> finish = nullptr);
  /// Where `stop` is true, [lead..], the step does not count: outputs are 0 and
  /// states stay.
  void stopSteps(mlir::Value stop, llvm::ArrayRef<TensorType> types,
                 mlir::ValueRange states, Values &results);
  /// Lets what is written into a state until it is `next` be what is there
  /// where `stop` is true; false if anything else is made of the state.
  bool stopWrites(mlir::Value stop, mlir::Value state, mlir::Value next);
  /// Of lengths that differ along more than the first leading dimension: where
  /// a sequence takes no step, bool [lead.., T]; else null.
  mlir::Value endedSteps(mlir::Value lengths, llvm::ArrayRef<Size> lead,
                         const Size &time);
  /// Resets, false where a sequence takes no step.
  mlir::Value withoutResets(mlir::Value resets, mlir::Value ended,
                            llvm::ArrayRef<Size> lead, const Size &time);
  /// Lengths, offsets and segments as the gf operations want them: one for each
  /// index of the first leading dimensions that they change along, of one at
  /// least, then `ownRank` dimensions. Null if there are none.
  mlir::Value perSequence(Value value, llvm::ArrayRef<Size> lead,
                          unsigned ownRank = 0);

  const Program &program;
  Diagnostics &diagnostics;
  mlir::MLIRContext &context;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;

  llvm::DenseMap<std::pair<const Node *, unsigned>, mlir::Value> values;
  llvm::DenseMap<const Node *, mlir::Value> scalars;
  Values parameters; // by number

  /// The last operation of the prologue.
  mlir::Operation *prologueEnd = nullptr;
  /// Runs `make` with the builder at the end of the prologue.
  mlir::Value inPrologue(llvm::function_ref<mlir::Value()> make);
  std::map<std::string, mlir::Value> sizes; // by text, of resolved sizes
  llvm::SmallVector<mlir::Value> symbols;   // by index
  /// T and S of the attentions entered so far, and what they are outside.
  llvm::DenseMap<const Symbol *, Size> bodySizes;
  llvm::DenseSet<const Symbol *> querySymbols;
  /// What an argument of a body is a part of.
  llvm::DenseMap<const Node *, Value> argumentSources;
  /// What an argument that is a state starts with and is given.
  llvm::DenseMap<const Node *, llvm::SmallVector<Value, 3>> stateSources;
  /// How many steps its recurrence takes.
  llvm::DenseMap<const Node *, Size> stateSteps;
  /// The attention around, and its row and position.
  const AttentionNode *attention = nullptr;
  mlir::Value row, position;
  /// States that are taken to be below a limit while that is proved of the
  /// values that they are given; and how many nodes may still be looked at.
  llvm::DenseMap<const Node *, Size> assumedStates;
  unsigned proofBudget = 0;
  /// Of the body around; null outside of any.
  llvm::SmallVector<Finding> *findings = nullptr;
  /// Sizes of the recurrences and attentions around: where one of them is 0,
  /// the body does not run.
  Shape repetitions;

  /// Sizes that a run must find to be equal beside those that the program
  /// names, with messages.
  llvm::SmallVector<mlir::Attribute> equalities, equalityMessages;
  /// The same of divisors, which come first of all: other sizes are made of
  /// the quotients.
  llvm::SmallVector<mlir::Attribute> divisors, divisorMessages;
  std::map<std::string, bool> checkedSizes;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_IMPORTER_H
