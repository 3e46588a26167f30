// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- CommandLineValues.h - What the values of options say -----*- C++ -*-===//
//
// Values as they were typed become parts of a CommandLine. False after a fault,
// which is reported.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TOOLS_GATEFOLD_COMMANDLINEVALUES_H
#define FRONTEND_TOOLS_GATEFOLD_COMMANDLINEVALUES_H

#include "frontend/tools/gatefold/CommandLine.h"
#include "llvm/ADT/ArrayRef.h"

namespace gatefold::tool {

/// NAME=SIZE, of `--dim`.
bool readDimensions(llvm::ArrayRef<std::string> given, CommandLine &line);
/// NAME=VALUE, of `--arg`.
bool readArguments(llvm::ArrayRef<std::string> given, CommandLine &line);
/// NAME or NAME:RANK, of `--with-input`.
bool readTensorOptions(llvm::ArrayRef<std::string> given, CommandLine &line);
/// KEY=VALUE, of `--schedule`.
bool readSchedule(llvm::ArrayRef<std::string> given, CommandLine &line);
/// X, of `--rtol` and `--atol`.
bool readTolerance(llvm::StringRef option, llvm::StringRef text,
                   std::optional<double> &tolerance);
/// NAME=FILE, of `--output`.
bool readOutputs(llvm::ArrayRef<std::string> given, CommandLine &line);
bool readTargets(llvm::ArrayRef<std::string> given, CommandLine &line);
/// GPUs compute in `run` and `bench`; code for them is made in `compile`.
bool checkDevice(CommandLine &line);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_COMMANDLINEVALUES_H
