// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckBody.h - Bodies under evaluation --------------------*- C++ -*-===//
//
// For the Check*.cpp files only: the evaluation of declarations, statements,
// calls and recurrences.
//
// A use of a declaration makes a Body, binds dimensions and settings in it
// (CheckDimensions.cpp), brings the tensors under the body's lead
// (CheckLead.cpp), and evaluates its statements in order (CheckStatement.cpp)
// into the present graph.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_CHECKBODY_H
#define FRONTEND_TEXT_CHECKBODY_H

#include "frontend/text/CheckScope.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

namespace gatefold::text {

struct Checker::Implementation {
  explicit Implementation(Checker &checker)
      : checker(checker), common(std::make_shared<FileChecks>()) {}

  Checker &checker;
  std::shared_ptr<FileChecks> common; // of one entry alone, or of a whole file
  Graph *graph = nullptr;
  Body *body = nullptr; // the innermost under evaluation
  std::shared_ptr<const Trace> caller;
  struct Call {
    const Declaration *declaration;
    Range site;
    std::shared_ptr<const Trace> caller;
    size_t diagnosticsBefore;
  };
  std::vector<Call> calls;
  std::set<size_t>
      complete; // diagnostics that need no notes of the calls around
  /// The declaration that is checked or compiled: what it needs is given by
  /// --dim and --arg.
  const Declaration *entryDeclaration = nullptr;

  // Limits.
  static constexpr unsigned maximumCalls = 200;
  static constexpr unsigned maximumDepth = 2000;
  /// Of a program with all calls expanded, its inputs and parameters counted:
  /// three times what a bidirectional LSTM of 100 layers has.
  static constexpr uint64_t maximumNodes = 20'000;
  /// Expressions and nodes of all declarations of a file together.
  static constexpr uint64_t maximumWork = 3'000'000;
  static constexpr uint64_t callWork = 250; // what a call costs beside its body
  /// Bytes of names and strings, and terms of a shape, that cost as much as one
  /// expression.
  static constexpr uint64_t bytesOfWork = 100, termsOfWork = 2;
  static constexpr uint64_t maximumTupleItems = 10'000;
  static constexpr unsigned maximumTupleNesting = 64;
  static constexpr int64_t maximumCount = 10'000;
  /// Elements of one tensor.
  static constexpr int64_t maximumElements = int64_t(1) << 48;
  static constexpr size_t maximumRank = 64;
  /// Of a program; each is a part of its interface.
  static constexpr size_t maximumInputs = 1000, maximumResults = 1000;
  unsigned depth = 0;
  uint64_t nodes = 0;
  bool exhausted = false; // a limit was reached and reported: all stays silent

  // What is shared by all bodies of a program.
  std::vector<Value> parameterNodes; // by number of the parameter
  std::vector<Range> parameterUses;  // where each got its shape
  std::map<std::string, unsigned> parameterNumbers; // by checkpoint name
  std::set<const Symbol *> unknownSymbols;
  std::set<const Symbol *> reportedOpen; // each is asked for once
  std::set<std::string> missing;         // as options: `--dim H=...`
  std::vector<std::string> missingOrder;
  /// What an argument of a body is a part of, or begins with; for
  /// requireValues.
  std::map<const Node *, Value> argumentSources;
  std::set<std::string> equalityKeys;

  //===--- Check.cpp ------------------------------------------------------===//

  Diagnostic &error(Range range, const llvm::Twine &message) {
    return checker.diagnostics.error(range, message);
  }
  /// Counts work and depth; false (reported once) where a limit is reached.
  bool spend(Range place);
  /// Counts the work of copying an item, and checks its rank.
  void checkItem(Item &item, Range place);
  void exhaust(Range place, const llvm::Twine &message, llvm::StringRef hint);
  void note(llvm::StringRef option); // something must be given: `--dim H=...`
  /// Reports (or lists, see allowUnknown) what must be given so that `size`
  /// is fixed.
  void needFixed(const Size &size, Range place, const llvm::Twine &what);
  const Symbol *newSymbol(llvm::StringRef name);
  const Symbol *newUnknown(llvm::StringRef name);
  Item numberItem(int64_t value, Range range) const;
  Item sizeItem(const Size &size, Range range) const;
  /// `[T=3, H]`: a declared shape with what it came to.
  std::string describeDeclared(const TypeSyntax &type,
                               llvm::ArrayRef<Size> shape) const;
  llvm::StringRef textOf(Range range) const {
    return checker.diagnostics.getSources().text(range);
  }
  static std::string textOf(const Number &number);

  //===--- CheckDeclaration.cpp -------------------------------------------===//

  /// Facts of a declaration; its head is checked at the first time.
  const DeclarationFacts &factsOf(const Declaration &declaration);
  /// An unknown setting: a number that is not known, or Erroneous where the
  /// text uses it as something else.
  Item unknownSetting(const Declaration &declaration, Package::File &file,
                      const InputSyntax &input);

  //===--- CheckShapes.cpp ------------------------------------------------===//

  std::optional<Shape> shapeOf(Body &body, const TypeSyntax &type);
  std::optional<Size> dimensionOf(Body &body, const Expression &expression);
  /// A number as a dimension; `scope` and `expression` explain one that is
  /// none.
  std::optional<Size> dimensionFrom(const Item &item, Body *scope,
                                    const Expression *expression);
  TensorType typeOf(const TypeSyntax &type, Shape shape) const;
  Element elementOf(const TypeSyntax &type) const {
    return type.element.value_or(checker.floatType());
  }
  /// "D = M / heads, M=6, heads=4"
  std::string explain(Body &body, const Expression &expression);
  /// The value of a dimension; reported where it is not known.
  Item dimensionItem(Body &body, llvm::StringRef name, Range place);
  /// Names of an expression that are not known yet; defaults of settings (those
  /// declared before `before`) are evaluated where they can be.
  llvm::SmallVector<llvm::StringRef, 2>
  unknownNames(Body &body, const Expression &expression,
               const InputSyntax *before = nullptr);
  /// Gives each setting that has no value its default; reports required ones.
  bool bindDefaults(Body &body);
  bool bindDefault(Body &body, const InputSyntax &input);

  //===--- CheckDimensions.cpp --------------------------------------------===//

  /// Binds `NAME=number` and settings of an instance or call; reports names
  /// that the declaration does not have.
  bool bindGiven(Body &body, const EvaluatedArgument &argument,
                 llvm::StringRef what);
  void bindDimension(Body &body, llvm::StringRef name, const Size &size,
                     Range from, llvm::StringRef input);
  /// Dimensions from tensors, clashes reported, then the defaults of settings.
  bool bindShapes(Body &body, llvm::ArrayRef<GivenTensor> given);
  /// Dimensions that occur in results only, from what is returned.
  void bindResult(Body &body, const TypeSyntax &type,
                  llvm::ArrayRef<Size> shape, Range from);
  enum class Solved { Done, Pending, Failed };
  /// One dimension of a tensor against what is declared for it.
  Solved matchDimension(Body &body, const Expression &declared,
                        const Size &given, const GivenTensor &tensor);
  /// Makes `expression` equal to `target` by its one unknown name.
  Solved solve(Body &body, const Expression &expression, Size target,
               const GivenTensor &tensor);

  //===--- CheckArguments.cpp ---------------------------------------------===//

  struct Matched {
    std::vector<std::optional<EvaluatedArgument>> inputs;
    std::vector<EvaluatedArgument> options, dimensions;
  };
  /// Sorts arguments by the inputs of a declaration. `settingsGiven`: positions
  /// go over the tensors alone (a call of an instance).
  std::optional<Matched>
  matchArguments(const DeclarationFacts &facts,
                 llvm::ArrayRef<EvaluatedArgument> arguments,
                 llvm::ArrayRef<llvm::StringRef> optionNames,
                 bool settingsGiven, Identifier callee, Range range);
  /// An item as a tensor of a declared element type; nothing after an error.
  std::optional<Tensor> asTensor(const Item &item, Element element,
                                 const llvm::Twine &what);
  /// Makes a body for a use, with everything bound but the tensors.
  std::unique_ptr<Body>
  bind(const Declaration &declaration, Package::File &file,
       llvm::ArrayRef<EvaluatedArgument> given, const Matched &matched,
       Instance *instance, Identifier callee, Range range,
       std::vector<Item> &inputs, std::vector<unsigned> &extraRanks);
  bool givenTensor(GivenTensor &given, unsigned &extraRank, Tensor &tensor,
                   unsigned timeRank);

  //===--- CheckBody.cpp --------------------------------------------------===//

  /// Runs the statements of a body whose inputs are bound. Gives the returned
  /// items, each of the declared type under the body's lead; nothing after an
  /// error.
  std::optional<std::vector<Item>> run(Body &body);
  std::optional<std::vector<Item>> checkResults(Body &body, const Item &value);
  /// Keeps the calls around; false where the declaration calls itself or calls
  /// nest too deep.
  bool enter(const Declaration &declaration, Range site);
  void leave();

  //===--- CheckLead.cpp --------------------------------------------------===//

  /// The extra dimensions of the given tensors, broadcast together.
  std::optional<Shape> commonExtras(llvm::ArrayRef<Tensor> tensors,
                                    llvm::ArrayRef<unsigned> extraRanks,
                                    llvm::StringRef callee, Range range);
  std::optional<Shape> commonShape(llvm::ArrayRef<llvm::ArrayRef<Size>> shapes,
                                   llvm::StringRef callee, Range range);

  //===--- CheckStatement.cpp ---------------------------------------------===//

  void runStatements(Body &body, llvm::ArrayRef<StatementPtr> statements,
                     bool inFor);
  void runFor(Body &body, const ForStatement &statement);
  void runAssign(Body &body, const AssignStatement &statement, bool inFor);
  void assign(Body &body, const Target &target, Item item,
              const Expression *source, bool inFor);
  void assignTuple(Body &body, llvm::ArrayRef<Target> targets, const Item &item,
                   bool inFor);
  /// A new name in the scope; false where it is taken (reported).
  bool declare(Body &body, Identifier name, Binding binding);
  void warnUnused(const Binding &binding);

  //===--- CheckState.cpp -------------------------------------------------===//

  void declareState(Body &body, const StateSyntax &syntax);
  void assignNext(Body &body, const Target &target, const Item &item,
                  bool inFor);
  /// An item as the value of a state; `what` begins the message.
  std::optional<Tensor> stateValue(Body &body, const StateSlot &slot,
                                   const Item &item, const llvm::Twine &what);
  /// The states of a cell: shapes and initial values, evaluated in the present
  /// graph, where the sequences are not known.
  std::optional<std::vector<StateSlot>> statesOf(const Body &body);
  /// A model's state is an input of the program.
  Item makeStateInput(const StateSlot &slot);

  //===--- CheckExpression.cpp --------------------------------------------===//

  Item evaluate(Body &body, const Expression &expression);
  Item evaluateKind(Body &body, const Expression &expression);
  Item evaluateName(Body &body, llvm::StringRef name, Range place);
  Item evaluateNext(Body &body, const NextExpression &expression);
  Item evaluateTuple(Body &body, const TupleExpression &expression);
  Item evaluateIndex(Body &body, const IndexExpression &expression);
  Item evaluateMember(Body &body, const MemberExpression &expression);
  /// The instance that a name, or a chain `a.b.c`, stands for.
  Instance *instanceOf(Body &body, const Expression &expression);
  std::optional<double> initialNumber(Body &body, const Expression &expression,
                                      Element element);

  //===--- CheckCall.cpp --------------------------------------------------===//

  /// Uses an instance, and notes with it whether that succeeded.
  Item useOf(Instance &instance, llvm::function_ref<Item()> use);

  struct Callee {
    enum class Kind { None, Ambiguous, Declaration, Function, Layer };
    Kind kind = Kind::None;
    const Declaration *declaration = nullptr;
    Package::File *file = nullptr;
  };
  /// Looks a name up among the declarations of a file, its imports, the
  /// built-in.
  Callee resolve(Identifier name, Package::File &file);
  /// Names that a call in a body may use, or those of what has parameters.
  std::vector<llvm::StringRef> callableNames(Body &body, bool instances);
  /// Hints the nearest of them, or what to import.
  void suggestCallable(Diagnostic &diagnostic, Body &body, llvm::StringRef name,
                       bool instances);
  Item evaluateCall(Body &body, const CallExpression &call);
  std::vector<EvaluatedArgument> evaluateArguments(Body &body,
                                                   llvm::ArrayRef<Argument> a);
  Item callDeclaration(Body &body, const Callee &callee,
                       const CallExpression &call);
  Item callInstance(Body &body, Instance &instance, const CallExpression &call);
  /// A func, with its instance where it has parameters.
  Item callFunc(const Declaration &declaration, Package::File &file,
                Instance *instance, llvm::ArrayRef<EvaluatedArgument> arguments,
                Identifier callee, Range range);
  Item callBound(const Declaration &declaration, Package::File &file,
                 Instance *instance, const Matched &matched, Identifier callee,
                 Range range);

  //===--- CheckInstance.cpp ----------------------------------------------===//

  void declareParameter(Body &body, const ParameterSyntax &syntax);
  void declareInstance(Body &body, const ParameterSyntax &syntax);
  void declareTensor(Body &body, const ParameterSyntax &syntax);
  /// Settings of an instance against what it is an instance of.
  void checkSettings(Instance &instance);
  std::optional<unsigned>
  makeParameter(Instance &instance, const std::string &key,
                const std::string &name, TensorType type,
                std::optional<double> initial, Range declared, Range use);
  Tensor parameterTensor(unsigned number);
  std::optional<unsigned> findParameter(Instance &instance,
                                        llvm::StringRef name);
  Instance *findInstance(Instance &instance, llvm::StringRef name);
  std::vector<llvm::StringRef> memberNames(Instance &instance);
  static std::string pathOf(Body &body, const ParameterSyntax &syntax);
  static std::string keyOf(Body &body, const ParameterSyntax &syntax);
  /// The parts of a cell with `layers=` or `bidirectional=`.
  Instance &layerOf(Instance &instance, int64_t layer, bool backward);

  //===--- CheckRecurrence.cpp, CheckScan.cpp -----------------------------===//

  Item evaluateRecurrence(Body &body, const CallExpression &call, bool single);
  Instance *cellArgument(Body &body, const CallExpression &call);
  bool scanOption(RecurrenceCall &call, llvm::StringRef name, const Item &item);
  bool splitInitial(const RecurrenceCall &call,
                    std::vector<std::vector<Item>> &parts);
  Item recurrence(RecurrenceCall &call);
  void append(std::unique_ptr<Node> node, Range place) {
    checker.append(std::move(node), place);
  }

  //===--- CheckEntryInputs.cpp -------------------------------------------===//

  /// A new input of the program.
  Tensor addInput(llvm::StringRef name, TensorType type, Range range);
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECKBODY_H
