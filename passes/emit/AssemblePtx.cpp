// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AssemblePtx.cpp - PTX to machine code ------------------------------===//
//
// Runs NVIDIA's assembler, which no library replaces.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/EmitKernels.h"
#include "passes/emit/NvidiaTools.h"

using namespace gatefold;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
gatefold::assemblePtx(const llvm::MemoryBuffer &ptx, llvm::StringRef target) {
  auto program = findNvidiaTool("ptxas");
  if (!program)
    return llvm::createStringError("a cubin needs " +
                                   llvm::toString(program.takeError()));
  auto input = TemporaryFile::create("ptx", ptx.getBuffer());
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  auto done =
      runTool(*program, {"--gpu-name=" + target.str(), "--generate-line-info",
                         input->path(), "--output-file", output->path()});
  if (!done)
    return done.takeError();
  return output->read();
}
