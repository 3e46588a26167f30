// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReportCommand.cpp - gatefold report --------------------------------===//

#include "frontend/text/Cost.h"
#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/ModelTime.h"
#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"
#include "passes/support/Entry.h"
#include "passes/support/Target.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

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

/// An operation, and what the passes said of it and of what is within it.
struct ReportedOperation {
  /// Null for what belongs to no recurrence or attention.
  const Compilation::Scheduled *scheduled = nullptr;
  /// Layers and directions of one call are many operations at one place.
  int64_t count = 1;
  std::vector<mlir::FileLineColLoc> places;
  std::vector<const PassRemark *> remarks;
};

/// Whether `inner` is at `outer`, or called from there.
bool isWithin(ArrayRef<mlir::FileLineColLoc> inner,
              ArrayRef<mlir::FileLineColLoc> outer) {
  return !outer.empty() && inner.size() >= outer.size() &&
         inner.take_back(outer.size()) == outer;
}

/// Whether nothing tells one from the other for whoever reads the text.
bool areAlike(const Compilation::Scheduled &a,
              const Compilation::Scheduled &b) {
  return a.what == b.what && a.algorithm == b.algorithm && a.sizes == b.sizes;
}

/// The operations in the order of the program, then one that has the other
/// remarks.
std::vector<ReportedOperation> sortRemarks(const Compilation &compilation) {
  std::vector<ReportedOperation> operations;
  for (const Compilation::Scheduled &scheduled : compilation.getScheduled()) {
    auto places = findPlaces(scheduled.location);
    auto alike = llvm::find_if(operations, [&](const ReportedOperation &other) {
      return other.places == places && areAlike(*other.scheduled, scheduled);
    });
    if (alike != operations.end())
      ++alike->count;
    else
      operations.push_back({&scheduled, 1, std::move(places), {}});
  }
  operations.emplace_back();
  for (const PassRemark &remark : compilation.getRemarks()) {
    // The rows say it.
    if (remark.pass == "gf-choose-algorithms")
      continue;
    std::vector<mlir::FileLineColLoc> places = findPlaces(remark.location);
    ReportedOperation *nearest = &operations.back();
    for (ReportedOperation &operation : operations)
      if (isWithin(places, operation.places) &&
          operation.places.size() > nearest->places.size())
        nearest = &operation;
    // Layers and directions say the same again.
    if (llvm::none_of(nearest->remarks, [&](const PassRemark *other) {
          return other->words == remark.words && other->pass == remark.pass &&
                 other->location == remark.location;
        }))
      nearest->remarks.push_back(&remark);
  }
  return operations;
}

/// The naive one where what was chosen could not be done.
std::string algorithmOf(const ReportedOperation &operation) {
  bool isLeft = llvm::any_of(operation.remarks, [&](const PassRemark *remark) {
    return remark->kind == PassRemark::Kind::NotDone &&
           remark->pass == "gf-tile-attention" &&
           findPlaces(remark->location) == operation.places;
  });
  return isLeft ? "naive" : operation.scheduled->algorithm;
}

/// Files of the library are named as programs import them: where it is
/// installed says nothing.
std::string placeText(ArrayRef<mlir::FileLineColLoc> places) {
  if (places.empty())
    return "";
  StringRef file = places.front().getFilename().getValue();
  if (sys::fs::equivalent(sys::path::parent_path(file), libraryFolder()))
    file = sys::path::filename(file);
  return (file + ":" + Twine(places.front().getLine()) + ":" +
          Twine(places.front().getColumn()))
      .str();
}

StringRef kindText(PassRemark::Kind kind) {
  switch (kind) {
  case PassRemark::Kind::Done:
    return "done";
  case PassRemark::Kind::NotDone:
    return "not done";
  case PassRemark::Kind::Note:
    break;
  }
  return "note";
}

json::Array remarksJson(const ReportedOperation &operation) {
  json::Array array;
  for (const PassRemark *remark : operation.remarks) {
    json::Object object{{"kind", kindText(remark->kind)},
                        {"pass", remark->pass},
                        {"message", json::fixUTF8(remark->words)}};
    addPlace(object, remark->location);
    array.push_back(std::move(object));
  }
  return array;
}

void addSchedule(json::Object &document, const Compilation &compilation) {
  json::Array scheduled;
  for (const ReportedOperation &operation : sortRemarks(compilation)) {
    if (!operation.scheduled) {
      document["remarks"] = remarksJson(operation);
      continue;
    }
    std::string algorithm = algorithmOf(operation);
    json::Object object{{"what", operation.scheduled->what},
                        {"algorithm", algorithm},
                        {"count", operation.count},
                        {"remarks", remarksJson(operation)}};
    if (algorithm != "naive")
      for (const auto &[name, size] : operation.scheduled->sizes)
        object[name] = size;
    addPlace(object, operation.scheduled->location);
    scheduled.push_back(std::move(object));
  }
  document["scheduled"] = std::move(scheduled);
}

void printSchedule(const Compilation &compilation, PrintRow row) {
  for (const ReportedOperation &operation : sortRemarks(compilation)) {
    if (operation.scheduled) {
      const Compilation::Scheduled &scheduled = *operation.scheduled;
      std::string algorithm = algorithmOf(operation);
      if (algorithm != "naive")
        for (const auto &[name, size] : scheduled.sizes)
          algorithm += ", " + name + "=" + std::to_string(size);
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
  if (program)
    cost = text::countCost(*program);

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
