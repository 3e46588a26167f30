// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: the safetensors format, shared by single files and checkpoints.
#ifndef GATEFOLD_RUNTIME_FILES_SAFETENSORS_H
#define GATEFOLD_RUNTIME_FILES_SAFETENSORS_H

#include "runtime/files/FileMapping.h"
#include "runtime/files/TensorSource.h"

namespace gatefold::files {

/// Upper bound of a header, which is also the reference implementation's.
constexpr uint64_t maxSafetensorsHeader = 100000000;

/// An element type of the format. Those that this compiler lacks are known too,
/// as a file may hold them where nobody asks for them.
struct SafetensorsType {
  const char *name;
  unsigned bits;
  std::optional<ElementKind> element;
};

/// The type of that name, or null.
const SafetensorsType *findSafetensorsType(std::string_view name);

/// The name under which the format knows an element type.
const char *safetensorsTypeName(ElementKind element);

/// One mapped and checked file.
class SafetensorsSource : public TensorSource {
public:
  static Result<std::shared_ptr<const SafetensorsSource>>
  open(const std::string &path, bool followLinks = true);

  Result<FileTensor> read(size_t position) const override;

  struct Entry {
    const SafetensorsType *type = nullptr;
    std::vector<int64_t> shape;
    /// From the start of the data, which follows the header.
    uint64_t begin = 0;
    uint64_t end = 0;
  };

private:
  friend class SafetensorsHeader;
  explicit SafetensorsSource(std::string path)
      : TensorSource(std::move(path)) {}
  std::optional<FileError> load();
  std::optional<FileError> checkLayout(uint64_t dataBytes) const;

  std::shared_ptr<const FileMapping> mapping;
  std::vector<Entry> entries;
  uint64_t dataStart = 0;
};

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_SAFETENSORS_H
