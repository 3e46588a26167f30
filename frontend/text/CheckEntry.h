// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckEntry.h - A declaration as the entry of a program ---*- C++ -*-===//

#ifndef FRONTEND_TEXT_CHECKENTRY_H
#define FRONTEND_TEXT_CHECKENTRY_H

#include "frontend/text/CheckBody.h"

namespace gatefold::text {

/// Makes the program of one declaration: its inputs, the use of the declaration
/// under them, its results.
class EntryBuilder {
public:
  using Implementation = Checker::Implementation;

  EntryBuilder(Implementation &checks, const EntryOptions &options,
               const Declaration &declaration, Package::File &file);
  /// False after an error.
  bool build();

private:
  struct Input {
    const InputSyntax *syntax;
    Item item;
  };

  //===--- CheckEntry.cpp: what is given, by kind of declaration ---------===//

  bool bindDimensions();
  bool bindArguments();
  std::optional<Item> parseArgument(llvm::StringRef name, llvm::StringRef text);
  bool buildModel();
  bool buildFunc();
  bool buildAttention();

  //===--- CheckEntryCell.cpp --------------------------------------------===//

  bool buildCell();
  bool startsFromFirstInput() const;
  bool takesSequence() const;
  bool findSteps(RecurrenceCall &call);
  std::optional<std::vector<StateSlot>> addStates(RecurrenceCall &call);

  //===--- CheckEntryInputs.cpp: inputs, results -------------------------===//

  /// Names the dimensions that the entry alone has, so that --dim may fix them.
  bool nameLead();
  Size openSize(llvm::StringRef name);
  /// The last ones of the leading dimensions, for a tensor input.
  Shape leadOf(const InputSyntax &input);
  Tensor addInput(llvm::StringRef name, TensorType type, Range range);
  bool addInputs(std::optional<Size> timeOfFirst);
  Item ownView(size_t number);
  bool addTensorOptions();
  bool keepCache(llvm::StringRef name, Value next);
  void addResult(llvm::StringRef name, const Item &item, Range range,
                 bool isState, bool keepsHalf = false);
  bool addResults(std::vector<Item> items);
  std::vector<Item> split(const Item &item, size_t count);
  /// Settings and fixed dimensions, as an instance of the entry would give
  /// them.
  std::vector<EvaluatedArgument> settings();
  bool mentions(const TypeSyntax &type, llvm::StringRef dimension) const;

  Implementation &checks;
  Checker &checker;
  const EntryOptions &options;
  const Declaration &declaration;
  const DeclarationFacts &facts;
  Package::File &file;
  Range place; // of the declaration's name
  Body scope;  // dimensions and settings
  Instance root;
  std::vector<Input> inputs;
  std::vector<EvaluatedArgument> callOptions; // of --arg, not settings
  std::vector<EvaluatedArgument> tensorOptions;
  Shape lead;
  std::vector<std::string> leadNames;
  std::optional<Size> time;             // of a cell's sequence
  std::optional<Size> keyHeads;         // with `gqa=true`, of what has the keys
  std::set<std::string> usedDimensions; // of --dim
  llvm::StringMap<Range> resultNames;   // where each result was declared
  std::deque<std::string> names;        // kept for references to them
};

/// Leaves out nodes on which no result depends.
void removeUnused(Program &program);
/// False (reported) where a tensor alone has more elements than may be counted.
bool checkTensorSizes(const Graph &graph, Diagnostics &diagnostics);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECKENTRY_H
