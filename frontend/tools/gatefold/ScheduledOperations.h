// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ScheduledOperations.h - Recurrences and attentions -------*- C++ -*-===//
//
// What a compilation says of each recurrence and attention, as `check` and
// `report` list them.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TOOLS_GATEFOLD_SCHEDULEDOPERATIONS_H
#define FRONTEND_TOOLS_GATEFOLD_SCHEDULEDOPERATIONS_H

#include "frontend/tools/gatefold/Compilation.h"

namespace gatefold::tool {

/// An operation, and what the passes said of it and of what is within it. It
/// points into the compilation.
struct ScheduledOperation {
  /// Null for what belongs to no recurrence or attention.
  const Compilation::Scheduled *scheduled = nullptr;
  /// Layers and directions of one call are many operations at one place.
  int64_t count = 1;
  std::vector<mlir::FileLineColLoc> places;
  std::vector<const PassRemark *> remarks;

  /// The naive one where what was chosen could not be done.
  std::string getAlgorithm() const;
  /// Why no better algorithm was taken.
  std::vector<const PassRemark *> getReasons() const;
  /// Of a recurrence, how often those that share a step wait for one another
  /// in it, as the pass that shares it out says: the least of its layers. 0
  /// where steps are not shared, or there are none.
  int64_t countBarriers() const;
};

/// The operations in the order of the program, then one that has the other
/// remarks.
std::vector<ScheduledOperation> findOperations(const Compilation &compilation);

/// FILE:LINE:COLUMN of the first place; empty where there is none.
std::string placeText(llvm::ArrayRef<mlir::FileLineColLoc> places);

/// `done`, `not done` or `note`.
llvm::StringRef kindText(PassRemark::Kind kind);

llvm::json::Array remarksJson(llvm::ArrayRef<const PassRemark *> remarks);

/// A scheduled operation, with some of its remarks.
llvm::json::Object operationJson(const ScheduledOperation &operation,
                                 llvm::ArrayRef<const PassRemark *> remarks);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_SCHEDULEDOPERATIONS_H
