// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BenchCommand.cpp - gatefold bench ----------------------------------===//

#include "frontend/text/Cost.h"
#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Peak.h"
#include "frontend/tools/gatefold/Session.h"
#include "runtime/Team.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace llvm;

namespace gatefold::tool {
namespace {

/// Runs until there are enough rounds or a second has passed.
constexpr size_t leastRounds = 5, mostRounds = 2000;
constexpr double secondsEnough = 1;

double quantile(const std::vector<double> &sorted, double part) {
  return sorted[static_cast<size_t>(part * (sorted.size() - 1) + 0.5)];
}

/// "1.25 ms"
std::string timeText(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:f2} us", seconds * 1e6);
  if (seconds < 1)
    return formatv("{0:f2} ms", seconds * 1e3);
  return formatv("{0:f2} s", seconds);
}

/// Operations of one run at the sizes of its inputs, where the program is a
/// text.
std::optional<double> operations(Session &session) {
  Compilation *compilation = session.getCompilation();
  if (!compilation || !compilation->getProgram())
    return std::nullopt;
  const text::Program &program = *compilation->getProgram();
  std::vector<int64_t> symbols(program.symbols.size());
  const gatefold_description &description = session.description();
  for (int64_t i = 0; i < description.input_count; ++i) {
    const gatefold_tensor &input = description.inputs[i];
    for (int axis = 0; axis < input.rank; ++axis) {
      const gatefold_binding &binding = input.bindings[axis];
      if (binding.symbol >= 0)
        symbols[binding.symbol] =
            (session.getInputs()[i].shape()[axis] - binding.offset) /
            binding.scale;
    }
  }
  auto cost = text::countCost(program);
  if (!cost)
    return std::nullopt;
  return text::evaluate(cost->operations, symbols);
}

} // namespace

ExitStatus runBench(const CommandLine &line) {
  CommandLine seeded = line;
  if (!seeded.seed)
    seeded.seed = 0; // timing needs some data; random ones do
  Session session(seeded);
  for (auto step : {&Session::open, &Session::prepare, &Session::readInputs,
                    &Session::allocateResults, &Session::run})
    if (ExitStatus status = (session.*step)())
      return status;

  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  double total = 0;
  while (times.size() < leastRounds ||
         (total < secondsEnough && times.size() < mostRounds)) {
    auto start = Clock::now();
    if (ExitStatus status = session.run())
      return status;
    std::chrono::duration<double> seconds = Clock::now() - start;
    times.push_back(seconds.count());
    total += seconds.count();
  }
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5);
  double low = quantile(times, 0.25), high = quantile(times, 0.75);
  double peak = measurePeakFlops();
  std::optional<double> count = operations(session);
  size_t workspace = 0;
  if (ExitStatus status = session.workspaceSize(workspace))
    return status;

  if (line.json) {
    json::Object document{
        {"rounds", int64_t(times.size())},
        {"median_s", median},
        {"quartiles_s", json::Array{low, high}},
        {"least_s", times.front()},
        {"threads",
         int64_t(line.threads ? line.threads : gatefold_team_cores())},
        {"peak_flops", peak},
        {"workspace_bytes", int64_t(workspace)}};
    if (count) {
      document["operations"] = *count;
      document["flops"] = *count / median;
      document["share_of_peak"] = *count / median / peak;
    }
    printJson(std::move(document));
    return Done;
  }
  outs() << "median     " << timeText(median) << " of " << times.size()
         << " runs (half of them within " << timeText(low) << " .. "
         << timeText(high) << ")\n";
  if (count)
    outs() << formatv("operations {0}, {1:f2} GFLOP/s, {2:f1} % of the {3:f1} "
                      "GFLOP/s of one core measured in this run\n",
                      grouped(static_cast<int64_t>(*count)),
                      *count / median / 1e9, 100 * *count / median / peak,
                      peak / 1e9);
  else
    outs() << "operations are counted for .gf texts only\n";
  outs() << "workspace  " << grouped(workspace) << " bytes\n";
  return Done;
}

} // namespace gatefold::tool
