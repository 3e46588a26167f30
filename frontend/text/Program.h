// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Program.h - A checked program ----------------------------*- C++ -*-===//
//
// What the checker makes of an entry and the importer turns into MLIR: a graph
// of tensor values with every call expanded in place, every type and dimension
// found, and mapping over leading dimensions resolved, so shapes here are whole
// shapes. Each node knows its place and the calls around it.
//
// In the body of an attention shapes are those of the language: T and S are
// symbols of that attention alone (`querySymbol`, `keySymbol`); a value with
// the axis T exists for one query at a time, and the importer leaves that axis
// out.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_PROGRAM_H
#define FRONTEND_TEXT_PROGRAM_H

#include "frontend/text/Size.h"
#include "frontend/text/Syntax.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

namespace gatefold::text {

using Shape = llvm::SmallVector<Size, 4>;

struct TensorType {
  Element element = Element::F32;
  Shape shape;
  unsigned rank() const { return shape.size(); }
};
/// `i64[B, T]`; an f32 tensor of the model's float type shows as `[B, T]` if
/// `hide` is that type.
std::string str(const TensorType &type,
                std::optional<Element> hide = std::nullopt);
llvm::StringRef spelling(Element element);
inline bool isFloat(Element e) { return e <= Element::F64; }
inline bool isHalf(Element e) { return e <= Element::BF16; }
inline bool isInteger(Element e) {
  return e == Element::I32 || e == Element::I64;
}

struct Node;

/// A result of a node.
struct Value {
  Node *node = nullptr;
  unsigned index = 0;
  explicit operator bool() const { return node != nullptr; }
  const TensorType &type() const;
};

/// Where a node comes from: its own place, then the calls around it, innermost
/// first.
struct Trace {
  Range place;
  std::shared_ptr<const Trace> caller; // may be null
};

struct Node {
  enum class Kind {
    Input,
    Argument,
    Parameter,
    Constant,
    SizeValue,
    Elementwise,
    Contract,
    Reduce,
    Softmax,
    Reshape,
    Permute,
    Slice,
    Broadcast,
    Concat,
    Pad,
    Flip,
    Take,
    Append,
    Convolution,
    Iota,
    Recurrence,
    Attention,
    // In the body of an attention only:
    RowIndex,
    RowPosition,
    RowVisible,
    RowScores,
    RowSoftmax,
    RowNeighbours,
    RowTopK,
    RowValues
  };
  const Kind kind;
  Trace trace;
  llvm::SmallVector<Value, 3> operands;
  llvm::SmallVector<TensorType, 1> results;

  virtual ~Node() = default;

protected:
  Node(Kind kind) : kind(kind) {}
};
inline const TensorType &Value::type() const { return node->results[index]; }

/// Nodes in order of evaluation (an operand stands before its user; bodies of
/// recurrences and attentions also use values of the graphs around them).
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  /// Arguments of the body of a recurrence or attention: ArgumentNodes.
  llvm::SmallVector<Value> arguments;
  llvm::SmallVector<Value> results;
};

#define GATEFOLD_NODE(NAME)                                                    \
  NAME##Node() : Node(Kind::NAME) {}                                           \
  static bool classof(const Node *n) { return n->kind == Kind::NAME; }

/// Input number `input` of the program.
struct InputNode : Node {
  GATEFOLD_NODE(Input)
  unsigned input = 0;
};
/// Argument number `number` of the body that it stands in.
struct ArgumentNode : Node {
  GATEFOLD_NODE(Argument)
  unsigned number = 0;
  /// Of a state of a recurrence: what the text calls it.
  std::string name;
};
/// Parameter number `parameter` of the program. One node may exist for each
/// use.
struct ParameterNode : Node {
  GATEFOLD_NODE(Parameter)
  unsigned parameter = 0;
};
/// A number known when compiling, as a tensor [] of its element type.
struct ConstantNode : Node {
  GATEFOLD_NODE(Constant)
  double real = 0;     // floats (may be infinite)
  int64_t integer = 0; // integers; bool as 0 or 1
};
/// A size as a tensor i64[].
struct SizeValueNode : Node {
  GATEFOLD_NODE(SizeValue)
  Size size;
};

enum class ElementwiseOp {
  // Two operands of one element type, that of the result.
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Maximum, // NaN wins
  Minimum, // NaN wins
  And,
  Or,
  // Two operands of one element type; the result is bool.
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  // One operand.
  Negate,
  Not,
  Exp,
  Log,
  Sqrt,
  Sin,
  Cos,
  Tanh,
  Erf,
  Abs,
  Sigmoid,
  LogSigmoid,
  Softplus,
  Relu,
  Silu,
  Gelu,
  Convert, // to the result's element type
  // Three: bool, then two of the result's element type.
  Select
};
llvm::StringRef spelling(ElementwiseOp op);

/// Operands broadcast to the result's shape: aligned at the right, a size fixed
/// to 1 stretches.
struct ElementwiseNode : Node {
  GATEFOLD_NODE(Elementwise)
  ElementwiseOp op = ElementwiseOp::Add;
  /// Of a conversion to f16 or bf16: the text asks for it, so it rounds. What
  /// only fits types together keeps the digits of f32.
  bool rounds = false;
};

/// result[o..] = sum over the labels not in the result of left * right, as
/// einsum. labels[k] names each axis of operand k; -1 marks an axis of size 1
/// that takes no part (a stretched one). Accumulates in f32 (f64 for f64).
struct ContractNode : Node {
  GATEFOLD_NODE(Contract)
  llvm::SmallVector<int64_t> leftLabels, rightLabels, resultLabels;
};

enum class ReduceKind { Sum, Mean, Maximum, Minimum, ArgMaximum };
/// Drops `axis`. Operand 1, if there, is the integer tensor `lengths`, shaped
/// as the dimensions before the axis: only the first n entries count. Sum and
/// mean of nothing are 0; the others of nothing are an error of the run.
struct ReduceNode : Node {
  GATEFOLD_NODE(Reduce)
  ReduceKind reduce = ReduceKind::Sum;
  unsigned axis = 0;
};
/// Outside an attention. Operand 1, if there, is `where`, a bool broadcast to
/// operand 0; a row with none is 0.
struct SoftmaxNode : Node {
  GATEFOLD_NODE(Softmax)
  unsigned axis = 0;
};
/// The same elements in the same order under the result's shape.
struct ReshapeNode : Node {
  GATEFOLD_NODE(Reshape)
};
/// result axis k is operand axis permutation[k].
struct PermuteNode : Node {
  GATEFOLD_NODE(Permute)
  llvm::SmallVector<int64_t> permutation;
};
/// result[i..] = operand[starts + i * steps ..]; ranks agree.
struct SliceNode : Node {
  GATEFOLD_NODE(Slice)
  llvm::SmallVector<Size> starts;
  llvm::SmallVector<int64_t> steps; // at least 1
};
/// To the result's shape, by the rule of ElementwiseNode.
struct BroadcastNode : Node {
  GATEFOLD_NODE(Broadcast)
};
struct ConcatNode : Node {
  GATEFOLD_NODE(Concat)
  unsigned axis = 0;
};
enum class PadMode { Zero, Reflect, Edge };
struct PadNode : Node {
  GATEFOLD_NODE(Pad)
  unsigned axis = 0;
  Size left, right;
  PadMode mode = PadMode::Zero;
};
struct FlipNode : Node {
  GATEFOLD_NODE(Flip)
  unsigned axis = 0;
};
/// operands: table [N, rest..], integer indices [lead..]; result [lead..,
/// rest..].
struct TakeNode : Node {
  GATEFOLD_NODE(Take)
};
/// operands: x [lead.., C, rest..], rows [lead.., T, rest..] with T along
/// `axis`, integers n shaped as the first dimensions before it, or []; result:
/// x with the rows in the places n, n + 1, ...
struct AppendNode : Node {
  GATEFOLD_NODE(Append)
  unsigned axis = 0;
  bool rounds = false; // rows, to the 16 bits that a cell's text says
};
/// operands: x [lead.., C, L], weight [N, C/groups, kernel]; result
/// [lead.., N, L']. No bias.
struct ConvolutionNode : Node {
  GATEFOLD_NODE(Convolution)
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
/// 0, 1, .. along the one axis of the i64 result.
struct IotaNode : Node {
  GATEFOLD_NODE(Iota)
};

/// See gf.recurrence. Results: outputs [lead.., T, rest..], then final states.
/// body.arguments: one step of each sequence, then each state; body.results:
/// outputs of the step, then next states; all have the whole lead in front.
/// `operands` is empty; the operands are the named fields.
struct RecurrenceNode : Node {
  GATEFOLD_NODE(Recurrence)
  llvm::SmallVector<Value> sequences, initials, resetStates;
  Value lengths, resets;         // may be null
  std::optional<Size> steps;     // where there is no sequence
  std::optional<unsigned> until; // a bool state
  unsigned timeAxis = 0;         // = rank of lead
  bool reverse = false;
  Graph body;
};

/// See gf.attention. lead is the shape of the leading dimensions; operands'
/// own leads align with it at the right. With grouped heads the lead has the
/// pair (key heads, group) and keys have a 1 for the group. Arguments of the
/// body, in order: queries [T, ..], keys [S, ..], pairs [T, S] (T or S may be
/// 1), captures [..], with this attention's symbols. body.results: the results,
/// [T, ..], those that are declared, then the log-sum-exp [T] and the weights
/// [T, S] of each softmax, as far as they are asked for.
struct AttentionNode : Node {
  GATEFOLD_NODE(Attention)
  Shape lead;
  llvm::SmallVector<Value> queries, keys, pairs, captures;
  Value lengths, mask, bias, offset, querySegments, keySegments; // may be null
  bool causal = false;
  /// Bounds of the window, nothing for no bound.
  std::optional<std::pair<std::optional<int64_t>, std::optional<int64_t>>>
      window;
  bool logSumExp = false, weights = false;
  const Symbol *querySymbol = nullptr, *keySymbol = nullptr; // T, S in the body
  Size querySize, keySize; // what they are outside
  std::string name;        // of the attention's declaration
  Graph body;
};

/// i64 [T, 1]
struct RowIndexNode : Node {
  GATEFOLD_NODE(RowIndex)
};
/// i64 [T, 1]
struct RowPositionNode : Node {
  GATEFOLD_NODE(RowPosition)
};
/// bool [T, S]
struct RowVisibleNode : Node {
  GATEFOLD_NODE(RowVisible)
};
/// operands: query [T, D], keys [S, D]; result [T, S].
struct RowScoresNode : Node {
  GATEFOLD_NODE(RowScores)
};
/// operands: scores [T, S]; then where (bool, broadcast to [T, S]) if hasWhere,
/// sink ([] or [T, 1]) if hasSink; results: weights [T, S], and the log-sum-exp
/// [T] if the attention gives it.
struct RowSoftmaxNode : Node {
  GATEFOLD_NODE(RowSoftmax)
  bool hasWhere = false, hasSink = false;
};
struct RowNeighboursNode : Node {
  GATEFOLD_NODE(RowNeighbours)
  int64_t width = 3;
  bool allKeys = false; // scope "all"
};
struct RowTopKNode : Node {
  GATEFOLD_NODE(RowTopK)
  std::optional<int64_t> count;
  std::optional<double> fraction;
};
/// operands: weights [T, S], values [S, E]; result [T, E].
struct RowValuesNode : Node {
  GATEFOLD_NODE(RowValues)
};
#undef GATEFOLD_NODE

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

struct ProgramInput {
  std::string name;
  TensorType type;
  bool isState = false;
  double initial = 0;     // of a state, where it is a number
  bool hasInitial = true; // false: made of parameters
  Range range;
  /// Each value v must satisfy 0 <= v < below, or 0 <= v <= atMost.
  std::optional<Size> below, atMost;
};
struct ProgramResult {
  std::string name;
  Value value;
  bool isState = false;
  Range range;
};
struct ProgramParameter {
  std::string name; // in the checkpoint
  TensorType type;
  std::optional<double> initial;
  Range range; // of its declaration
};
/// Two sizes that every run must find equal.
struct SizeEquality {
  Size left, right;
  std::string message; // "dimension `D` of `f` is ... in `q` and ... in `k`"
  Range range;
};

struct Program {
  std::string name; // of the entry
  DeclarationKind kind = DeclarationKind::Model;
  Element floatType = Element::F32;
  std::deque<Symbol> symbols;         // the open dimensions, index = place here
  std::deque<Symbol> bodySymbols;     // T and S of attentions
  std::vector<ProgramInput> inputs;   // tensors, then states
  std::vector<ProgramResult> results; // results, then states
  std::vector<ProgramParameter> parameters;
  std::vector<SizeEquality> equalities;
  Graph body;
};

/// The size or the whole number that an integer tensor shows to hold at every
/// place.
std::optional<Size> knownSize(Value value);

/// One line for each node, with names of values as they are numbered; for tests
/// and for people.
void dump(const Program &program, llvm::raw_ostream &out);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_PROGRAM_H
