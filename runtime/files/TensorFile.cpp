// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front of the readers: choosing one by the kind of file, and access by
// name.
#include "runtime/files/TensorFile.h"

#include "runtime/files/FileMapping.h"
#include "runtime/files/Names.h"
#include "runtime/files/TensorSource.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace gatefold::files {

TensorSource::~TensorSource() = default;

bool TensorSource::addName(const std::string &name) {
  if (!positions.emplace(name, names.size()).second)
    return false;
  names.push_back(name);
  return true;
}

std::optional<size_t> TensorSource::find(const std::string &name) const {
  auto found = positions.find(name);
  if (found == positions.end())
    return std::nullopt;
  return found->second;
}

FileError at(const std::string &place, FileError error) {
  error.message = place + ": " + error.message;
  return error;
}

std::string tensorPlace(const std::string &path, const std::string &name) {
  return path + ": tensor " + quotedName(name);
}

bool endsWith(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() &&
         text.substr(text.size() - ending.size()) == ending;
}

std::string stemOf(const std::string &path, size_t endingBytes) {
  size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.size() >= endingBytes)
    name.resize(name.size() - endingBytes);
  return name;
}

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<FileTensor> finishTensor(std::string name, ElementKind element,
                                std::vector<int64_t> shape, const char *data,
                                size_t bytes,
                                std::shared_ptr<const void> keepAlive) {
  if (element == ElementKind::boolean)
    for (size_t i = 0; i < bytes; ++i)
      if (static_cast<unsigned char>(data[i]) > 1)
        return FileError{
            "a boolean is 0 or 1, found " +
                std::to_string(static_cast<unsigned char>(data[i])) +
                " at element " + std::to_string(i),
            ""};
  if (bytes != 0 &&
      reinterpret_cast<uintptr_t>(data) % elementBytes(element) != 0) {
    std::shared_ptr<char> copy = allocateBuffer(bytes);
    if (!copy)
      return FileError{
          "not enough memory for " + std::to_string(bytes) + " bytes", ""};
    std::memcpy(copy.get(), data, bytes);
    data = copy.get();
    keepAlive = copy;
  }
  FileTensor tensor;
  tensor.name = std::move(name);
  tensor.element = element;
  tensor.shape = std::move(shape);
  tensor.data = data;
  tensor.bytes = bytes;
  tensor.keepAlive = std::move(keepAlive);
  return tensor;
}

TensorFile::TensorFile(std::shared_ptr<const TensorSource> source)
    : source(std::move(source)) {}

const std::string &TensorFile::path() const { return source->path; }

const std::vector<std::string> &TensorFile::names() const {
  return source->names;
}

bool TensorFile::contains(std::string_view name) const {
  return source->find(std::string(name)).has_value();
}

Result<FileTensor> TensorFile::tensor(std::string_view name) const {
  return guarded(source->path, [&]() -> Result<FileTensor> {
    if (std::optional<size_t> position = source->find(std::string(name)))
      return source->read(*position);
    FileError error{source->path + ": no tensor " + quotedName(name), ""};
    if (std::optional<std::string> nearest = nearestName(name, source->names))
      error.hint = "did you mean " + quotedName(*nearest) + "?";
    return error;
  });
}

namespace {

/// A single `.npy` as a file of one tensor.
class SingleSource : public TensorSource {
public:
  SingleSource(std::string path, FileTensor tensor)
      : TensorSource(std::move(path)), tensor(std::move(tensor)) {
    addName(this->tensor.name);
  }
  Result<FileTensor> read(size_t) const override { return tensor; }

private:
  FileTensor tensor;
};

} // namespace

Result<TensorFile> openWeights(const std::string &path) {
  return guarded(path, [&]() -> Result<TensorFile> {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0)
      return FileError{path + ": cannot open: " + systemMessage(errno), ""};
    if (S_ISDIR(status.st_mode))
      return readFolder(path);
    if (!S_ISREG(status.st_mode))
      return FileError{path + ": expected a regular file or a folder, found " +
                           kindOfFile(status.st_mode),
                       ""};
    if (endsWith(path, ".safetensors"))
      return readSafetensors(path);
    if (endsWith(path, ".safetensors.index.json"))
      return readSafetensorsIndex(path);
    if (endsWith(path, ".npz"))
      return readNpz(path);
    if (endsWith(path, ".npy")) {
      Result<FileTensor> tensor = readNpy(path);
      if (!tensor)
        return tensor.error();
      return TensorFile(std::make_shared<SingleSource>(path, tensor.take()));
    }
    FileError error{path + ": not a kind of file that holds weights; expected "
                           ".safetensors, .safetensors.index.json, .npz, .npy "
                           "or a folder of .npy",
                    ""};
    for (const char *ending : {".pt", ".pth", ".bin", ".ckpt", ".pkl"})
      if (endsWith(path, ending))
        error.hint = "such a file may run code when loaded; save the tensors "
                     "with safetensors.torch.save_file";
    return error;
  });
}

} // namespace gatefold::files
