// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Main.cpp - The driver `gatefold` -----------------------------------===//
//
// One file for each command: CheckCommand.cpp, RunCommand.cpp, ...
//
//===----------------------------------------------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace gatefold::tool;

static ExitStatus runCommand(const CommandLine &line) {
  switch (line.command) {
  case Command::Check:
    return runCheck(line);
  case Command::Format:
    return runFormat(line);
  case Command::Init:
    return runInit(line);
  case Command::Run:
    return runRun(line);
  case Command::Compile:
    return runCompile(line);
  case Command::Bench:
    return runBench(line);
  case Command::Report:
    return runReport(line);
  case Command::Doctor:
    return runDoctor(line);
  }
  return OurFault;
}

int main(int argc, char **argv) {
  llvm::setBugReportMsg(
      "This is a fault of Gatefold. Please report it with the "
      "file and the command line below.\n");
  llvm::InitLLVM initialise(argc, argv);
  // Faults of the command line are JSON too.
  if (llvm::is_contained(llvm::ArrayRef(argv, argc), llvm::StringRef("--json")))
    collectMessages();
  int status = Done;
  std::optional<CommandLine> line = parseCommandLine(argc, argv, status);
  if (line)
    status = runCommand(*line);
  finishJson();
  return status;
}