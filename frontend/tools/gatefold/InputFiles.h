// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InputFiles.h - What --input offers -----------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_INPUTFILES_H
#define FRONTEND_TOOLS_GATEFOLD_INPUTFILES_H

#include "frontend/text/Check.h"
#include "frontend/tools/gatefold/CommandLine.h"
#include "runtime/files/TensorFile.h"
#include "llvm/Support/Error.h"

namespace gatefold::tool {

/// One tensor of a file that --input names. Its data are read when they are
/// asked for, once.
class OfferedInput {
public:
  OfferedInput(std::string name, bool named, files::TensorFile file,
               std::string member)
      : name(std::move(name)), named(named), file(std::move(file)),
        member(std::move(member)) {}

  /// Of the input that it is for.
  const std::string name;
  /// NAME=FILE: then a name that no input has is an error, else a warning.
  const bool named;

  llvm::StringRef path() const { return file.path(); }
  llvm::Expected<const files::FileTensor &> tensor();

private:
  files::TensorFile file;
  std::string member;
  std::optional<files::FileTensor> read;
};

/// Opens the files of --input; a later tensor of a name follows an earlier one
/// and wins. Reports faults.
ExitStatus openInputs(const CommandLine &line,
                      std::vector<OfferedInput> &offers);

/// Where the entry is a cell, func or attention and the command line leaves it
/// open, the data say how many leading dimensions there are and which options
/// of its call are inputs. Reports files that cannot be read.
ExitStatus fitEntryToInputs(text::Package &package, bool leadGiven,
                            std::vector<OfferedInput> &offers,
                            text::EntryOptions &options);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_INPUTFILES_H
