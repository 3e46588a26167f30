// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- FormatCommand.cpp - gatefold fmt -----------------------------------===//

#include "frontend/text/Format.h"
#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Compilation.h"
#include "frontend/tools/gatefold/Files.h"

using namespace llvm;

namespace gatefold::tool {

ExitStatus runFormat(const CommandLine &line) {
  ExitStatus status = Done;
  auto worsen = [&](ExitStatus other) {
    if (other == InputFault || status == Done)
      status = other;
  };
  json::Array files;
  for (const std::string &path : line.files) {
    text::Sources sources;
    text::Diagnostics diagnostics(sources);
    Expected<std::string> contents = readText(path);
    if (!contents) {
      fail(toString(contents.takeError()));
      worsen(InputFault);
      continue;
    }
    std::string original = *contents;
    uint32_t file = sources.add(path, std::move(*contents));
    std::optional<std::string> formatted = text::format(file, diagnostics);
    report(diagnostics, line.json);
    if (!formatted) {
      worsen(InputFault);
      continue;
    }
    bool standard = *formatted == original;
    if (line.json)
      files.push_back(json::Object{{"file", path}, {"standard", standard}});
    if (line.checkOnly && !standard) {
      if (!line.json)
        errs() << path << ": not in the standard layout\n";
      worsen(CheckFailed);
    } else if (line.inPlace && !standard) {
      if (Error error = writeText(path, *formatted)) {
        fail(toString(std::move(error)));
        worsen(InputFault);
      }
    } else if (!line.checkOnly && !line.inPlace && !line.json) {
      outs() << *formatted;
    }
  }
  if (line.json)
    printJson(json::Object{{"files", std::move(files)}});
  return status;
}

} // namespace gatefold::tool
