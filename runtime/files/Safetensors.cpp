// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a safetensors file: 8 bytes of header length, a JSON header, the data.
// https://github.com/huggingface/safetensors#format
#include "runtime/files/Safetensors.h"

#include "runtime/files/Json.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace gatefold::files {

static const SafetensorsType knownTypes[] = {
    {"BOOL", 8, ElementKind::boolean}, {"U8", 8, ElementKind::u8},
    {"I8", 8, ElementKind::i8},        {"U16", 16, ElementKind::u16},
    {"I16", 16, ElementKind::i16},     {"F16", 16, ElementKind::f16},
    {"BF16", 16, ElementKind::bf16},   {"U32", 32, ElementKind::u32},
    {"I32", 32, ElementKind::i32},     {"F32", 32, ElementKind::f32},
    {"U64", 64, ElementKind::u64},     {"I64", 64, ElementKind::i64},
    {"F64", 64, ElementKind::f64},     {"F4", 4, std::nullopt},
    {"F6_E2M3", 6, std::nullopt},      {"F6_E3M2", 6, std::nullopt},
    {"F8_E5M2", 8, std::nullopt},      {"F8_E4M3", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt},  {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},      {"C64", 64, std::nullopt},
};

const SafetensorsType *findSafetensorsType(std::string_view name) {
  for (const SafetensorsType &type : knownTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

const char *safetensorsTypeName(ElementKind element) {
  for (const SafetensorsType &type : knownTypes)
    if (type.element == element)
      return type.name;
  return "";
}

/// Takes the header's events: an object of tensors, each an object of `dtype`,
/// `shape` and `data_offsets`, and `__metadata__`, strings by name.
class SafetensorsHeader : public JsonReceiver {
public:
  explicit SafetensorsHeader(SafetensorsSource &source) : source(source) {}

  std::string take(JsonEvent event, size_t depth, std::string &text,
                   uint64_t number) override {
    switch (depth) {
    case 0:
      return event == JsonEvent::beginObject || event == JsonEvent::endObject
                 ? ""
                 : "the header must be an object";
    case 1:
      return takeTop(event, text);
    case 2:
      return inMetadata ? takeMetadata(event) : takeField(event, text);
    default:
      return takeNumber(event, number);
    }
  }

private:
  std::string takeTop(JsonEvent event, std::string &text) {
    switch (event) {
    case JsonEvent::key:
      inMetadata = text == "__metadata__";
      if (text.find('\0') != std::string::npos)
        return "NUL in the tensor name " + quotedName(text);
      name = text;
      return "";
    case JsonEvent::beginObject:
      entry = {};
      field = Field::none;
      hasType = hasShape = false;
      offsets.clear();
      return "";
    case JsonEvent::endObject:
      return inMetadata ? "" : finishEntry();
    default:
      return quotedName(name) + " must be an object";
    }
  }

  std::string takeMetadata(JsonEvent event) {
    if (event == JsonEvent::key)
      field = Field::none;
    else if (event != JsonEvent::text)
      return "__metadata__ must hold strings only";
    return "";
  }

  std::string takeField(JsonEvent event, std::string &text) {
    if (event == JsonEvent::key) {
      if (text == "dtype")
        field = Field::type;
      else if (text == "shape")
        field = Field::shape;
      else if (text == "data_offsets")
        field = Field::offsets;
      else
        return prefix() + "unknown field " + quotedName(text);
      return "";
    }
    if (field == Field::type) {
      if (event != JsonEvent::text)
        return prefix() + "dtype must be a string";
      entry.type = findSafetensorsType(text);
      if (!entry.type)
        return prefix() + "unknown dtype " + quotedName(text);
      hasType = true;
      return "";
    }
    bool isArray =
        event == JsonEvent::beginArray || event == JsonEvent::endArray;
    if (!isArray)
      return prefix() + (field == Field::shape ? "shape" : "data_offsets") +
             " must be an array of whole numbers";
    if (field == Field::shape)
      hasShape = true;
    return "";
  }

  std::string takeNumber(JsonEvent event, uint64_t number) {
    const char *fieldName = field == Field::shape ? "shape" : "data_offsets";
    if (event != JsonEvent::whole)
      return prefix() + fieldName + " must be an array of whole numbers";
    if (field == Field::offsets) {
      if (offsets.size() == 2)
        return prefix() + "data_offsets must be two numbers";
      offsets.push_back(number);
      return "";
    }
    if (entry.shape.size() == maxRank)
      return prefix() + "rank exceeds the limit of " + std::to_string(maxRank);
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return prefix() + "dimension " + std::to_string(number) + " overflows";
    entry.shape.push_back(static_cast<int64_t>(number));
    return "";
  }

  std::string finishEntry() {
    if (!hasType)
      return prefix() + "dtype is missing";
    if (!hasShape)
      return prefix() + "shape is missing";
    if (offsets.size() != 2)
      return prefix() + "data_offsets must be two numbers";
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.begin > entry.end)
      return prefix() + "data_offsets begin at " + std::to_string(entry.begin) +
             " after their end " + std::to_string(entry.end);
    Result<uint64_t> bytes = denseBytes(entry.shape, entry.type->bits);
    if (!bytes)
      return prefix() + bytes.error().message;
    if (*bytes != entry.end - entry.begin)
      return prefix() + "expected " + std::to_string(*bytes) + " bytes for " +
             entry.type->name + " of shape " + shapeText(entry.shape) +
             ", found data_offsets of " +
             std::to_string(entry.end - entry.begin) + " bytes";
    source.addName(name);
    source.entries.push_back(std::move(entry));
    return "";
  }

  std::string prefix() const { return "tensor " + quotedName(name) + ": "; }

  enum class Field { none, type, shape, offsets };

  SafetensorsSource &source;
  std::string name;
  bool inMetadata = false;
  Field field = Field::none;
  SafetensorsSource::Entry entry;
  bool hasType = false;
  bool hasShape = false;
  std::vector<uint64_t> offsets;
};

std::optional<FileError>
SafetensorsSource::checkLayout(uint64_t dataBytes) const {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    const Entry &a = entries[left], &b = entries[right];
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t reached = 0;
  for (size_t position : order) {
    const Entry &entry = entries[position];
    std::string place = "tensor " + quotedName(names[position]);
    if (entry.end > dataBytes)
      return FileError{place + ": ends at byte " + std::to_string(entry.end) +
                           " of the data, which has " +
                           std::to_string(dataBytes) + " bytes",
                       "the file may be cut short"};
    if (entry.begin < reached)
      return FileError{place + ": overlaps the tensor before it: begins at " +
                           std::to_string(entry.begin) + ", expected " +
                           std::to_string(reached),
                       ""};
    if (entry.begin > reached)
      return FileError{place + ": a hole before it: begins at " +
                           std::to_string(entry.begin) + ", expected " +
                           std::to_string(reached),
                       ""};
    reached = entry.end;
  }
  if (reached != dataBytes)
    return FileError{std::to_string(dataBytes - reached) +
                         " bytes after the last tensor",
                     ""};
  return std::nullopt;
}

std::optional<FileError> SafetensorsSource::load() {
  std::string_view text = mapping->text();
  if (text.size() < 8)
    return FileError{"not a safetensors file: expected 8 bytes of header "
                     "length, found " +
                         std::to_string(text.size()),
                     ""};
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | static_cast<unsigned char>(text[i]);
  if (headerBytes > maxSafetensorsHeader)
    return FileError{"header length " + std::to_string(headerBytes) +
                         " exceeds the limit of " +
                         std::to_string(maxSafetensorsHeader) + " bytes",
                     "is this a safetensors file?"};
  if (headerBytes > text.size() - 8)
    return FileError{"header length " + std::to_string(headerBytes) +
                         " exceeds the file's " +
                         std::to_string(text.size() - 8) + " further bytes",
                     "the file may be cut short"};
  std::string_view header = text.substr(8, headerBytes);
  if (header.empty() || header.front() != '{')
    return FileError{"the header must begin with '{'",
                     "is this a safetensors file?"};
  SafetensorsHeader receiver(*this);
  if (std::optional<FileError> error = readJson(header, 4, receiver))
    return at("header", *error);
  dataStart = 8 + headerBytes;
  return checkLayout(text.size() - dataStart);
}

Result<std::shared_ptr<const SafetensorsSource>>
SafetensorsSource::open(const std::string &path, bool followLinks) {
  auto mapping = FileMapping::open(path, followLinks);
  if (!mapping)
    return mapping.error();
  std::shared_ptr<SafetensorsSource> source(new SafetensorsSource(path));
  source->mapping = *mapping;
  if (std::optional<FileError> error = source->load())
    return at(path, *error);
  return std::shared_ptr<const SafetensorsSource>(source);
}

Result<FileTensor> SafetensorsSource::read(size_t position) const {
  const Entry &entry = entries[position];
  std::string place = tensorPlace(path, names[position]);
  if (!entry.type->element)
    return FileError{place + ": element type " + entry.type->name +
                         " is not supported",
                     "store it as F16, BF16 or F32"};
  Result<FileTensor> tensor =
      finishTensor(names[position], *entry.type->element, entry.shape,
                   mapping->data() + dataStart + entry.begin,
                   entry.end - entry.begin, mapping);
  if (!tensor)
    return at(place, tensor.error());
  return tensor;
}

Result<TensorFile> readSafetensors(const std::string &path) {
  return guarded(path, [&]() -> Result<TensorFile> {
    auto source = SafetensorsSource::open(path);
    if (!source)
      return source.error();
    return TensorFile(*source);
  });
}

} // namespace gatefold::files
