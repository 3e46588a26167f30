// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: what each kind of file implements behind TensorFile, and the shared
// last step that makes a FileTensor out of bytes.
#ifndef GATEFOLD_RUNTIME_FILES_TENSORSOURCE_H
#define GATEFOLD_RUNTIME_FILES_TENSORSOURCE_H

#include "runtime/files/TensorFile.h"

#include <exception>
#include <unordered_map>

namespace gatefold::files {

/// Names in order, and the way to the tensor of each.
class TensorSource {
public:
  explicit TensorSource(std::string path) : path(std::move(path)) {}
  virtual ~TensorSource();

  /// Appends a name; false where it is already there.
  bool addName(const std::string &name);

  /// The position of a name in `names`.
  std::optional<size_t> find(const std::string &name) const;

  /// The tensor at that position in `names`.
  virtual Result<FileTensor> read(size_t position) const = 0;

  const std::string path;
  std::vector<std::string> names;

private:
  std::unordered_map<std::string, size_t> positions;
};

/// Puts "PLACE: " before the message.
FileError at(const std::string &place, FileError error);

/// "PATH: tensor "NAME"".
std::string tensorPlace(const std::string &path, const std::string &name);

/// A tensor over `bytes` bytes at `data`: refuses booleans other than 0 and 1,
/// copies where the data is not aligned for its element. The error names no
/// place.
Result<FileTensor> finishTensor(std::string name, ElementKind element,
                                std::vector<int64_t> shape, const char *data,
                                size_t bytes,
                                std::shared_ptr<const void> keepAlive);

/// Runs `body`, which returns a Result or an optional FileError, and turns an
/// exception (memory that ran out) into an error: callers are compiled without
/// exceptions.
template <typename Body>
auto guarded(const std::string &path, Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception &exception) {
    return FileError{path + ": " + exception.what(), ""};
  }
}

/// The file's name without folder and without the last `endingBytes` bytes.
std::string stemOf(const std::string &path, size_t endingBytes);

/// The folder that the path stands in, "." where it names none.
std::string folderOf(const std::string &path);

bool endsWith(std::string_view text, std::string_view ending);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_TENSORSOURCE_H
