// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Checker.h - Inside the checker ---------------------------*- C++ -*-===//
//
// Values of expressions (Item), bodies under evaluation (Body), and the
// operations on them. Mapping: every tensor in a body is [lead.., own..]; the
// body's text speaks of the own dimensions alone. A value that does not depend
// on what is mapped has no lead; leads align at the right and stretch a
// fixed 1.
//
// Files: Check*.cpp evaluate declarations, statements, calls, recurrences,
// entries; Operations*.cpp type and build what operators, indices, built-in
// functions, layers and attentions compute.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_CHECKER_H
#define FRONTEND_TEXT_CHECKER_H

#include "frontend/text/Check.h"
#include <variant>

namespace gatefold::text {

//===----------------------------------------------------------------------===//
// Items: what an expression can be
//===----------------------------------------------------------------------===//

/// A tensor of a body: value.type().shape is lead, then own.
struct Tensor {
  Value value;
  unsigned leadRank = 0;
  Element element() const { return value.type().element; }
  llvm::ArrayRef<Size> lead() const {
    return llvm::ArrayRef<Size>(value.type().shape).take_front(leadRank);
  }
  llvm::ArrayRef<Size> own() const {
    return llvm::ArrayRef<Size>(value.type().shape).drop_front(leadRank);
  }
};

/// A number: not a tensor until it meets one.
struct Number {
  enum class Kind {
    Whole,   // known when compiling, a whole number
    Real,    // known when compiling, not whole (or inf, NaN)
    Size,    // whole, made of open dimensions
    RunReal, // made of open dimensions, not whole: a tensor f64[]
  };
  Kind kind = Kind::Whole;
  int64_t whole = 0;
  double real = 0;
  Size size;
  Value run;
  bool isFixed() const { return kind == Kind::Whole || kind == Kind::Real; }
};

struct Item;
struct Tuple {
  std::vector<Item> elements;
};
/// An error that was already reported: whatever uses it stays silent.
struct Erroneous {};

struct Item {
  std::variant<Erroneous, Tensor, Number, bool, std::string, Tuple> value;
  Range range; // of the expression that made it
  bool isError() const { return std::holds_alternative<Erroneous>(value); }
  const Tensor *tensor() const { return std::get_if<Tensor>(&value); }
  const Number *number() const { return std::get_if<Number>(&value); }
  const bool *boolean() const { return std::get_if<bool>(&value); }
  const std::string *string() const { return std::get_if<std::string>(&value); }
  const Tuple *tuple() const { return std::get_if<Tuple>(&value); }
  /// The elements of a tuple; any other item is the one element itself.
  llvm::ArrayRef<Item> elements() const {
    if (const Tuple *several = tuple())
      return several->elements;
    return *this;
  }
};

/// Arguments of a call, evaluated.
struct EvaluatedArgument {
  std::optional<Identifier> name;
  Item item;
  const Expression *expression = nullptr;
};

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

struct Body;

/// An instance of a layer, func or cell, declared by `param`. It lives as long
/// as the checker, so that a second call of the func around it finds the same
/// parameters; those are made at the first use.
struct Instance {
  Identifier name;
  Range range;
  std::string calleeName;
  const Declaration *declaration = nullptr; // null: a built-in layer
  Package::File *file = nullptr;            // where the declaration stands
  std::vector<EvaluatedArgument> settings;  // of `param name: callee(settings)`
  std::string prefix; // checkpoint prefix, "" or ending in `.`
  std::string suffix; // `_l0`, `_l0_reverse` of cells around it
  int64_t layers = 0; // 0: no `layers=`
  bool bidirectional = false;
  bool used = false;
  bool broken = false;   // its declaration is wrong (reported)
  bool complete = false; // a use of it succeeded: it has all its parameters
  /// Numbers of the program's parameters, made at the first use. Key: of a
  /// layer its own name (`weight`), else see CheckInstance.cpp; nested
  /// instances likewise.
  std::map<std::string, unsigned> parameters;
  std::map<std::string, std::unique_ptr<Instance>> instances;
};

/// What an attention's body knows.
struct AttentionContext {
  AttentionNode *node = nullptr;
  const Symbol *query = nullptr; // T
  const Symbol *key = nullptr;   // S
  bool usesVisibility = false;   // softmax or `visible` occurred
  /// How many funcs called from the body are being evaluated (evaluateBody
  /// counts them): inside those neither softmax nor the names of the body
  /// exist.
  unsigned functionDepth = 0;
};

/// A declaration's body under evaluation. (Its scope of names, dimensions,
/// states is in CheckScope.h, for the Check*.cpp files only.)
class Checker;

//===----------------------------------------------------------------------===//
// The checker, as the operations see it
//===----------------------------------------------------------------------===//

class Checker {
public:
  Checker(Package &package, const EntryOptions &options);
  ~Checker();

  Diagnostics &diagnostics;
  Program &program() { return *programStorage; }
  std::unique_ptr<Program> takeProgram() { return std::move(programStorage); }
  Element floatType() const { return options.floatType; }

  /// Appends a node to the graph being built, with the present place and calls.
  template <typename NodeType> NodeType &make(Range place) {
    auto node = std::make_unique<NodeType>();
    NodeType &reference = *node;
    append(std::move(node), place);
    return reference;
  }
  /// The attention whose body is evaluated now, or null.
  AttentionContext *attention() {
    return attentionStack.empty() ? nullptr : attentionStack.back();
  }
  /// Sets the graph to which `make` appends; gives the one before.
  Graph *setGraph(Graph *graph);

  /// Sizes that must agree. False after an error (they cannot agree; reported
  /// by `report`, which is only then called). Where it depends on the run the
  /// equality is recorded with `message`.
  bool requireEqual(const Size &a, const Size &b, Range place,
                    const llvm::Twine &message,
                    llvm::function_ref<void()> report);
  /// Every value v of an integer tensor lies in 0 <= v < bound (or <= bound if
  /// `inclusive`): recorded at the program input that it is, through nodes that
  /// keep values (reshape, permute, slice, broadcast); elsewhere left to the
  /// importer to refuse.
  void requireValues(Value indices, const Size &bound, bool inclusive);

  /// A whole number that must be known when compiling; `what` begins the
  /// message: "an axis", "`layers`". Nothing after an error. Nothing without an
  /// error where it is unknown only because something is not given yet
  /// (`check`, see EntryOptions::allowUnknown): then the caller gives
  /// Erroneous.
  std::optional<int64_t> fixedWhole(const Item &item, const llvm::Twine &what);
  /// The same for any number (infinite ones too).
  std::optional<double> fixedReal(const Item &item, const llvm::Twine &what);
  /// A whole number, fixed or a size, not negative: a dimension, a count of
  /// steps. Where it is not whole: `a dimension = 1.5 is not a whole number`,
  /// with what the number was made of.
  std::optional<Size> wholeSize(const Item &item, const llvm::Twine &what);
  /// Holds something that is not given yet, so nothing can be said about it.
  bool isUnknown(const Size &size) const;

  /// Parameter `name` (the layer's own, `weight`) of an instance, made at the
  /// first use, with a fixed shape.
  Tensor layerParameter(Instance &instance, llvm::StringRef name,
                        llvm::ArrayRef<Size> shape,
                        std::optional<double> initial, Range use);

  //===--- Operations*.cpp ---------------------------------------------===//

  Item binary(BinaryOperator op, const Item &left, const Item &right,
              Range place);
  Item unary(UnaryOperator op, const Item &operand, Range place);
  /// x[...]: `entries` of the syntax with their expressions evaluated (null
  /// where absent).
  struct EvaluatedIndex {
    IndexEntry::Kind kind;
    Range range;
    std::optional<Item> value, start, stop, step;
  };
  Item index(const Item &base, llvm::ArrayRef<EvaluatedIndex> entries,
             Range place);
  /// x.T
  Item transpose(const Item &base, Range place);

  /// Is there a built-in function, or a layer, of that name; all their names.
  static bool isBuiltinFunction(llvm::StringRef name);
  static bool isBuiltinLayer(llvm::StringRef name);
  static llvm::ArrayRef<llvm::StringRef> builtinFunctionNames();
  static llvm::ArrayRef<llvm::StringRef> builtinLayerNames();
  Item callBuiltin(Identifier callee,
                   llvm::ArrayRef<EvaluatedArgument> arguments, Range range);
  /// Settings of a layer instance: reported at its declaration.
  void checkLayerSettings(Instance &instance);
  Item callLayer(Instance &instance,
                 llvm::ArrayRef<EvaluatedArgument> arguments, Range range);

  /// `row`, `col`, `position`, `visible` in the body of an attention itself
  /// (not in a func called from it): a name that no local hides. Nothing for
  /// other names.
  std::optional<Item> attentionName(llvm::StringRef name, Range place);
  /// A call of an attention: options, leads, grouped heads, the body. Also
  /// reports what its declaration may not hold (names of inputs, results
  /// without T).
  Item callAttention(const Declaration &declaration, Package::File &file,
                     llvm::ArrayRef<EvaluatedArgument> arguments,
                     Identifier callee, Range range);

  // Building blocks, typed already; `own` axes are counted among own
  // dimensions.
  Tensor constant(double value, Element element, Range place);
  /// A number as a scalar tensor of an element type.
  Tensor numberTensor(const Number &number, Element element, Range place);
  Tensor convert(const Tensor &tensor, Element element, Range place);
  Tensor elementwise(ElementwiseOp op, llvm::ArrayRef<Tensor> operands,
                     llvm::ArrayRef<Size> ownShape, Element element,
                     Range place);
  Tensor broadcast(const Tensor &tensor, llvm::ArrayRef<Size> lead,
                   llvm::ArrayRef<Size> own, Range place);
  /// The same elements under [lead.., own..]; `lead` as it is.
  Tensor reshapeOwn(const Tensor &tensor, llvm::ArrayRef<Size> own,
                    Range place);
  Tensor concat(llvm::ArrayRef<Tensor> tensors, unsigned ownAxis, Range place);
  Tensor stack(llvm::ArrayRef<Tensor> tensors, unsigned ownAxis, Range place);
  Tensor slice(const Tensor &tensor, unsigned ownAxis, const Size &start,
               const Size &size, int64_t step, Range place);
  Tensor permuteOwn(const Tensor &tensor, llvm::ArrayRef<int64_t> permutation,
                    Range place);
  /// The common shape of shapes aligned at the right, in which a fixed 1
  /// stretches; nothing after an error (`report` was called). Equalities that
  /// depend on the run are recorded with `message`.
  std::optional<Shape>
  broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<Size>> shapes, Range place,
                  const llvm::Twine &message,
                  llvm::function_ref<void()> report);

  /// How an item shows in messages: `[B, T, 6]`, `a tuple of 2 values`, `the
  /// number 3`.
  std::string describe(const Item &item) const;
  std::string describe(llvm::ArrayRef<Size> shape) const;

  //===--- Check*.cpp --------------------------------------------------===//

  /// Evaluates the body of a func, cell or attention under bindings of its
  /// inputs; see CheckBody.h. Used by callAttention: `inputs` are the items for
  /// the declared inputs, in order, already views with own dimensions as
  /// declared (for an attention: ArgumentNodes over T and S); settings are
  /// items too. Gives the results.
  std::optional<std::vector<Item>>
  evaluateBody(const Declaration &declaration, Package::File &file,
               llvm::ArrayRef<Item> inputs,
               llvm::ArrayRef<std::pair<std::string, Size>> dimensions,
               AttentionContext *attention, Graph &graph, Range callSite);

  struct DimensionBinding {
    Size size;
    Range from;            // the argument that fixed it
    std::string fromInput; // its input's name; empty: `NAME=number`
  };
  using DimensionMap = std::map<std::string, DimensionBinding>;

  /// The arguments of a call, sorted out.
  struct BoundCall {
    /// One for each declared input, in order: a tensor as it was given, with
    /// the caller's lead and of the declared element type (a number became a
    /// scalar tensor), or a setting.
    std::vector<Item> inputs;
    /// Of each tensor input, how many of its own dimensions are extra: they
    /// stand in front of those that are declared. (A scalar for any shape has
    /// none.)
    std::vector<unsigned> extraRanks;
    /// Found by the rules for dimensions, clashes reported.
    DimensionMap dimensions;
    /// Arguments whose name is in `optionNames`.
    std::vector<EvaluatedArgument> options;
  };
  /// Nothing after an error. `given`: dimensions and settings given before
  /// (those of an instance).
  std::optional<BoundCall>
  bindCall(const Declaration &declaration, Package::File &file,
           llvm::ArrayRef<EvaluatedArgument> arguments,
           llvm::ArrayRef<llvm::StringRef> optionNames, Identifier callee,
           Range range, llvm::ArrayRef<EvaluatedArgument> given = {});
  /// The shape that a declaration's input or result has under a bound call.
  /// `replaced` come before the call's dimensions (T and S of an attention).
  std::optional<Shape>
  declaredShape(const Declaration &declaration, Package::File &file,
                const TypeSyntax &type, const BoundCall &call,
                llvm::ArrayRef<std::pair<std::string, Size>> replaced = {});
  /// A given tensor as the callee sees it: its lead is the caller's lead, then
  /// its extras, with 1s between so that there are `fullExtraRank` of them
  /// (none where it has neither); its own shape becomes `own` (a 1 stretches, a
  /// scalar fits).
  Tensor enterCallee(const Tensor &given, unsigned extraRank,
                     unsigned fullExtraRank, llvm::ArrayRef<Size> own,
                     Range place);
  /// A callee's result in the caller: broadcast to the extras, which become own
  /// dimensions in front.
  Tensor leaveCallee(const Tensor &result, llvm::ArrayRef<Size> extras,
                     Range place);

  struct Implementation;
  Implementation &implementation() { return *impl; }

private:
  friend struct Implementation;
  void append(std::unique_ptr<Node> node, Range place);

  Package &package;
  EntryOptions options;
  std::unique_ptr<Program> programStorage;
  std::vector<AttentionContext *> attentionStack;
  std::unique_ptr<Implementation> impl;
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECKER_H
