// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Tensors.cpp - Tensors of a run and of files ------------------------===//

#include "frontend/tools/gatefold/Tensors.h"
#include "frontend/tools/gatefold/Messages.h"
#include "runtime/Half.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace llvm;

namespace gatefold::tool {
namespace {

constexpr uint8_t integerCode = kDLInt, floatCode = kDLFloat,
                  bfloatCode = kDLBfloat, boolCode = kDLBool;
/// So many values at most are printed one by one.
constexpr int64_t fewValues = 16;

Error error(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

template <typename T> T load(const void *data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}
template <typename T> void store(void *data, int64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

bool isFileFloat(files::ElementKind kind) {
  return kind <= files::ElementKind::f64;
}

double loadFloat(const files::FileTensor &tensor, int64_t index) {
  switch (tensor.element) {
  case files::ElementKind::f16:
    return runtime::fromF16(load<uint16_t>(tensor.data, index));
  case files::ElementKind::bf16:
    return runtime::fromBf16(load<uint16_t>(tensor.data, index));
  case files::ElementKind::f32:
    return load<float>(tensor.data, index);
  default:
    return load<double>(tensor.data, index);
  }
}

/// The integer at a place; false where it does not fit i64.
bool loadInteger(const files::FileTensor &tensor, int64_t index,
                 int64_t &value) {
  switch (tensor.element) {
  case files::ElementKind::i8:
    value = load<int8_t>(tensor.data, index);
    return true;
  case files::ElementKind::i16:
    value = load<int16_t>(tensor.data, index);
    return true;
  case files::ElementKind::i32:
    value = load<int32_t>(tensor.data, index);
    return true;
  case files::ElementKind::i64:
    value = load<int64_t>(tensor.data, index);
    return true;
  case files::ElementKind::u8:
    value = load<uint8_t>(tensor.data, index);
    return true;
  case files::ElementKind::u16:
    value = load<uint16_t>(tensor.data, index);
    return true;
  case files::ElementKind::u32:
    value = load<uint32_t>(tensor.data, index);
    return true;
  default: {
    uint64_t wide = load<uint64_t>(tensor.data, index);
    value = static_cast<int64_t>(wide);
    return wide <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  }
  }
}

/// What is between two numbers of f32 rounds once, not by way of f32.
uint16_t roundToHalf(gatefold_element element, double value) {
  float single = runtime::toOddFloat(value);
  return element.code == bfloatCode ? runtime::toBf16(single)
                                    : runtime::toF16(single);
}

bool sameElement(files::ElementKind kind, gatefold_element element) {
  switch (kind) {
  case files::ElementKind::f16:
    return element.code == floatCode && element.bits == 16;
  case files::ElementKind::bf16:
    return element.code == bfloatCode;
  case files::ElementKind::f32:
    return element.code == floatCode && element.bits == 32;
  case files::ElementKind::f64:
    return element.code == floatCode && element.bits == 64;
  case files::ElementKind::i32:
    return element.code == integerCode && element.bits == 32;
  case files::ElementKind::i64:
    return element.code == integerCode && element.bits == 64;
  case files::ElementKind::boolean:
    return element.code == boolCode;
  default:
    return false;
  }
}

} // namespace

bool isFloat(gatefold_element element) {
  return element.code == floatCode || element.code == bfloatCode;
}

StringRef spelling(gatefold_element element) {
  if (element.code == boolCode)
    return "bool";
  if (element.code == bfloatCode)
    return "bf16";
  if (element.code == floatCode)
    return element.bits == 64 ? "f64" : element.bits == 32 ? "f32" : "f16";
  return element.bits == 64 ? "i64" : "i32";
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [place, size] : enumerate(shape))
    text += (place ? ", " : "") + std::to_string(size);
  return text + "]";
}

Error toError(const files::FileError &failure) {
  return error(failure.message +
               (failure.hint.empty() ? "" : "\nhint: " + failure.hint));
}

Expected<HostTensor> HostTensor::create(gatefold_element element,
                                        std::vector<int64_t> shape) {
  auto bytes = files::denseBytes(shape, element.bits);
  if (!bytes)
    return toError(bytes.error());
  HostTensor tensor;
  tensor.type = element;
  tensor.dimensions = std::move(shape);
  // aligned_alloc wants a whole number of alignments.
  size_t rounded = alignTo(std::max<uint64_t>(*bytes, 1), 64);
  tensor.bytes = rounded < *bytes ? nullptr : std::aligned_alloc(64, rounded);
  if (!tensor.bytes)
    return error("no memory for a tensor " + shapeText(tensor.dimensions));
  std::memset(tensor.bytes, 0, rounded);
  tensor.owner =
      std::shared_ptr<const void>(tensor.bytes, [](const void *data) {
        std::free(const_cast<void *>(data));
      });
  return tensor;
}

Expected<HostTensor> HostTensor::convert(const files::FileTensor &source,
                                         gatefold_element element,
                                         const Twine &what) {
  if (sameElement(source.element, element)) {
    HostTensor tensor;
    tensor.type = element;
    tensor.dimensions = source.shape;
    tensor.bytes = const_cast<void *>(source.data);
    tensor.owner = source.keepAlive;
    return tensor;
  }
  bool floats = isFileFloat(source.element) && isFloat(element);
  bool integers = !isFileFloat(source.element) &&
                  source.element != files::ElementKind::boolean &&
                  element.code == integerCode;
  if (!floats && !integers)
    return error(what + " is " +
                 (source.element == files::ElementKind::boolean
                      ? "bool"
                      : files::elementName(source.element)) +
                 ", expected " + spelling(element));
  Expected<HostTensor> tensor = create(element, source.shape);
  if (!tensor)
    return tensor;
  for (int64_t i = 0, n = tensor->count(); i < n; ++i) {
    if (floats) {
      tensor->set(i, loadFloat(source, i));
      continue;
    }
    int64_t value;
    bool fits = loadInteger(source, i, value) &&
                (element.bits == 64 || isInt<32>(value));
    if (!fits)
      return error(what + ": value number " + Twine(i) + " does not fit " +
                   spelling(element));
    if (element.bits == 32)
      store<int32_t>(tensor->bytes, i, static_cast<int32_t>(value));
    else
      store<int64_t>(tensor->bytes, i, value);
  }
  return tensor;
}

const DLTensor *HostTensor::dl() const {
  return const_cast<HostTensor *>(this)->dl();
}

DLTensor *HostTensor::dl() {
  view = DLTensor{};
  view.data = bytes;
  view.device = {kDLCPU, 0};
  view.ndim = dimensions.size();
  view.dtype = {type.code, type.bits, 1};
  view.shape = dimensions.data();
  return &view;
}

int64_t HostTensor::count() const {
  int64_t product = 1;
  for (int64_t size : dimensions)
    product *= size;
  return product;
}

int64_t HostTensor::integerAt(int64_t index) const {
  if (type.code == boolCode)
    return load<uint8_t>(bytes, index);
  return type.bits == 64 ? load<int64_t>(bytes, index)
                         : load<int32_t>(bytes, index);
}

double HostTensor::at(int64_t index) const {
  if (type.code == bfloatCode)
    return runtime::fromBf16(load<uint16_t>(bytes, index));
  if (type.code != floatCode)
    return integerAt(index);
  if (type.bits == 16)
    return runtime::fromF16(load<uint16_t>(bytes, index));
  return type.bits == 64 ? load<double>(bytes, index)
                         : load<float>(bytes, index);
}

void HostTensor::set(int64_t index, double value) {
  if (type.code == boolCode)
    store<uint8_t>(bytes, index, value != 0);
  else if (type.code == integerCode && type.bits == 32)
    store<int32_t>(bytes, index, static_cast<int32_t>(value));
  else if (type.code == integerCode)
    store<int64_t>(bytes, index, static_cast<int64_t>(value));
  else if (type.bits == 16)
    store<uint16_t>(bytes, index, roundToHalf(type, value));
  else if (type.bits == 32)
    store<float>(bytes, index, static_cast<float>(value));
  else
    store<double>(bytes, index, value);
}

files::FileTensor HostTensor::toFile(StringRef name) const {
  files::FileTensor tensor;
  tensor.name = name.str();
  if (type.code == boolCode)
    tensor.element = files::ElementKind::boolean;
  else if (type.code == bfloatCode)
    tensor.element = files::ElementKind::bf16;
  else if (type.code == floatCode)
    tensor.element = type.bits == 64   ? files::ElementKind::f64
                     : type.bits == 32 ? files::ElementKind::f32
                                       : files::ElementKind::f16;
  else
    tensor.element =
        type.bits == 64 ? files::ElementKind::i64 : files::ElementKind::i32;
  tensor.shape = dimensions;
  tensor.data = bytes;
  tensor.bytes = byteSize();
  tensor.keepAlive = owner;
  return tensor;
}

namespace {
struct Summary {
  double least = 0, mean = 0, largest = 0;
};
Summary summarise(const HostTensor &tensor) {
  Summary summary;
  int64_t count = tensor.count();
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.at(i);
    summary.mean += value / count;
    if (i == 0 || value < summary.least || std::isnan(value))
      summary.least = value;
    if (i == 0 || value > summary.largest || std::isnan(value))
      summary.largest = value;
  }
  return summary;
}
} // namespace

void HostTensor::print(raw_ostream &out, StringRef name) const {
  out << name << "  " << spelling(type) << shapeText(dimensions);
  if (count() == 0) {
    out << "  empty\n";
    return;
  }
  Summary summary = summarise(*this);
  out << formatv("  least {0:f6}  mean {1:f6}  largest {2:f6}\n", summary.least,
                 summary.mean, summary.largest);
  if (count() > fewValues)
    return;
  out << " ";
  for (int64_t i = 0; i < count(); ++i) {
    if (isFloat(type))
      out << formatv(" {0:f6}", at(i));
    else
      out << " " << integerAt(i);
  }
  out << "\n";
}

json::Object HostTensor::toJson(StringRef name) const {
  json::Object object{{"name", name.str()},
                      {"element", spelling(type).str()},
                      {"shape", json::Array(shape())}};
  if (count() == 0)
    return object;
  Summary summary = summarise(*this);
  object["least"] = jsonNumber(summary.least);
  object["mean"] = jsonNumber(summary.mean);
  object["largest"] = jsonNumber(summary.largest);
  if (count() <= fewValues) {
    json::Array values;
    for (int64_t i = 0; i < count(); ++i)
      if (isFloat(type))
        values.push_back(jsonNumber(at(i)));
      else
        values.push_back(integerAt(i));
    object["values"] = std::move(values);
  }
  return object;
}

// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere, which
// the standard library's distributions are not.
uint64_t RandomNumbers::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double RandomNumbers::uniform() { return (next() >> 11) * 0x1.0p-53; }

double RandomNumbers::normal() {
  // Box-Muller; 1 - uniform() is never 0.
  double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

int64_t RandomNumbers::below(int64_t bound) {
  return bound <= 0 ? 0 : static_cast<int64_t>(next() % bound);
}

uint64_t seedFor(uint64_t seed, StringRef name) {
  return seed * 0x9e3779b97f4a7c15 ^ xxh3_64bits(name);
}

} // namespace gatefold::tool
