// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Commands.h - The commands of the driver ------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_COMMANDS_H
#define FRONTEND_TOOLS_GATEFOLD_COMMANDS_H

#include "frontend/tools/gatefold/CommandLine.h"

namespace gatefold::tool {

ExitStatus runCheck(const CommandLine &line);
ExitStatus runFormat(const CommandLine &line);
ExitStatus runInit(const CommandLine &line);
ExitStatus runRun(const CommandLine &line);
ExitStatus runCompile(const CommandLine &line);
ExitStatus runBench(const CommandLine &line);
ExitStatus runReport(const CommandLine &line);
ExitStatus runDoctor(const CommandLine &line);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_COMMANDS_H
