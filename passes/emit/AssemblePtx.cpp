// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblePtx.cpp - PTX to machine code ------------------------------===//
//
// Runs NVIDIA's assembler, which no library replaces.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitKernels.h"
#include "passes/emit/NvidiaTools.h"

#include "llvm/ADT/StringExtras.h"

using namespace gatefold;

/// How freely the assembler takes registers for speed; first what it does of
/// itself. Near the limit of a thread it spills by chance, and a lower level
/// often does not.
static constexpr llvm::StringLiteral levels[] = {"", "--register-usage-level=4",
                                                 "--register-usage-level=3",
                                                 "--register-usage-level=0"};

/// What it says of registers that it has spilled: "12 bytes of `f`", for each
/// function.
static std::vector<std::string> findSpills(llvm::StringRef printed) {
  std::vector<std::string> found;
  llvm::SmallVector<llvm::StringRef> lines;
  printed.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    constexpr llvm::StringLiteral before = "in function '", behind = "', ";
    size_t name = line.find(before);
    if (!line.contains("spilled to local memory") ||
        name == llvm::StringRef::npos)
      continue;
    auto [function, rest] = line.drop_front(name + before.size()).split(behind);
    found.push_back((rest.take_until([](char c) { return c == ' '; }) +
                     " bytes of `" + function + "`")
                        .str());
  }
  return found;
}

llvm::Expected<MachineCode> gatefold::assemblePtx(const llvm::MemoryBuffer &ptx,
                                                  llvm::StringRef target) {
  auto program = findNvidiaTool("ptxas");
  if (!program)
    return llvm::createStringError("a cubin needs " +
                                   llvm::toString(program.takeError()));
  auto input = TemporaryFile::create("ptx", ptx.getBuffer());
  if (!input)
    return input.takeError();
  MachineCode first;
  for (llvm::StringRef level : levels) {
    auto output = TemporaryFile::create("cubin");
    if (!output)
      return output.takeError();
    std::string gpu = "--gpu-name=" + target.str();
    llvm::SmallVector<llvm::StringRef> arguments = {
        gpu,           "--generate-line-info", "--warn-on-spills",
        input->path(), "--output-file",        output->path()};
    if (!level.empty())
      arguments.push_back(level);
    auto printed = runTool(*program, arguments);
    if (!printed && level.empty())
      return printed.takeError();
    if (!printed) {
      // One that is too old to know levels.
      llvm::consumeError(printed.takeError());
      break;
    }
    MachineCode code;
    code.spills = llvm::join(findSpills(*printed), ", ");
    if (!level.empty() && !code.spills.empty())
      continue;
    auto made = output->read();
    if (!made)
      return made.takeError();
    code.code = std::move(*made);
    if (code.spills.empty())
      return code;
    first = std::move(code);
  }
  return first;
}
