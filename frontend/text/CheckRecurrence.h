// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CheckRecurrence.h - Scans and steps of a cell ------------*- C++ -*-===//

#ifndef FRONTEND_TEXT_CHECKRECURRENCE_H
#define FRONTEND_TEXT_CHECKRECURRENCE_H

#include "frontend/text/CheckBody.h"

namespace gatefold::text {

/// One layer in one direction. Tensors outside are under the lead of the
/// caller, their own shape is [extras.., (T), declared..].
class CellPass {
public:
  using Implementation = Checker::Implementation;

  CellPass(Implementation &checks, const RecurrenceCall &call,
           Instance &instance, std::vector<Item> sequences, bool backward)
      : checks(checks), checker(checks.checker), call(call), instance(instance),
        declaration(*instance.declaration), facts(checks.factsOf(declaration)),
        sequences(std::move(sequences)), backward(backward) {}

  /// The states before the first step, one item each; without, as declared.
  std::optional<std::vector<Item>> initial;
  /// A further layer: what only the input has is found anew.
  bool isFurtherLayer = false;

  /// False after an error.
  bool run();

  std::vector<Item> outputs, states;

private:
  struct Input {
    Tensor tensor;
    unsigned extraRank = 0;
    bool isSequence = false;
    const InputSyntax *syntax = nullptr; // null: a state's initial value
  };

  bool bindInputs(Body &body);
  bool findTime();
  bool findLead();
  bool bindLengths();
  bool bindResets();
  bool startStates(Body &body);
  bool runStep(Body &body);
  bool runScan(Body &body);
  bool findUntil(std::optional<unsigned> &until);
  /// Under the whole lead.
  Tensor full(const Tensor &tensor, llvm::ArrayRef<Size> own) {
    return checker.broadcast(tensor, lead, own, call.range);
  }

  Implementation &checks;
  Checker &checker;
  const RecurrenceCall &call;
  Instance &instance;
  const Declaration &declaration;
  const DeclarationFacts &facts;
  std::vector<Item> sequences;
  bool backward;

  std::vector<Input> inputs;        // as the declaration has them
  std::vector<Input> initialInputs; // of each state, where `initial` is given
  std::optional<Input> lengths, resets;
  std::optional<Size> time;
  Shape extras, lead; // lead: of the caller, then the extras
  std::vector<StateSlot> slots;
  std::vector<Tensor> starts, declaredStarts; // under the whole lead
};

} // namespace gatefold::text

#endif // FRONTEND_TEXT_CHECKRECURRENCE_H
