// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedule.cpp - What the user chooses -------------------------------===//
//
// Reads KEY=VALUE[,KEY=VALUE...], and knows the keys and their values.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Schedule.h"
#include "dialect/GatefoldOps.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gatefold;

std::string ScheduledKind::getKey(StringRef part) const {
  return (name + "." + part).str();
}

ArrayRef<ScheduledKind> gatefold::getScheduledKinds() {
  static constexpr ScheduledKind kinds[] = {
      {"recurrence",
       {naiveAlgorithm, stepsAlgorithm},
       "step_rows",
       stepRowsName,
       1 << 20},
      {"attention",
       {naiveAlgorithm, residentAlgorithm},
       "query_block",
       queryBlockName,
       1 << 16},
  };
  return kinds;
}

const ScheduledKind *gatefold::findScheduledKind(Operation *op) {
  if (isa<RecurrenceOp>(op))
    return &getScheduledKinds()[0];
  return isa<AttentionOp>(op) ? &getScheduledKinds()[1] : nullptr;
}

static std::string describeAlgorithms(const ScheduledKind &kind) {
  return llvm::join(ArrayRef(kind.algorithms), " or ");
}

static std::string describeSizes(const ScheduledKind &kind) {
  return "a number from 1 to " + std::to_string(kind.mostSize);
}

/// Every key with its values.
static std::string describeKeys() {
  std::string text = "there are";
  for (const ScheduledKind &kind : getScheduledKinds())
    text += (text.back() == 'e' ? " " : ", ") + kind.getKey("algorithm") + "=" +
            llvm::join(ArrayRef(kind.algorithms), "|") + ", " +
            kind.getKey(kind.sizeKey) + "=1..." + std::to_string(kind.mostSize);
  return text;
}

/// Writes one KEY=VALUE into a schedule.
static bool parseEntry(StringRef entry, Schedule &schedule,
                       ScheduleFault &fault) {
  auto [key, value] = entry.split('=');
  for (auto [kind, choice] :
       llvm::zip_equal(getScheduledKinds(), schedule.choices)) {
    bool isSize = key == kind.getKey(kind.sizeKey);
    if (!isSize && key != kind.getKey("algorithm"))
      continue;
    if (isSize ? choice.size.has_value() : choice.algorithm.has_value()) {
      fault = {("`" + key + "` is given twice").str(), ""};
      return false;
    }
    int64_t size = 0;
    if (isSize &&
        (value.getAsInteger(10, size) || size < 1 || size > kind.mostSize)) {
      fault = {("`" + key + "` is " + describeSizes(kind) + ", found `" +
                value + "`")
                   .str(),
               ""};
      return false;
    }
    if (!isSize && !llvm::is_contained(kind.algorithms, value)) {
      fault = {("`" + key + "` is " + describeAlgorithms(kind) + ", found `" +
                value + "`")
                   .str(),
               ""};
      return false;
    }
    if (isSize)
      choice.size = size;
    else
      choice.algorithm = value.str();
    return true;
  }
  fault = {("no choice is named `" + key + "`").str(), describeKeys()};
  if (!entry.contains('='))
    fault.message = ("expected KEY=VALUE, found `" + entry + "`").str();
  return false;
}

std::optional<Schedule> gatefold::parseSchedule(StringRef text,
                                                ScheduleFault &fault) {
  Schedule schedule;
  if (text.empty())
    return schedule;
  for (StringRef entry : llvm::split(text, ','))
    if (!parseEntry(entry, schedule, fault)) {
      if (fault.hint.empty())
        fault.hint = describeKeys();
      return std::nullopt;
    }
  for (auto [kind, choice] :
       llvm::zip_equal(getScheduledKinds(), schedule.choices))
    if (choice.size && choice.algorithm == naiveAlgorithm.str()) {
      fault = {"`" + kind.getKey(kind.sizeKey) + "` is of the algorithm `" +
                   kind.algorithms[1].str() + "`, and `" +
                   kind.getKey("algorithm") + "` is `naive`",
               "leave one of the two out"};
      return std::nullopt;
    }
  return schedule;
}
