// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes npy and safetensors files under a temporary name, then renames.
#include "runtime/files/Write.h"

#include "runtime/files/FileMapping.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/TensorSource.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_set>

namespace gatefold::files {

namespace {

/// A file that appears under its own name only once it is whole.
class PendingFile {
public:
  explicit PendingFile(std::string path) : path(std::move(path)) {}

  ~PendingFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (!temporary.empty())
      ::unlink(temporary.c_str());
  }

  std::optional<FileError> create() {
    target = path;
    struct stat status;
    if (::lstat(path.c_str(), &status) == 0) {
      if (S_ISLNK(status.st_mode)) {
        // The link stays; the file that it leads to is replaced.
        char *resolved = ::realpath(path.c_str(), nullptr);
        if (!resolved)
          return failed("cannot follow the symbolic link");
        target = resolved;
        ::free(resolved);
        if (::stat(target.c_str(), &status) != 0)
          return failed("cannot write");
      }
      // A rename would put a file in the place of /dev/null.
      if (!S_ISREG(status.st_mode))
        return FileError{path + ": expected a regular file or none, found " +
                             kindOfFile(status.st_mode),
                         ""};
    } else if (errno != ENOENT) {
      return failed("cannot write");
    }
    static std::atomic<unsigned> counter{0};
    // Names left by a process that was killed may be in the way.
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string name = folderOf(target) + "/.gatefold-" +
                         std::to_string(::getpid()) + "-" +
                         std::to_string(counter++) + ".tmp";
      descriptor =
          ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor >= 0) {
        temporary = name;
        return std::nullopt;
      }
      if (errno != EEXIST)
        break;
    }
    return failed("cannot create a file in its folder");
  }

  std::optional<FileError> append(const void *data, size_t bytes) {
    const char *rest = static_cast<const char *>(data);
    // Linux writes at most 2^31 - 4096 bytes at once.
    constexpr size_t chunk = size_t(1) << 30;
    while (bytes != 0) {
      ssize_t count = ::write(descriptor, rest, std::min(bytes, chunk));
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return failed("cannot write");
      rest += count;
      bytes -= static_cast<size_t>(count);
    }
    return std::nullopt;
  }

  std::optional<FileError> commit() {
    int closed = ::close(descriptor);
    descriptor = -1;
    if (closed != 0)
      return failed("cannot write");
    if (::rename(temporary.c_str(), target.c_str()) != 0)
      return failed("cannot rename the finished file");
    temporary.clear();
    return std::nullopt;
  }

private:
  FileError failed(const char *what) const {
    return FileError{path + ": " + what + ": " + systemMessage(errno), ""};
  }

  std::string path;
  std::string target;
  std::string temporary;
  int descriptor = -1;
};

std::optional<FileError> checkTensor(const std::string &path,
                                     const FileTensor &tensor) {
  Result<uint64_t> bytes =
      denseBytes(tensor.shape, elementBytes(tensor.element) * 8);
  std::string place = tensorPlace(path, tensor.name);
  if (!bytes)
    return at(place, bytes.error());
  if (*bytes != tensor.bytes)
    return FileError{place + ": expected " + std::to_string(*bytes) +
                         " bytes for " + elementName(tensor.element) +
                         " of shape " + shapeText(tensor.shape) + ", found " +
                         std::to_string(tensor.bytes),
                     ""};
  return std::nullopt;
}

const char *npyType(ElementKind element) {
  switch (element) {
  case ElementKind::f16:
    return "<f2";
  case ElementKind::bf16: // widened
  case ElementKind::f32:
    return "<f4";
  case ElementKind::f64:
    return "<f8";
  case ElementKind::i8:
    return "|i1";
  case ElementKind::i16:
    return "<i2";
  case ElementKind::i32:
    return "<i4";
  case ElementKind::i64:
    return "<i8";
  case ElementKind::u8:
    return "|u1";
  case ElementKind::u16:
    return "<u2";
  case ElementKind::u32:
    return "<u4";
  case ElementKind::u64:
    return "<u8";
  case ElementKind::boolean:
    return "|b1";
  }
  return "";
}

std::string npyHead(const FileTensor &tensor) {
  std::string dictionary = "{'descr': '";
  dictionary += npyType(tensor.element);
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i != 0)
      dictionary += ", ";
    dictionary += std::to_string(tensor.shape[i]);
  }
  dictionary += tensor.shape.size() == 1 ? ",), }" : "), }";
  // The data begins at a multiple of 64, the header ends with a newline.
  while ((10 + dictionary.size() + 1) % 64 != 0)
    dictionary += ' ';
  dictionary += '\n';
  std::string head{"\x93NUMPY\1\0", 8};
  head += static_cast<char>(dictionary.size() & 255);
  head += static_cast<char>(dictionary.size() >> 8);
  return head + dictionary;
}

/// Appends a bf16 tensor as f32, in pieces.
std::optional<FileError> appendWidened(PendingFile &file,
                                       const FileTensor &tensor) {
  constexpr size_t piece = 1 << 16;
  std::vector<uint32_t> wide(piece);
  const char *data = static_cast<const char *>(tensor.data);
  size_t count = tensor.bytes / 2;
  for (size_t first = 0; first < count; first += piece) {
    size_t length = std::min(piece, count - first);
    for (size_t i = 0; i < length; ++i) {
      uint16_t narrow;
      std::memcpy(&narrow, data + (first + i) * 2, 2);
      wide[i] = static_cast<uint32_t>(narrow) << 16;
    }
    if (auto error = file.append(wide.data(), length * 4))
      return error;
  }
  return std::nullopt;
}

/// The JSON header, padded so that the data begins at a multiple of 8; `order`
/// becomes the order of the data.
Result<std::string> safetensorsHead(
    const std::string &path, const std::vector<FileTensor> &tensors,
    const std::vector<std::pair<std::string, std::string>> &metadata,
    std::vector<size_t> &order) {
  order.resize(tensors.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    size_t first = elementBytes(tensors[a].element),
           second = elementBytes(tensors[b].element);
    return first != second ? first > second : a < b;
  });
  // Joined by hand: an ordered nlohmann object looks each new key up among all
  // the old ones.
  using Json = nlohmann::json;
  std::string head = "{";
  auto append = [&](const std::string &key, const Json &value) {
    if (head.size() > 1)
      head += ',';
    head += Json(key).dump() + ':' + value.dump();
  };
  if (!metadata.empty()) {
    Json map = Json::object();
    for (const auto &[key, value] : metadata)
      if (!map.emplace(key, value).second)
        return FileError{path + ": duplicate metadata " + quotedName(key), ""};
    append("__metadata__", map);
  }
  std::unordered_set<std::string> names;
  uint64_t offset = 0;
  for (size_t position : order) {
    const FileTensor &tensor = tensors[position];
    std::string place = tensorPlace(path, tensor.name);
    if (std::optional<FileError> error = checkTensor(path, tensor))
      return *error;
    if (tensor.name == "__metadata__" ||
        tensor.name.find('\0') != std::string::npos)
      return FileError{place + ": the format does not allow this name", ""};
    if (!names.insert(tensor.name).second)
      return FileError{place + ": duplicate name", ""};
    uint64_t end = offset + tensor.bytes;
    try {
      append(tensor.name, {{"dtype", safetensorsTypeName(tensor.element)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}});
    } catch (const Json::type_error &) {
      return FileError{place + ": the name is not UTF-8", ""};
    }
    offset = end;
  }
  head += '}';
  while (head.size() % 8 != 0)
    head += ' ';
  if (head.size() > maxSafetensorsHeader)
    return FileError{path + ": a header of " + std::to_string(head.size()) +
                         " bytes exceeds the format's limit of " +
                         std::to_string(maxSafetensorsHeader),
                     ""};
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i)
    length[i] = static_cast<char>(head.size() >> (8 * i) & 255);
  return length + head;
}

} // namespace

std::optional<FileError> writeNpy(const std::string &path,
                                  const FileTensor &tensor) {
  return guarded(path, [&]() -> std::optional<FileError> {
    if (auto error = checkTensor(path, tensor))
      return error;
    PendingFile file(path);
    if (auto error = file.create())
      return error;
    std::string head = npyHead(tensor);
    if (auto error = file.append(head.data(), head.size()))
      return error;
    auto error = tensor.element == ElementKind::bf16
                     ? appendWidened(file, tensor)
                     : file.append(tensor.data, tensor.bytes);
    return error ? error : file.commit();
  });
}

std::optional<FileError> writeSafetensors(
    const std::string &path, const std::vector<FileTensor> &tensors,
    const std::vector<std::pair<std::string, std::string>> &metadata) {
  return guarded(path, [&]() -> std::optional<FileError> {
    std::vector<size_t> order;
    Result<std::string> head = safetensorsHead(path, tensors, metadata, order);
    if (!head)
      return head.error();
    PendingFile file(path);
    if (auto error = file.create())
      return error;
    if (auto error = file.append(head->data(), head->size()))
      return error;
    for (size_t position : order)
      if (auto error =
              file.append(tensors[position].data, tensors[position].bytes))
        return error;
    return file.commit();
  });
}

} // namespace gatefold::files
