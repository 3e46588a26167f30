// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- NvidiaTools.h - Programs of NVIDIA's toolkit -------------*- C++ -*-===//
//
// Where they are, and what they say.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_EMIT_NVIDIATOOLS_H
#define PASSES_EMIT_NVIDIATOOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace gatefold {

/// Where `ptxas`, `fatbinary`, ... is: on PATH, else in the folder `bin` of
/// what CUDA_ROOT, CUDA_HOME and CUDA_PATH name. The error says where it was
/// looked for.
llvm::Expected<std::string> findNvidiaTool(llvm::StringRef name);

/// A new file, which goes away with this.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix,
                                              llvm::StringRef contents = "");
  const std::string &path() const { return name; }
  /// What stands in it now; a copy, since the file goes away.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read() const;

private:
  explicit TemporaryFile(std::string path)
      : name(std::move(path)),
        remover(std::make_unique<llvm::FileRemover>(name)) {}

  std::string name;
  std::unique_ptr<llvm::FileRemover> remover;
};

/// Runs a program and gives what it printed; the error says what went wrong in
/// its words. `seconds`: how long it may take, 0 as long as it likes.
llvm::Expected<std::string> runTool(llvm::StringRef program,
                                    llvm::ArrayRef<llvm::StringRef> arguments,
                                    unsigned seconds = 0);

} // namespace gatefold

#endif // PASSES_EMIT_NVIDIATOOLS_H
