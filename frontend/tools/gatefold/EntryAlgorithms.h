// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- EntryAlgorithms.h - How an entry will be computed --------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_ENTRYALGORITHMS_H
#define FRONTEND_TOOLS_GATEFOLD_ENTRYALGORITHMS_H

#include "frontend/text/Check.h"
#include "frontend/tools/gatefold/CommandLine.h"

namespace gatefold::tool {

/// For `check`: the algorithm that each recurrence and attention of a file's
/// entries runs with on the target, as the phase `schedule` chooses it.
class EntryAlgorithms {
public:
  EntryAlgorithms(const CommandLine &line, const std::string &path)
      : line(line), diagnostics(sources),
        package(diagnostics, line.importFolders) {
    this->line.files = {path};
  }

  /// Lists those of a program for which nothing is missing: into `entry` where
  /// there is one, else as lines on standard output.
  ExitStatus list(const text::Program &listed, llvm::json::Object *entry);

private:
  void listReason(llvm::json::Object *entry, llvm::StringRef message,
                  std::optional<text::Range> range = std::nullopt);

  CommandLine line; // of this file alone
  // The file again: what is listed is checked with sizes unknown, and what is
  // compiled is not. Its diagnostics are reasons, never reported.
  text::Sources sources;
  text::Diagnostics diagnostics;
  text::Package package;
  bool isLoaded = false;
  int64_t spent = 0;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_ENTRYALGORITHMS_H
