// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblePtx.cpp - PTX to machine code ------------------------------===//
//
// Runs NVIDIA's assembler, which no library replaces.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitKernels.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace gatefold;

llvm::Expected<std::string> gatefold::findPtxas() {
  if (auto found = llvm::sys::findProgramByName("ptxas"))
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
            llvm::sys::findProgramByName("ptxas", {llvm::StringRef(folder)}))
      return *found;
    places += std::string(", ") + variable + " (" + folder.str().str() + ")";
  }
  return llvm::createStringError(
      "a cubin needs ptxas, of NVIDIA's toolkit, which is in none of: %s",
      places.c_str());
}

/// A new file that is removed at the end.
static llvm::Expected<std::string> makeTemporary(llvm::StringRef suffix,
                                                 llvm::StringRef contents) {
  llvm::SmallString<128> path;
  int descriptor;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile(
          "gatefold", suffix, descriptor, path))
    return llvm::createStringError(code, "no temporary file can be made");
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << contents;
  stream.close();
  if (stream.has_error()) {
    std::error_code code = stream.error();
    stream.clear_error();
    llvm::sys::fs::remove(path);
    return llvm::createStringError(code, "%s cannot be written", path.c_str());
  }
  return std::string(path);
}

static std::string readAll(llvm::StringRef path) {
  auto contents = llvm::MemoryBuffer::getFile(path);
  return contents ? (*contents)->getBuffer().trim().str() : std::string();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
gatefold::assemblePtx(const llvm::MemoryBuffer &ptx, llvm::StringRef target) {
  auto program = findPtxas();
  if (!program)
    return program.takeError();
  auto input = makeTemporary("ptx", ptx.getBuffer());
  if (!input)
    return input.takeError();
  llvm::FileRemover removeInput(*input);
  auto output = makeTemporary("cubin", "");
  if (!output)
    return output.takeError();
  llvm::FileRemover removeOutput(*output);
  auto messages = makeTemporary("log", "");
  if (!messages)
    return messages.takeError();
  llvm::FileRemover removeMessages(*messages);
  std::string architecture = "--gpu-name=" + target.str();
  llvm::StringRef arguments[] = {
      *program, architecture,    "--generate-line-info",
      *input,   "--output-file", *output};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                llvm::StringRef(*messages),
                                                llvm::StringRef(*messages)};
  std::string fault;
  int status = llvm::sys::ExecuteAndWait(*program, arguments,
                                         /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &fault);
  if (status != 0) {
    if (fault.empty())
      fault = readAll(*messages);
    return llvm::createStringError("%s failed: %s", program->c_str(),
                                   fault.c_str());
  }
  auto code = llvm::MemoryBuffer::getFile(*output, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!code)
    return llvm::createStringError(code.getError(), "%s gave no code",
                                   program->c_str());
  // The file goes away, and so might what is mapped from it.
  return llvm::MemoryBuffer::getMemBufferCopy((*code)->getBuffer());
}
