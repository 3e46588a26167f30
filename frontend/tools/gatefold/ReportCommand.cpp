// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReportCommand.cpp - gatefold report --------------------------------===//

#include "frontend/text/Cost.h"
#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/ModelTime.h"
#include "frontend/tools/gatefold/ScheduledOperations.h"
#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Entry.h"
#include "passes/support/Target.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

std::string groupedFormula(const text::Size &size) {
  if (auto known = size.constant())
    return grouped(*known);
  return size.str();
}

json::Value sizeJson(const text::Size &size) {
  if (auto known = size.constant())
    return *known;
  return size.str();
}

/// What compiled code makes from the parameters, once.
struct Prepared {
  int64_t bytes = 0;
  /// Parameters that nothing else needs.
  int64_t replaced = 0;
};

Prepared countPrepared(const gatefold_description &description) {
  // Their sizes are fixed: any sizes of the open dimensions do.
  std::vector<int64_t> symbols(description.symbol_count, 1);
  std::vector<int64_t> sizes(description.size_count);
  description.sizes(symbols.data(), sizes.data());
  Prepared result;
  for (int64_t i = 0; i < description.prepared_count; ++i) {
    const gatefold_tensor &tensor = description.prepared[i];
    int64_t bytes = tensor.element.bits / 8;
    for (int64_t size : ArrayRef(sizes).slice(tensor.first_size, tensor.rank))
      bytes *= size;
    result.bytes += bytes;
  }
  for (int64_t i = 0; i < description.parameter_count; ++i)
    result.replaced += description.parameters[i].prepare_only;
  return result;
}

void addSchedule(json::Object &document, const Compilation &compilation) {
  json::Array scheduled;
  for (const ScheduledOperation &operation : findOperations(compilation)) {
    if (operation.scheduled)
      scheduled.push_back(operationJson(operation, operation.remarks));
    else
      document["remarks"] = remarksJson(operation.remarks);
  }
  document["scheduled"] = std::move(scheduled);
}

void printSchedule(const Compilation &compilation, PrintRow row) {
  for (const ScheduledOperation &operation : findOperations(compilation)) {
    if (operation.scheduled) {
      const Compilation::Scheduled &scheduled = *operation.scheduled;
      std::string algorithm = operation.getAlgorithm();
      if (algorithm != "naive")
        for (const auto &[size, number] : scheduled.sizes)
          algorithm += ", " + size->key.str() + "=" + std::to_string(number);
      row(scheduled.what,
          algorithm + " at " + placeText(operation.places) +
              (operation.count == 1
                   ? ""
                   : ", " + std::to_string(operation.count) + " of them"));
    } else if (!operation.remarks.empty()) {
      row("elsewhere", "in no recurrence or attention");
    }
    for (const PassRemark *remark : operation.remarks) {
      std::string place = placeText(findPlaces(remark->location));
      row(("  " + kindText(remark->kind)).str(),
          Twine(remark->words) + (place.empty() ? "" : " at ") + place);
    }
  }
}

/// Whether both are the same place, called from the same places.
bool isAt(const text::Trace &trace, ArrayRef<mlir::FileLineColLoc> places,
          const text::Sources &sources) {
  std::vector<std::pair<StringRef, std::pair<unsigned, unsigned>>> own;
  for (const text::Trace *at = &trace; at; at = at->caller.get()) {
    text::Position position = sources.position(at->place);
    std::pair entry(sources.name(at->place.file),
                    std::pair(position.line, position.column));
    if (own.empty() || own.back() != entry)
      own.push_back(entry);
  }
  return llvm::equal(own, places, [](const auto &entry, auto place) {
    return entry.first == place.getFilename().getValue() &&
           entry.second == std::pair(place.getLine(), place.getColumn());
  });
}

/// What a pass left at the module; empty where it left nothing.
std::string textAttribute(Compilation &compilation, StringRef name) {
  auto text = compilation.getModule()->getAttrOfType<mlir::StringAttr>(name);
  return text ? text.getValue().str() : "";
}

} // namespace

ExitStatus runReport(const CommandLine &line) {
  Session session(line);
  if (ExitStatus status = session.open())
    return status;
  const gatefold_description &description = session.description();
  int64_t values = 0, bytes = 0;
  for (const WantedWeight &weight : wantedWeights(description)) {
    int64_t count = 1;
    for (int64_t size : weight.shape)
      count *= size;
    values += count;
    bytes += count * (weight.element.bits / 8);
  }

  Prepared prepared = countPrepared(description);

  // The arena is a formula inside the compiled code; dimensions that are open
  // there are those of --dim, else 1.
  std::vector<int64_t> symbols;
  std::string where;
  bool isAnyUnknown = false;
  for (int i = 0; i < description.symbol_count; ++i) {
    auto given = line.entry.dimensions.find(description.symbols[i]);
    bool isKnown = given != line.entry.dimensions.end();
    symbols.push_back(isKnown ? given->second : 1);
    isAnyUnknown |= !isKnown;
    where += (i ? ", " : "") + std::string(description.symbols[i]) + "=" +
             std::to_string(symbols.back());
  }
  int64_t arena = description.arena_bytes(symbols.data(), 1);
  int64_t withTwo = description.arena_bytes(symbols.data(), 2);
  if (arena < 0 || withTwo < 0) {
    fail("these sizes do not fit into 64 bits");
    return InputFault;
  }
  int64_t perThread = withTwo - arena;

  std::string formula, formulaPerThread;
  if (Compilation *compilation = session.getCompilation()) {
    formula = textAttribute(*compilation, arenaFormulaName);
    formulaPerThread = textAttribute(*compilation, rankFormulaName);
  }

  const text::Program *program = session.getCompilation()
                                     ? session.getCompilation()->getProgram()
                                     : nullptr;
  std::optional<text::Cost> cost;
  if (program) {
    std::vector<ScheduledOperation> operations =
        findOperations(*session.getCompilation());
    const text::Sources &sources = session.getCompilation()->getSources();
    cost = text::countCost(*program, [&](const text::Trace &trace) {
      for (const ScheduledOperation &operation : operations)
        if (operation.scheduled && isAt(trace, operation.places, sources))
          return operation.countBarriers();
      return int64_t(0);
    });
  }

  std::optional<std::vector<ModelTime>> times;
  if (cost && isGpuName(line.target))
    times = computeModelTimes(
        *cost, cantFail(TargetDescription::describe(line.target)),
        line.fastMath, symbols);

  if (line.json) {
    json::Object document{{"name", description.name},
                          {"parameters", description.parameter_count},
                          {"parameter_values", values},
                          {"parameter_bytes", bytes},
                          {"prepared", description.prepared_count},
                          {"prepared_bytes", prepared.bytes},
                          {"parameters_replaced", prepared.replaced},
                          {"arena_bytes", arena},
                          {"arena_bytes_per_thread", perThread}};
    if (session.getCompilation())
      addSchedule(document, *session.getCompilation());
    if (!where.empty())
      document["arena_at"] = where;
    if (!formula.empty()) {
      document["arena_formula"] = formula;
      document["arena_formula_per_thread"] = formulaPerThread;
    }
    if (cost) {
      document["operations"] = sizeJson(cost->operations);
      document["input_bytes"] = sizeJson(cost->inputBytes);
      document["result_bytes"] = sizeJson(cost->resultBytes);
      json::Array parts;
      for (const text::CostPart &part : cost->parts)
        parts.push_back(json::Object{
            {"what", part.what}, {"operations", sizeJson(part.operations)}});
      document["parts"] = std::move(parts);
    }
    if (times)
      document["model_time"] = modelTimesJson(*times, line.target, where);
    if (line.timing && session.getCompilation())
      document["timing"] = session.getCompilation()->timingJson();
    printJson(std::move(document));
    return Done;
  }

  raw_ostream &out = outs();
  auto row = [&](StringRef title, const Twine &value) {
    out << left_justify(title, 20) << value << "\n";
  };
  row("entry", description.name);
  row("parameters", Twine(description.parameter_count) + ", " +
                        grouped(values) + " values, " + grouped(bytes) +
                        " bytes");
  if (description.prepared_count)
    row("prepared", Twine(description.prepared_count) + ", " +
                        grouped(prepared.bytes) + " bytes, in place of " +
                        Twine(prepared.replaced) + " parameters");
  if (cost) {
    row("operations", groupedFormula(cost->operations) + " a run");
    for (const text::CostPart &part : cost->parts)
      row("  " + part.what, groupedFormula(part.operations));
    row("input bytes", groupedFormula(cost->inputBytes));
    row("result bytes", groupedFormula(cost->resultBytes));
  } else {
    row("operations", program ? "too many to count in 64 bits"
                              : "counted for .gf texts only");
  }
  if (times)
    printModelTimes(*times, line.target, where, row);
  row("arena", grouped(arena) + " bytes" + (where.empty() ? "" : " at ") +
                   where +
                   (isAnyUnknown ? "; give --dim for other sizes" : ""));
  if (perThread)
    row("  a thread more", grouped(perThread) + " bytes");
  if (!where.empty() && !formula.empty()) {
    row("  for all threads", formula + " bytes");
    row("  for each thread", formulaPerThread + " bytes");
  }
  if (session.getCompilation())
    printSchedule(*session.getCompilation(), row);
  else
    row("scheduled", "known for texts and modules only");
  if (line.timing && session.getCompilation())
    session.getCompilation()->printTiming();
  return Done;
}

} // namespace gatefold::tool
