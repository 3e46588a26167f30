// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Files.cpp - Reading and writing texts ------------------------------===//

#include "frontend/tools/gatefold/Files.h"
#include "frontend/text/Source.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace gatefold::tool {

static Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<std::string> readText(StringRef path) {
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return error(path + ": " + code.message());
  if (!sys::fs::is_regular_file(status))
    return error(path + ": not a regular file");
  if (status.getSize() > text::Sources::maximumBytes)
    return error(path + ": larger than 64 MiB");
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return error(path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Error writeText(StringRef path, StringRef contents) {
  if (path == "-") {
    outs() << contents;
    outs().flush();
    return Error::success();
  }
  // writeToOutput writes a temporary file beside `path` and renames it.
  return handleErrors(writeToOutput(path,
                                    [&](raw_ostream &out) {
                                      out << contents;
                                      return Error::success();
                                    }),
                      [&](const ErrorInfoBase &info) {
                        return error(path + ": " + info.message());
                      });
}

} // namespace gatefold::tool
