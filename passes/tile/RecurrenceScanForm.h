// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RecurrenceScanForm.h - Recurrences linear in their states *- C++ -*-===//
//
// Which recurrences are linear in their states, element by element, and what
// of their step then stands before, in and behind the scan of a block of steps.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_TILE_RECURRENCESCANFORM_H
#define PASSES_TILE_RECURRENCESCANFORM_H

#include "dialect/GatefoldOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <optional>
#include <string>

namespace gatefold {

/// How a value of a step depends on the states.
struct StateTerm {
  enum class Kind {
    /// Not at all.
    Known,
    /// On states that are resolved: what they are at each step is known
    /// without those that are not.
    Resolved,
    /// a * s + b of one state s, element by element, where a and b are neither.
    Linear,
    /// In another way: `obstacle` is the operation at fault.
    Other
  };
  Kind kind = Kind::Known;
  /// Of the last three: a state, and for Other what the operation makes of it.
  unsigned state = 0;
  mlir::Operation *obstacle = nullptr;
  std::string text;
};

/// The tensors that an operation of a step reads: not the destinations that it
/// only overwrites.
llvm::SmallVector<mlir::Value> getReadOperands(mlir::Operation *op);

/// The step of a recurrence as a scan.
///
/// States are resolved one after another: a state whose next value is linear in
/// itself, with factors that may hold states resolved before.
class ScanForm {
public:
  explicit ScanForm(RecurrenceOp op);

  /// Whether each next state is linear in the state.
  bool isLinear() const { return linear; }
  /// Whether the step can also be computed as a scan; else why not, `the next
  /// "h" holds tanh of "h"`, and where.
  bool isScan() const { return reason.empty(); }
  llvm::StringRef getReason() const { return reason; }
  mlir::Location getPlace() const { return *place; }

  /// Whether a value of the step depends on a state.
  bool isOfState(mlir::Value value) const { return terms.contains(value); }

  /// Operations that are computed for a block of steps at once, in order:
  /// before the states, and from the states of all its steps.
  llvm::ArrayRef<mlir::Operation *> getBefore() const { return before; }
  llvm::ArrayRef<mlir::Operation *> getBehind() const { return behind; }

  /// States that are scanned together, since some need others.
  struct Group {
    llvm::SmallVector<unsigned> states;
    /// The operations from the states to their next values, in order.
    llvm::SmallVector<mlir::Operation *> operations;
  };
  llvm::ArrayRef<Group> getGroups() const { return groups; }

  /// A value of the states: of which one, and before or behind the step. None
  /// for others.
  struct StateValue {
    unsigned state;
    bool isNext;
  };
  std::optional<StateValue> findStateValue(mlir::Value value) const;
  /// The values of states that operations behind the scan read.
  llvm::ArrayRef<mlir::Value> getStatesRead() const {
    return statesRead.getArrayRef();
  }

private:
  using Kind = StateTerm::Kind;

  std::string nameOf(unsigned state) const;
  StateTerm termOf(mlir::Value value) const;
  StateTerm other(mlir::Operation *op, unsigned state, std::string text) const;
  void computeTerms();
  void addTerms(mlir::Operation *op);
  void addLinalgTerms(mlir::linalg::LinalgOp op, const StateTerm &state);
  void setTerms(mlir::Operation *op, const StateTerm &term);
  void setMixed(mlir::Operation *op, const StateTerm &term,
                const std::string &text);
  StateTerm combine(mlir::Operation *op,
                    llvm::ArrayRef<StateTerm> operands) const;
  bool resolveStates();
  bool refuse(mlir::Operation *op, const llvm::Twine &why);
  bool refuseSteps(mlir::Operation *op);
  bool findKnown();
  bool formGroups();
  bool placeOutputs();
  bool addBefore(mlir::Value value);
  bool isSmall();

  RecurrenceOp op;
  mlir::Block &body;
  unsigned leadRank;
  bool linear = false;
  std::string reason;
  std::optional<mlir::Location> place;
  llvm::SmallVector<bool> resolved;
  /// Of each value that depends on a state.
  llvm::DenseMap<mlir::Value, StateTerm> terms;
  /// Operations on resolved states that are not element by element, and what
  /// they take.
  llvm::DenseMap<mlir::Operation *, std::string> mixed;
  /// What is known for all steps at once: before the states, and behind them.
  llvm::DenseSet<mlir::Value> known, knownBehind;
  llvm::SetVector<mlir::Operation *> needed;
  llvm::SmallVector<mlir::Operation *> before, behind;
  llvm::SmallVector<Group> groups;
  llvm::SetVector<mlir::Value> statesRead;
};

} // namespace gatefold

#endif // PASSES_TILE_RECURRENCESCANFORM_H
