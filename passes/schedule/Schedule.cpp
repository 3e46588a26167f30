// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Schedule.cpp - What the user chooses -------------------------------===//
//
// Reads KEY=VALUE[,KEY=VALUE...], and knows the keys and their values.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Schedule.h"
#include "dialect/GatefoldOps.h"
#include "passes/schedule/CostModel.h"
#include "passes/support/Algorithms.h"
#include "passes/support/Entry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gatefold;

/// Not of one operation, so of no kind: what phase fuse makes of several.
static constexpr StringLiteral directionsKey = "recurrence.directions";
static constexpr StringLiteral directions[] = {"joined", "apart"};
/// Of products, most of which come to be in phase tile.
static constexpr StringLiteral panelWidthKey = "product.panel_width";

std::string ScheduledKind::getKey(StringRef part) const {
  return (name + "." + part).str();
}

ArrayRef<ScheduledKind> gatefold::getScheduledKinds() {
  static constexpr StringLiteral recurrences[] = {
      naiveAlgorithm, stepsAlgorithm, scanAlgorithm};
  static constexpr StringLiteral attentions[] = {
      naiveAlgorithm, residentAlgorithm, onlineAlgorithm, registersAlgorithm};
  static constexpr StringLiteral steps[] = {stepsAlgorithm, scanAlgorithm};
  static constexpr StringLiteral blocks[] = {residentAlgorithm, onlineAlgorithm,
                                             registersAlgorithm};
  static constexpr StringLiteral online[] = {onlineAlgorithm,
                                             registersAlgorithm};
  static constexpr ScheduledSize recurrenceSizes[] = {
      {"step_rows", stepRowsName, "rows", 1 << 20, steps}};
  static constexpr ScheduledSize attentionSizes[] = {
      {"query_block", queryBlockName, "queries", 1 << 16, blocks},
      {"key_block", keyBlockName, "keys", 1 << 20, online}};
  static constexpr ScheduledKind kinds[] = {
      {"recurrence", recurrences, recurrenceSizes},
      {"attention", attentions, attentionSizes}};
  return kinds;
}

const ScheduledKind *gatefold::findScheduledKind(Operation *op) {
  if (isa<RecurrenceOp>(op))
    return &getScheduledKinds()[0];
  return isa<AttentionOp>(op) ? &getScheduledKinds()[1] : nullptr;
}

/// `a`, `a or b`, `a, b or c`.
static std::string describeAlgorithms(ArrayRef<StringLiteral> names) {
  std::string text = llvm::join(names.drop_back(), ", ");
  return text + (text.empty() ? "" : " or ") + names.back().str();
}

static std::string describeValues(const ScheduledSize &size) {
  return "a number from 1 to " + std::to_string(size.most);
}

/// Every key with its values.
static std::string describeKeys() {
  SmallVector<std::string> keys;
  for (const ScheduledKind &kind : getScheduledKinds()) {
    keys.push_back(kind.getKey("algorithm") + "=" +
                   llvm::join(kind.algorithms, "|"));
    for (const ScheduledSize &size : kind.sizes)
      keys.push_back(kind.getKey(size.key) + "=1..." +
                     std::to_string(size.most));
  }
  keys.push_back(
      (directionsKey + "=" + llvm::join(ArrayRef(directions), "|")).str());
  keys.push_back(
      (panelWidthKey + "=0..." + std::to_string(mostPanelWidth)).str());
  return "there are " + llvm::join(keys, ", ");
}

StringRef gatefold::findAlgorithmOf(const ScheduledKind &kind,
                                    const Schedule::Choice &choice,
                                    StringRef preferred) {
  auto hasAll = [&](StringRef algorithm) {
    for (auto [index, size] : llvm::enumerate(kind.sizes))
      if (choice.sizes[index] && !size.isOf(algorithm))
        return false;
    return true;
  };
  if (hasAll(preferred))
    return preferred;
  return *llvm::find_if(kind.algorithms.drop_front(), hasAll);
}

static bool parseDirections(StringRef value, Schedule &schedule,
                            ScheduleFault &fault) {
  if (schedule.joinsDirections)
    fault = {("`" + directionsKey + "` is given twice").str(), ""};
  else if (!llvm::is_contained(directions, value))
    fault = {("`" + directionsKey + "` is " +
              llvm::join(ArrayRef(directions), " or ") + ", found `" + value +
              "`")
                 .str(),
             ""};
  else
    schedule.joinsDirections = value == directions[0];
  return fault.message.empty();
}

static bool parsePanelWidth(StringRef value, Schedule &schedule,
                            ScheduleFault &fault) {
  int64_t number = 0;
  if (schedule.panelWidth)
    fault = {("`" + panelWidthKey + "` is given twice").str(), ""};
  else if (value.getAsInteger(10, number) || number < 0 ||
           number > mostPanelWidth)
    fault = {("`" + panelWidthKey + "` is a number from 0 to " +
              std::to_string(mostPanelWidth) + ", found `" + value + "`")
                 .str(),
             ""};
  else
    schedule.panelWidth = number;
  return fault.message.empty();
}

/// Writes one KEY=VALUE into a schedule.
static bool parseEntry(StringRef entry, Schedule &schedule,
                       ScheduleFault &fault) {
  StringRef key, value;
  std::tie(key, value) = entry.split('=');
  if (key == directionsKey)
    return parseDirections(value, schedule, fault);
  if (key == panelWidthKey)
    return parsePanelWidth(value, schedule, fault);
  auto refuse = [&](const std::string &what) {
    fault = {("`" + key + "` is " + what).str(), ""};
    return false;
  };
  auto refuseValue = [&](const std::string &expected) {
    return refuse((expected + ", found `" + value + "`").str());
  };
  for (auto [kind, choice] :
       llvm::zip_equal(getScheduledKinds(), schedule.choices)) {
    if (key == kind.getKey("algorithm")) {
      if (choice.algorithm)
        return refuse("given twice");
      if (!llvm::is_contained(kind.algorithms, value))
        return refuseValue(describeAlgorithms(kind.algorithms));
      choice.algorithm = value.str();
      return true;
    }
    for (auto [index, size] : llvm::enumerate(kind.sizes)) {
      if (key != kind.getKey(size.key))
        continue;
      if (choice.sizes[index])
        return refuse("given twice");
      int64_t number = 0;
      if (value.getAsInteger(10, number) || number < 1 || number > size.most)
        return refuseValue(describeValues(size));
      choice.sizes[index] = number;
      return true;
    }
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
    for (auto [index, size] : llvm::enumerate(kind.sizes))
      if (choice.sizes[index] && choice.algorithm &&
          !size.isOf(*choice.algorithm)) {
        std::string names;
        for (StringRef name : size.algorithms)
          names += (names.empty()                    ? "`"
                    : name == size.algorithms.back() ? " and `"
                                                     : ", `") +
                   name.str() + "`";
        fault = {"`" + kind.getKey(size.key) + "` is of the algorithm" +
                     (size.algorithms.size() > 1 ? "s " : " ") + names +
                     ", and `" + kind.getKey("algorithm") + "` is `" +
                     *choice.algorithm + "`",
                 "leave one of the two out"};
        return std::nullopt;
      }
  return schedule;
}
