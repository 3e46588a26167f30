// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommandLine.h - What the user typed ----------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_COMMANDLINE_H
#define FRONTEND_TOOLS_GATEFOLD_COMMANDLINE_H

#include "frontend/text/Check.h"
#include <optional>
#include <string>
#include <vector>

namespace gatefold::tool {

/// Exit statuses, as frontend/tools/README.md lists them.
enum ExitStatus : int {
  Done = 0,
  InputFault = 1,
  CommandLineFault = 2,
  CheckFailed = 3,
  OurFault = 70
};

enum class Command { Check, Format, Init, Run, Compile, Bench, Report, Doctor };

struct CommandLine {
  Command command = Command::Check;
  std::vector<std::string> files;

  // The program.
  text::EntryOptions entry;
  bool leadGiven = false; // --lead; else `run` takes it from the inputs
  /// Given options that say how a text is compiled; a module and a library,
  /// where that is settled, take none of them.
  std::vector<std::string> textOptions;
  std::vector<std::string> importFolders; // -I, then the library
  /// As given, in order.
  std::vector<std::string> targets;
  /// What code is made for; of several targets it is the CPU.
  std::string target = "native";
  /// The GPUs whose code a library or an object holds beside it.
  std::vector<std::string> gpuTargets;
  bool targetGiven = false;
  std::string device = "cpu";
  bool naive = false;
  bool fastMath = false;
  std::string schedule; // KEY=VALUE,...
  std::string emit;
  bool locations = false;
  std::string output; // -o

  // Data.
  std::vector<std::string> weights;
  std::string strip;
  std::optional<uint64_t> seed;
  std::vector<std::string> inputs;                          // NAME=PATH or PATH
  std::vector<std::pair<std::string, std::string>> outputs; // name, path
  std::string outputFolder;
  std::string compare;
  std::optional<double> relativeTolerance, absoluteTolerance; // --rtol, --atol
  unsigned threads = 0;
  bool hasEarlyCopies = false; // of the emulator

  // fmt
  bool inPlace = false;
  bool checkOnly = false;

  // What is printed.
  bool timing = false;
  bool remarks = false;
  bool json = false;
};

/// Parses the command line, or gives the exit status where there is nothing
/// more to do (--help, --version, a fault).
std::optional<CommandLine> parseCommandLine(int argc, char **argv,
                                            int &exitStatus);

/// Reports --entry and the like where `what` ("a library") has no use for them.
ExitStatus refuseTextOptions(const CommandLine &line, const std::string &what);

/// The folder of the library's .gf files: that of the build tree, or that of
/// the installation in which this program stands.
std::string libraryFolder();

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_COMMANDLINE_H
