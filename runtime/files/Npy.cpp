// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads npy files of versions 1.0, 2.0 and 3.0.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "runtime/files/Npy.h"

#include "runtime/files/FileMapping.h"
#include "runtime/files/NpyDictionary.h"
#include "runtime/files/TensorSource.h"

#include <cstring>

namespace gatefold::files {

static constexpr std::string_view magic{"\x93NUMPY", 6};

Result<size_t> npyDataStart(std::string_view prefix) {
  if (prefix.substr(0, magic.size()) != magic)
    return FileError{"not an npy file: the magic \\x93NUMPY is missing", ""};
  if (prefix.size() < npyPrefixBytes)
    return FileError{"cut short within the npy header", ""};
  auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(prefix[i]));
  };
  size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0)
    return FileError{"npy version " + std::to_string(major) + "." +
                         std::to_string(minor) +
                         " is not supported; expected 1.0, 2.0 or 3.0",
                     ""};
  size_t start = 10 + (byte(8) | byte(9) << 8);
  if (major != 1)
    start = 12 + (byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24);
  if (start > maxNpyHeader)
    return FileError{"npy header of " + std::to_string(start) +
                         " bytes exceeds the limit of " +
                         std::to_string(maxNpyHeader),
                     ""};
  if (start < npyPrefixBytes)
    return FileError{"the npy header is empty", ""};
  return start;
}

/// The element type of a type text such as "<f4".
static Result<ElementKind> parseElement(std::string_view text) {
  std::string found = "element type " + quotedName(text);
  if (text.size() < 2)
    return FileError{found + " is not valid", ""};
  char order = text[0], kind = text[1];
  std::string_view width = text.substr(2);
  if (order != '<' && order != '>' && order != '|' && order != '=')
    return FileError{found + " is not valid", ""};
  if (kind == 'O')
    return FileError{"an array of Python objects (pickle) is refused, as "
                     "loading it may run code",
                     "convert it with .astype(numpy.float32) before saving"};
  if (kind == 'V')
    return FileError{found + " (raw bytes) is not supported",
                     "NumPy saves bfloat16 this way; convert it with "
                     ".astype(numpy.float32) before saving"};
  static const struct {
    char kind;
    const char *width;
    ElementKind element;
  } known[] = {
      {'f', "2", ElementKind::f16}, {'f', "4", ElementKind::f32},
      {'f', "8", ElementKind::f64}, {'i', "1", ElementKind::i8},
      {'i', "2", ElementKind::i16}, {'i', "4", ElementKind::i32},
      {'i', "8", ElementKind::i64}, {'u', "1", ElementKind::u8},
      {'u', "2", ElementKind::u16}, {'u', "4", ElementKind::u32},
      {'u', "8", ElementKind::u64}, {'b', "1", ElementKind::boolean},
  };
  for (const auto &type : known) {
    if (type.kind != kind || width != type.width)
      continue;
    if (elementBytes(type.element) == 1)
      return type.element;
    if (order == '>')
      return FileError{found + " is big-endian, which is not supported",
                       "convert it with .astype(" +
                           quotedName("<" + std::string(text.substr(1))) + ")"};
    if (order == '<')
      return type.element;
    return FileError{found + " names no byte order", ""};
  }
  return FileError{found + " is not supported",
                   "expected floats of 16, 32 or 64 bits, integers or "
                   "booleans"};
}

Result<NpyHeader> parseNpyHeader(std::string_view head) {
  Result<size_t> start = npyDataStart(head.substr(0, npyPrefixBytes));
  if (!start)
    return start.error();
  if (head.size() != *start)
    return FileError{"cut short within the npy header", ""};
  Result<NpyDictionary> dictionary =
      parseNpyDictionary(head.substr(head[6] == 1 ? 10 : 12));
  if (!dictionary)
    return at("npy header", dictionary.error());
  Result<ElementKind> element = parseElement(dictionary->type);
  if (!element)
    return element.error();
  Result<uint64_t> bytes =
      denseBytes(dictionary->shape, elementBytes(*element) * 8);
  if (!bytes)
    return bytes.error();
  NpyHeader header;
  header.element = *element;
  header.shape = std::move(dictionary->shape);
  header.fortranOrder = dictionary->fortranOrder;
  header.dataBytes = *bytes;
  return header;
}

/// Copies column-major elements of `width` bytes to row-major order. `shape`
/// has no dimension 0.
static void copyTransposed(const std::vector<int64_t> &shape, size_t width,
                           const char *source, char *target) {
  size_t rank = shape.size();
  std::vector<size_t> strides(rank), index(rank, 0);
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    strides[i] = count * width;
    count *= static_cast<size_t>(shape[i]);
  }
  size_t offset = 0;
  for (size_t element = 0; element < count; ++element) {
    std::memcpy(target + element * width, source + offset, width);
    for (size_t i = rank; i-- > 0;) {
      offset += strides[i];
      if (++index[i] < static_cast<size_t>(shape[i]))
        break;
      offset -= strides[i] * index[i];
      index[i] = 0;
    }
  }
}

Result<FileTensor> npyTensor(std::string name, NpyHeader header,
                             const char *data,
                             std::shared_ptr<const void> keepAlive) {
  if (header.fortranOrder && header.shape.size() > 1 && header.dataBytes != 0) {
    std::shared_ptr<char> copy = allocateBuffer(header.dataBytes);
    if (!copy)
      return FileError{"not enough memory for " +
                           std::to_string(header.dataBytes) + " bytes",
                       ""};
    copyTransposed(header.shape, elementBytes(header.element), data,
                   copy.get());
    data = copy.get();
    keepAlive = copy;
  }
  return finishTensor(std::move(name), header.element, std::move(header.shape),
                      data, header.dataBytes, std::move(keepAlive));
}

static Result<FileTensor> readMapped(const FileMapping &mapping,
                                     std::string name,
                                     std::shared_ptr<const void> keepAlive) {
  std::string_view text = mapping.text();
  Result<size_t> start = npyDataStart(text.substr(0, npyPrefixBytes));
  if (!start)
    return start.error();
  Result<NpyHeader> header = parseNpyHeader(text.substr(0, *start));
  if (!header)
    return header.error();
  size_t found = text.size() - *start;
  if (found != header->dataBytes)
    return FileError{
        "expected " + std::to_string(header->dataBytes) + " bytes for " +
            elementName(header->element) + " of shape " +
            shapeText(header->shape) + ", found " + std::to_string(found),
        found < header->dataBytes ? "the file may be cut short" : ""};
  return npyTensor(std::move(name), header.take(), text.data() + *start,
                   std::move(keepAlive));
}

Result<FileTensor> readNpyFile(const std::string &path, std::string name,
                               bool followLinks) {
  auto mapping = FileMapping::open(path, followLinks);
  if (!mapping)
    return mapping.error();
  Result<FileTensor> tensor = readMapped(**mapping, std::move(name), *mapping);
  if (!tensor)
    return at(path, tensor.error());
  return tensor;
}

Result<FileTensor> readNpy(const std::string &path) {
  return guarded(path, [&] {
    return readNpyFile(path, stemOf(path, endsWith(path, ".npy") ? 4 : 0),
                       /*followLinks=*/true);
  });
}

} // namespace gatefold::files
