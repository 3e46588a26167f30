// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: files as read-only memory, and paths that stay inside a folder.
#ifndef GATEFOLD_RUNTIME_FILES_FILEMAPPING_H
#define GATEFOLD_RUNTIME_FILES_FILEMAPPING_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

/// A regular file mapped read-only.
class FileMapping {
public:
  /// Maps the whole file. Never blocks: what is not a regular file (fifo,
  /// device, socket, folder) is refused. `followLinks` false refuses a path
  /// whose last part is a symbolic link.
  static Result<std::shared_ptr<const FileMapping>>
  open(const std::string &path, bool followLinks = true);

  ~FileMapping();
  FileMapping(const FileMapping &) = delete;
  FileMapping &operator=(const FileMapping &) = delete;

  const char *data() const { return address; }
  size_t size() const { return length; }
  std::string_view text() const { return {address, length}; }

private:
  FileMapping(const char *address, size_t length)
      : address(address), length(length) {}

  const char *address;
  size_t length;
};

/// The canonical path of the file `name` that stands in `folder`; an error
/// where it leads out of `folder` by symbolic links. `name` is one path part.
Result<std::string> resolveInside(const std::string &folder,
                                  const std::string &name);

/// What the path is, for a message: "a folder", "a fifo", ...
std::string kindOfFile(unsigned mode);

/// The text of an `errno` value.
std::string systemMessage(int code);

/// A buffer aligned for every element type, or null where memory is short.
std::shared_ptr<char> allocateBuffer(size_t bytes);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_FILEMAPPING_H
