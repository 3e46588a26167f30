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

/// A round on a GPU takes this long at least: whoever waits for one run alone
/// times the waiting.
constexpr double secondsOfRound = 5e-3;

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

using Clock = std::chrono::steady_clock;

/// The seconds of a run, in a round of so many.
ExitStatus timeRound(Session &session, int64_t runs, double &seconds) {
  auto start = Clock::now();
  for (int64_t i = 0; i < runs; ++i)
    if (ExitStatus status = session.launch())
      return status;
  if (ExitStatus status = session.finish())
    return status;
  seconds = std::chrono::duration<double>(Clock::now() - start).count() / runs;
  return Done;
}

/// The seconds of a run in each round.
ExitStatus timeRuns(Session &session, std::vector<double> &times,
                    int64_t &runs) {
  double seconds = 0, total = 0;
  while (session.getGpu()) {
    if (ExitStatus status = timeRound(session, runs, seconds))
      return status;
    if (seconds * runs >= secondsOfRound)
      break;
    runs *= 2;
  }
  while (times.size() < leastRounds ||
         (total < secondsEnough && times.size() < mostRounds)) {
    if (ExitStatus status = timeRound(session, runs, seconds))
      return status;
    times.push_back(seconds);
    total += seconds * runs;
  }
  return Done;
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

  std::vector<double> times;
  int64_t runs = 1;
  if (ExitStatus status = timeRuns(session, times, runs))
    return status;
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5);
  double low = quantile(times, 0.25), high = quantile(times, 0.75);
  std::optional<double> count = operations(session);
  size_t workspace = 0;
  if (ExitStatus status = session.workspaceSize(workspace))
    return status;
  const char *gpu = session.getGpu();
  // What a GPU could do is not measured.
  double peak = gpu ? 0 : measurePeakFlops();

  if (line.json) {
    json::Object document{{"rounds", int64_t(times.size())},
                          {"median_s", median},
                          {"quartiles_s", json::Array{low, high}},
                          {"least_s", times.front()},
                          {"workspace_bytes", int64_t(workspace)}};
    if (gpu) {
      document["gpu"] = json::fixUTF8(gpu);
      document["runs_per_round"] = runs;
    } else {
      document["threads"] =
          int64_t(line.threads ? line.threads : gatefold_team_cores());
      document["peak_flops"] = peak;
    }
    if (count) {
      document["operations"] = *count;
      document["flops"] = *count / median;
      if (!gpu)
        document["share_of_peak"] = *count / median / peak;
    }
    printJson(std::move(document));
    return Done;
  }
  if (gpu)
    outs() << "GPU        " << gpu << "\n";
  outs() << "median     " << timeText(median) << " of " << times.size()
         << (runs > 1 ? " rounds of " + std::to_string(runs) : std::string())
         << " runs (half of them within " << timeText(low) << " .. "
         << timeText(high) << ")\n";
  if (!count)
    outs() << "operations are counted for .gf texts only\n";
  else if (gpu)
    outs() << formatv("operations {0}, {1:f2} TFLOP/s\n",
                      grouped(static_cast<int64_t>(*count)),
                      *count / median / 1e12);
  else
    outs() << formatv("operations {0}, {1:f2} GFLOP/s, {2:f1} % of the {3:f1} "
                      "GFLOP/s of one core measured in this run\n",
                      grouped(static_cast<int64_t>(*count)),
                      *count / median / 1e9, 100 * *count / median / peak,
                      peak / 1e9);
  outs() << "workspace  " << grouped(workspace) << " bytes\n";
  return Done;
}

} // namespace gatefold::tool
