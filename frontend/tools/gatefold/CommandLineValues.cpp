// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommandLineValues.cpp - What the values of options say -------------===//

#include "frontend/tools/gatefold/CommandLineValues.h"
#include "frontend/tools/gatefold/Messages.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Target.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace gatefold::tool {

bool readDimensions(ArrayRef<std::string> given, CommandLine &line) {
  for (const std::string &text : given) {
    auto [name, number] = StringRef(text).split('=');
    int64_t value;
    if (name.empty() || number.getAsInteger(10, value) || value < 0)
      return fail("--dim takes NAME=NUMBER, a whole number that is not "
                  "negative; found `" +
                  text + "`"),
             false;
    auto [place, inserted] = line.entry.dimensions.emplace(name.str(), value);
    if (!inserted && place->second != value)
      return fail("--dim gives `" + name.str() + "` twice"), false;
  }
  return true;
}

bool readArguments(ArrayRef<std::string> given, CommandLine &line) {
  for (const std::string &text : given) {
    auto [name, value] = StringRef(text).split('=');
    if (name.empty() || value.empty())
      return fail("--arg takes NAME=VALUE; found `" + text + "`"), false;
    line.entry.arguments.emplace_back(name.str(), value.str());
  }
  return true;
}

bool readTensorOptions(ArrayRef<std::string> given, CommandLine &line) {
  for (const std::string &text : given) {
    auto [name, number] = StringRef(text).split(':');
    unsigned rank = 0;
    bool ranked = StringRef(text).contains(':');
    if (name.empty() ||
        (ranked && (number.getAsInteger(10, rank) || rank > 10)))
      return fail("--with-input takes NAME or NAME:RANK, a rank of at most 10; "
                  "found `" +
                  text + "`"),
             false;
    line.entry.tensorOptions.emplace_back(
        name.str(), ranked ? std::optional<unsigned>(rank) : std::nullopt);
  }
  return true;
}

bool readSchedule(ArrayRef<std::string> given, CommandLine &line) {
  line.schedule = join(given, ",");
  ScheduleFault fault;
  if (line.naive)
    return fail("--naive leaves nothing to choose for --schedule"), false;
  if (line.schedule.empty())
    fault = {"expected KEY=VALUE, found nothing",
             "such as recurrence.algorithm=naive"};
  else if (parseSchedule(line.schedule, fault))
    return true;
  return fail("--schedule: " + fault.message, fault.hint), false;
}

bool readTargets(ArrayRef<std::string> given, CommandLine &line) {
  line.targetGiven = !given.empty();
  if (given.size() > 1 && line.command != Command::Compile)
    return fail("one --target at a time, found " + std::to_string(given.size()),
                "`compile` takes several"),
           false;
  bool hasCpu = false;
  for (const std::string &name : given) {
    if (auto known = TargetDescription::describe(name); !known)
      return fail("--target " + name + ": " + toString(known.takeError()),
                  "native, x86-64-v3, aarch64, ..., or a GPU: sm_80, sm_90, "
                  "..."),
             false;
    if (llvm::is_contained(line.targets, name))
      return fail("--target " + name + " is given twice"), false;
    line.targets.push_back(name);
    if (isGpuName(name))
      continue;
    if (hasCpu)
      return fail("--target " + line.target + " and --target " + name +
                      " are both CPUs: a library holds code for one",
                  "several may be GPUs: --target native --target sm_80 "
                  "--target sm_90"),
             false;
    hasCpu = true;
    line.target = name;
  }
  if (given.size() == 1)
    line.target = given.front();
  return true;
}

static constexpr StringLiteral devices[] = {"cpu", "cuda", "emulator"};

bool checkDevice(CommandLine &line) {
  if (!llvm::is_contained(devices, line.device))
    return fail("--device " + line.device + ": there are " +
                    join(ArrayRef(devices), ", "),
                StringRef(line.device).starts_with("cuda:")
                    ? "CUDA_VISIBLE_DEVICES chooses among several GPUs"
                    : ""),
           false;
  bool isEmulator = line.device == "emulator";
  if (isEmulator && line.command != Command::Run)
    return fail("--device emulator: an emulator tells nothing about time"),
           false;
  if (isEmulator && !line.targetGiven)
    line.target = "sm_80";
  bool isGpu = isGpuName(line.target);
  bool needsGpu = isEmulator || (line.device == "cuda" && line.targetGiven);
  if (needsGpu && !isGpu)
    return fail("--device " + line.device + ": --target " + line.target +
                    " is no GPU",
                "--target sm_80"),
           false;
  bool computes =
      line.command == Command::Run || line.command == Command::Bench;
  if (isGpu && line.device == "cpu" && computes)
    return fail("--target " + line.target + " is a GPU, and --device is cpu",
                line.command == Command::Run ? "--device cuda or emulator"
                                             : "--device cuda"),
           false;
  return true;
}

bool readTolerance(StringRef option, StringRef text,
                   std::optional<double> &tolerance) {
  double value;
  if (text.getAsDouble(value) || !(value >= 0) || !std::isfinite(value))
    return fail(option + " takes a number that is not negative, found `" +
                text + "`"),
           false;
  tolerance = value;
  return true;
}

bool readOutputs(ArrayRef<std::string> given, CommandLine &line) {
  for (const std::string &text : given) {
    auto [name, path] = StringRef(text).split('=');
    if (name.empty() || path.empty())
      return fail("--output takes NAME=FILE.npy, found `" + text + "`"), false;
    line.outputs.emplace_back(name.str(), path.str());
  }
  return true;
}

} // namespace gatefold::tool
