// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EntryAlgorithms.cpp - How an entry will be computed ----------------===//

#include "frontend/tools/gatefold/EntryAlgorithms.h"
#include "frontend/tools/gatefold/Compilation.h"
#include "frontend/tools/gatefold/ScheduledOperations.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Entry.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

/// What one file may cost, in nodes of programs. A text may declare thousands
/// of cells, and `check` is to answer at once.
constexpr int64_t mostCost = 50'000;
/// What an entry costs beside its nodes.
constexpr int64_t entryCost = 500;

/// What a program holds, bodies included.
struct Contents {
  int64_t nodes = 0;
  /// Whether there is a recurrence or an attention.
  bool isScheduled = false;
  bool hasProducts = false, hasSums = false;

  explicit Contents(const text::Graph &graph) { add(graph); }

  /// Whether the phases may find an attention that is written out.
  bool mayBecomeScheduled() const { return hasProducts && hasSums; }

private:
  void add(const text::Graph &graph) {
    nodes += graph.nodes.size();
    for (const std::unique_ptr<text::Node> &node : graph.nodes) {
      using Kind = text::Node::Kind;
      hasProducts |= node->kind == Kind::Contract;
      hasSums |= node->kind == Kind::Softmax || node->kind == Kind::Reduce;
      if (auto *recurrence = dyn_cast<text::RecurrenceNode>(node.get())) {
        isScheduled = true;
        add(recurrence->body);
      } else if (auto *attention = dyn_cast<text::AttentionNode>(node.get())) {
        isScheduled = true;
        add(attention->body);
      }
    }
  }
};

/// `resident, blocks of 24 queries`.
std::string describe(const ScheduledOperation &operation) {
  std::string text = operation.getAlgorithm();
  if (text != naiveAlgorithm) {
    StringRef separator = ", blocks of ";
    for (const auto &[size, number] : operation.scheduled->sizes) {
      text += (separator + Twine(number) + " " + size->counted).str();
      separator = " and ";
    }
  }
  if (operation.count != 1)
    text += ", " + std::to_string(operation.count) + " of them";
  return text;
}

void printOperation(const ScheduledOperation &operation) {
  const std::string &what = operation.scheduled->what;
  outs() << "  " << what << "  " << placeText(operation.places) << "  "
         << describe(operation);
  for (const PassRemark *reason : operation.getReasons()) {
    StringRef words = reason->words;
    words.consume_front(what + ": ");
    outs() << "; " << words;
    std::vector<mlir::FileLineColLoc> places = findPlaces(reason->location);
    if (!places.empty() && places != operation.places)
      outs() << " at " << placeText(places);
  }
  outs() << "\n";
}

} // namespace

/// Says why no algorithms are listed.
void EntryAlgorithms::listReason(json::Object *entry, StringRef message,
                                 std::optional<text::Range> range) {
  std::optional<text::Position> position;
  if (range)
    position = sources.position(*range);
  if (!entry) {
    outs() << "  not scheduled  " << message;
    if (position)
      outs() << " at " << sources.name(range->file) << ":" << position->line
             << ":" << position->column;
    outs() << "\n";
    return;
  }
  json::Object reason{{"message", json::fixUTF8(message)}};
  if (position) {
    reason["file"] = json::fixUTF8(sources.name(range->file));
    reason["line"] = int64_t(position->line);
    reason["column"] = int64_t(position->column);
  }
  (*entry)["not_scheduled"] = std::move(reason);
}

ExitStatus EntryAlgorithms::list(const text::Program &listed,
                                 json::Object *entry) {
  Contents contents(listed.body);
  int64_t cost = entryCost + contents.nodes;
  if (!contents.isScheduled && !contents.mayBecomeScheduled()) {
    if (entry)
      (*entry)["scheduled"] = json::Array();
    return Done;
  }
  // One entry always is looked at: the checker has limits for it.
  if (spent != 0 && spent + cost > mostCost) {
    listReason(entry, "the file has too much before it; --entry asks for one");
    return Done;
  }
  spent += cost;

  std::string error;
  if (!isLoaded && !package.load(line.files.front(), error)) {
    fail(error);
    return InputFault;
  }
  isLoaded = true;
  text::EntryOptions options = line.entry;
  options.entry = listed.name;
  size_t before = diagnostics.all().size();
  Compilation compilation(line);
  std::unique_ptr<text::Program> program = text::checkEntry(package, options);
  if (!program || !compilation.importChecked(*program, diagnostics)) {
    auto reasons = drop_begin(diagnostics.all(), before);
    // Diagnostics keeps no more than a hundred.
    auto first = llvm::find_if(reasons, [](const text::Diagnostic &diagnostic) {
      return diagnostic.severity == text::Severity::Error;
    });
    if (first == reasons.end())
      listReason(entry, "it cannot be compiled as it is");
    else
      listReason(entry, first->message, first->range);
    return Done;
  }
  if (ExitStatus status = compilation.lower("schedule"))
    return status;
  if (ExitStatus status = compilation.tileAttentions())
    return status;
  json::Array scheduled;
  for (const ScheduledOperation &operation : findOperations(compilation)) {
    if (!operation.scheduled)
      continue;
    if (entry)
      scheduled.push_back(operationJson(operation, operation.getReasons()));
    else
      printOperation(operation);
  }
  if (entry)
    (*entry)["scheduled"] = std::move(scheduled);
  return Done;
}

} // namespace gatefold::tool
