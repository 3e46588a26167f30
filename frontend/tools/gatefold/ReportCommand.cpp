// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ReportCommand.cpp - gatefold report --------------------------------===//

#include "frontend/text/Cost.h"
#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

struct Row {
  std::string key, title;
  std::string formula; // of the open dimensions; a number where there are none
};

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

  // The arena is a formula inside the compiled code; with open dimensions it
  // is shown where they are all 1.
  std::vector<int64_t> symbols(description.symbol_count, 1);
  int64_t arena = description.arena_bytes(symbols.data(), 1);
  std::string where;
  for (int i = 0; i < description.symbol_count; ++i)
    where += (i ? ", " : "") + std::string(description.symbols[i]) + "=1";

  const text::Program *program = session.getCompilation()
                                     ? session.getCompilation()->getProgram()
                                     : nullptr;
  std::optional<text::Cost> cost;
  if (program)
    cost = text::countCost(*program);

  if (line.json) {
    json::Object document{{"name", description.name},
                          {"parameters", description.parameter_count},
                          {"parameter_values", values},
                          {"parameter_bytes", bytes},
                          {"prepared", description.prepared_count},
                          {"prepared_bytes", prepared.bytes},
                          {"parameters_replaced", prepared.replaced},
                          {"arena_bytes", arena},
                          {"algorithm", "naive"}};
    if (!where.empty())
      document["arena_at"] = where;
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
    if (line.timing && session.getCompilation())
      document["timing"] = session.getCompilation()->timingJson();
    printJson(std::move(document));
    return Done;
  }

  raw_ostream &out = outs();
  auto row = [&](StringRef title, const Twine &value) {
    out << left_justify(title, 18) << value << "\n";
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
  row("arena",
      grouped(arena) + " bytes" +
          (where.empty() ? ""
                         : " at " + where + "; give --dim for other sizes"));
  row("algorithm", "naive: recurrences step by step, attentions row by row");
  if (line.timing && session.getCompilation())
    session.getCompilation()->printTiming();
  return Done;
}

} // namespace gatefold::tool
