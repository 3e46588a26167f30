// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedule.h - What the user chooses -----------------------*- C++ -*-===//
//
// The names of what the cost model chooses, and choices that a user makes in
// its place: `KEY=VALUE[,KEY=VALUE...]`, as `--schedule` takes them.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SCHEDULE_SCHEDULE_H
#define PASSES_SCHEDULE_SCHEDULE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>
#include <string>

namespace gatefold {

/// A size that some algorithms have.
struct ScheduledSize {
  /// Part of a key after the dot, attribute, and largest value; the least is 1.
  llvm::StringLiteral key, attribute;
  /// What it is a number of: `queries`.
  llvm::StringLiteral counted;
  int64_t most;
  llvm::ArrayRef<llvm::StringLiteral> algorithms;

  bool isOf(llvm::StringRef algorithm) const {
    return llvm::is_contained(algorithms, algorithm);
  }
};

/// What can be chosen for one kind of operation.
struct ScheduledKind {
  /// `recurrence` or `attention`, the part of a key before the dot.
  llvm::StringLiteral name;
  /// The naive one first.
  llvm::ArrayRef<llvm::StringLiteral> algorithms;
  llvm::ArrayRef<ScheduledSize> sizes;

  /// `recurrence.step_rows`.
  std::string getKey(llvm::StringRef part) const;
};

llvm::ArrayRef<ScheduledKind> getScheduledKinds();
/// Null for an operation for which there is nothing to choose.
const ScheduledKind *findScheduledKind(mlir::Operation *op);

/// What a user chose; the cost model chooses the rest.
struct Schedule {
  struct Choice {
    std::optional<std::string> algorithm;
    /// In the order of the kind's sizes, of which none has more than these.
    std::optional<int64_t> sizes[2];
    bool isGiven() const { return algorithm || sizes[0] || sizes[1]; }
  };
  /// In the order of getScheduledKinds().
  Choice choices[2];
  /// Whether products that sequences of several recurrences come from become
  /// one: `recurrence.directions=joined|apart`, of phase fuse.
  std::optional<bool> joinsDirections;
  /// Of every product's panels, 0 for plain loops: `product.panel_width`, of
  /// phase tile.
  std::optional<int64_t> panelWidth;

  const Choice &of(const ScheduledKind &kind) const {
    return choices[&kind - getScheduledKinds().begin()];
  }
  /// Whether anything is chosen for a kind.
  bool isGivenFor(const ScheduledKind &kind) const {
    return of(kind).isGiven() ||
           (joinsDirections && &kind == getScheduledKinds().begin());
  }
};

/// `preferred`, or else the first algorithm, that has all the sizes that are
/// chosen.
llvm::StringRef findAlgorithmOf(const ScheduledKind &kind,
                                const Schedule::Choice &choice,
                                llvm::StringRef preferred);

/// Why a text is no schedule, and what it may say instead.
struct ScheduleFault {
  std::string message, hint;
};

/// Nothing, and the fault, where the text is no schedule. An empty one chooses
/// nothing.
std::optional<Schedule> parseSchedule(llvm::StringRef text,
                                      ScheduleFault &fault);

} // namespace gatefold

#endif // PASSES_SCHEDULE_SCHEDULE_H
