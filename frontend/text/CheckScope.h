// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckScope.h - What a body under evaluation knows --------*- C++ -*-===//
//
// For the Check*.cpp files only: names, dimensions and states of a use of a
// declaration, and what is known of the declaration itself.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_CHECKSCOPE_H
#define FRONTEND_TEXT_CHECKSCOPE_H

#include "frontend/text/Checker.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <set>

namespace gatefold::text {

/// A name of a body's scope.
struct Binding {
  enum class Kind {
    Input,
    Setting,
    Dimension,
    Parameter,
    Instance,
    State,
    Local,
    Counter
  };
  Kind kind = Kind::Local;
  Range declared;
  Item item;
  Instance *instance = nullptr;
  /// What a local number was assigned from: a message about it says so.
  const Expression *source = nullptr;
};
/// "an input", "a dimension", ..
llvm::StringRef spelling(Binding::Kind kind);

/// A state of a cell or model in one evaluation.
struct StateSlot {
  const StateSyntax *syntax = nullptr;
  TensorType type; // own shape
  Item initial;    // declared: a number, a boolean or a tensor under the body's
                   // lead
  Item current;
  std::optional<Item> next;
  Range nextRange;     // where it was given
  bool failed = false; // wrong, as was reported
};

/// What is known of a declaration from its text alone.
struct DeclarationFacts {
  /// Its dimensions, in order of their first occurrence: inputs, states,
  /// parameters, results.
  std::vector<llvm::StringRef> dimensions;
  /// Those that occur in no input, state or parameter.
  std::set<llvm::StringRef> resultOnly;
  std::vector<const StateSyntax *> states;
  bool hasParameters = false;
  /// False: its head is wrong (reported), so it is not evaluated.
  bool valid = true;
  bool isDimension(llvm::StringRef name) const {
    return dimensionNames.contains(name);
  }
  /// The first one of that name, or null.
  const InputSyntax *input(llvm::StringRef name) const {
    return inputs.lookup(name);
  }
  /// The name as it stands in the text, which outlives whatever it was looked
  /// up by.
  llvm::StringRef nameOf(llvm::StringRef dimension) const {
    return *dimensionNames.find(dimension);
  }
  void addDimension(llvm::StringRef name) {
    if (dimensionNames.insert(name).second)
      dimensions.push_back(name);
  }
  const Declaration *declaration = nullptr;
  // What the names above are found by, since a text may have many.
  llvm::DenseMap<llvm::StringRef, const InputSyntax *> inputs;
  llvm::DenseSet<llvm::StringRef> dimensionNames;
};

/// One use of a declaration under evaluation.
struct Body {
  Body(const Declaration &declaration, const DeclarationFacts &facts,
       Package::File &file)
      : declaration(declaration), facts(facts), file(file) {}

  const Declaration &declaration;
  const DeclarationFacts &facts;
  Package::File &file;
  Instance *instance =
      nullptr; // owns the parameters; null where there are none
  /// Where the declaration is used, and the name to write a dimension at.
  Range use;
  std::map<std::string, Binding, std::less<>> names;
  /// Names in the order in which statements made them, so that those of a
  /// loop's turn are found without looking at all.
  std::vector<std::string> madeNames;
  Checker::DimensionMap dimensions;
  std::vector<StateSlot> states; // added to by addState
  llvm::DenseMap<llvm::StringRef, size_t> stateNumbers;
  std::vector<int64_t> counters; // of the `for` around, outermost first
  /// An entry's dimension that nothing gives becomes a symbol when it is
  /// needed.
  bool isEntry = false;
  /// Only shapes and initial values of the states are wanted: what differs at
  /// each step is unknown.
  bool statesOnly = false;
  /// Dimensions that were reported as not known, or given by what was wrong.
  std::set<llvm::StringRef> unknownDimensions;
  /// Names that were reported as not defined, each at its first use.
  std::set<std::string> undefined;
  bool attentionBody = false;
  /// The states of a cell as its scan or step found them (else the body
  /// declares them itself).
  const std::vector<StateSlot> *givenStates = nullptr;
  std::optional<Item> returned;

  Binding *find(llvm::StringRef name) {
    auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  }
  StateSlot *state(llvm::StringRef name) {
    auto found = stateNumbers.find(name);
    return found == stateNumbers.end() ? nullptr : &states[found->second];
  }
  void addState(StateSlot slot) {
    stateNumbers.try_emplace(slot.syntax->name.name, states.size());
    states.push_back(std::move(slot));
  }
};

/// A tensor (or number) that is given for an input or a state of a declaration.
struct GivenTensor {
  llvm::StringRef name; // of the input or state
  const TypeSyntax *type = nullptr;
  Range declared;
  Item item; // an Erroneous one is skipped
  /// Its own dimensions that stand for the declared ones: extras and time left
  /// out. Empty for a scalar that fits any shape.
  llvm::SmallVector<Size, 4> shape;
  bool scalar = false;
  bool isResult = false;
};

/// The options of `scan` and `step`, evaluated.
struct RecurrenceCall {
  Instance *instance = nullptr;
  Range range;                 // of the whole call
  bool single = false;         // `step`
  std::vector<Item> sequences; // or, of a step, the inputs
  std::vector<Item> with;
  std::optional<Item> initial, lengths, resets, steps;
  bool reverse = false;
  std::optional<std::string> until;
  Range untilRange;
};

/// What the checks of a file's declarations have in common.
struct FileChecks {
  std::map<const Declaration *, DeclarationFacts> facts;
  /// Declarations whose evaluation failed: used again they are silent.
  std::set<const Declaration *> failed;
  uint64_t work = 0; // see maximumWork
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECKSCOPE_H
