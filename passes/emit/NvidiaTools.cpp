// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- NvidiaTools.cpp - Programs of NVIDIA's toolkit ---------------------===//
//
// Finds them, and runs them on temporary files.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/NvidiaTools.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold;

llvm::Expected<std::string> gatefold::findNvidiaTool(llvm::StringRef name) {
  if (auto found = llvm::sys::findProgramByName(name))
    return *found;
  std::string places = "PATH";
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"}) {
    std::optional<std::string> root = llvm::sys::Process::GetEnv(variable);
    if (!root || root->empty()) {
      places += std::string(", ") + variable + " (not set)";
      continue;
    }
    llvm::SmallString<128> folder(*root);
    llvm::sys::path::append(folder, "bin");
    if (auto found =
            llvm::sys::findProgramByName(name, {llvm::StringRef(folder)}))
      return *found;
    places += std::string(", ") + variable + " (" + folder.str().str() + ")";
  }
  return llvm::createStringError(
      "%s, of NVIDIA's toolkit, which is in none of: %s", name.str().c_str(),
      places.c_str());
}

llvm::Expected<TemporaryFile> TemporaryFile::create(llvm::StringRef suffix,
                                                    llvm::StringRef contents) {
  llvm::SmallString<128> path;
  int descriptor;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile(
          "gatefold", suffix, descriptor, path))
    return llvm::createStringError(code, "no temporary file can be made");
  TemporaryFile file(path.str().str());
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << contents;
  stream.close();
  if (stream.has_error()) {
    std::error_code code = stream.error();
    stream.clear_error();
    return llvm::createStringError(code, "%s cannot be written", path.c_str());
  }
  return file;
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
TemporaryFile::read() const {
  auto contents = llvm::MemoryBuffer::getFile(name, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
  if (!contents)
    return llvm::createStringError(contents.getError(), "%s cannot be read",
                                   name.c_str());
  return llvm::MemoryBuffer::getMemBufferCopy((*contents)->getBuffer());
}

llvm::Expected<std::string>
gatefold::runTool(llvm::StringRef program,
                  llvm::ArrayRef<llvm::StringRef> arguments, unsigned seconds) {
  auto output = TemporaryFile::create("log");
  if (!output)
    return output.takeError();
  llvm::SmallVector<llvm::StringRef> words = {program};
  words.append(arguments.begin(), arguments.end());
  llvm::StringRef log = output->path();
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), log, log};
  std::string fault;
  int status = llvm::sys::ExecuteAndWait(program, words, /*Env=*/std::nullopt,
                                         redirects, seconds,
                                         /*MemoryLimit=*/0, &fault);
  auto printed = output->read();
  if (!printed)
    return printed.takeError();
  std::string said = (*printed)->getBuffer().trim().str();
  if (status == 0)
    return said;
  return llvm::createStringError("%s failed: %s", program.str().c_str(),
                                 fault.empty() ? said.c_str() : fault.c_str());
}
