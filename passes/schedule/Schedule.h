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
#include <optional>
#include <string>

namespace gatefold {

/// What can be chosen for one kind of operation.
struct ScheduledKind {
  /// `recurrence` or `attention`, the part of a key before the dot.
  llvm::StringLiteral name;
  /// The naive one first.
  llvm::StringLiteral algorithms[2];
  /// The size that the last of them has: part of a key after the dot,
  /// attribute, and largest value; the least is 1.
  llvm::StringLiteral sizeKey, sizeAttribute;
  int64_t mostSize;

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
    std::optional<int64_t> size;
    bool isGiven() const { return algorithm || size; }
  };
  /// In the order of getScheduledKinds().
  Choice choices[2];

  const Choice &of(const ScheduledKind &kind) const {
    return choices[&kind - getScheduledKinds().begin()];
  }
};

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
