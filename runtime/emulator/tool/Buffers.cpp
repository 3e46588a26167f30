// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Buffers.cpp - A kernel's arguments as the user writes them ---------===//

#include "runtime/emulator/tool/Buffers.h"
#include "runtime/files/TensorFile.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace gatefold;
using namespace gatefold::emulator;

using files::ElementKind;

static constexpr ElementKind elements[] = {
    ElementKind::f16, ElementKind::bf16, ElementKind::f32, ElementKind::f64,
    ElementKind::i8,  ElementKind::i16,  ElementKind::i32, ElementKind::i64,
    ElementKind::u8,  ElementKind::u16,  ElementKind::u32, ElementKind::u64};

static std::optional<ElementKind> elementNamed(StringRef name) {
  for (ElementKind element : elements)
    if (name == files::elementName(element))
      return element;
  return std::nullopt;
}

static const fltSemantics *floatOf(ElementKind element) {
  switch (element) {
  case ElementKind::f16:
    return &APFloat::IEEEhalf();
  case ElementKind::bf16:
    return &APFloat::BFloat();
  case ElementKind::f32:
    return &APFloat::IEEEsingle();
  case ElementKind::f64:
    return &APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

/// The bytes of a number; floats are rounded to nearest.
static Expected<std::vector<uint8_t>> numberBytes(ElementKind element,
                                                  StringRef text) {
  unsigned bytes = files::elementBytes(element);
  APInt bits(bytes * 8, 0);
  if (const fltSemantics *semantics = floatOf(element)) {
    APFloat value(*semantics);
    Expected<APFloat::opStatus> status =
        value.convertFromString(text, APFloat::rmNearestTiesToEven);
    if (!status) {
      consumeError(status.takeError());
      return createStringError("`" + text + "` is no number");
    }
    bits = value.bitcastToAPInt();
  } else {
    bool isSigned = StringRef(files::elementName(element)).starts_with("i");
    bool negative = text.consume_front("-");
    APInt value;
    if (text.getAsInteger(0, value))
      return createStringError("`" + text + "` is no whole number");
    value = value.zext(std::max(value.getBitWidth(), 64u) + 1);
    if (negative)
      value.negate();
    bool fits = isSigned || negative ? value.isSignedIntN(bytes * 8) && isSigned
                                     : value.isIntN(bytes * 8);
    if (!fits)
      return createStringError("`" + Twine(negative ? "-" : "") + text +
                               "` is no " + files::elementName(element));
    bits = value.trunc(bytes * 8);
  }
  uint64_t word = bits.getZExtValue();
  const auto *first = reinterpret_cast<const uint8_t *>(&word);
  return std::vector<uint8_t>(first, first + bytes);
}

/// `[4,128]`
static bool parseShape(StringRef text, std::vector<int64_t> &shape) {
  if (!text.consume_front("[") || !text.consume_back("]"))
    return false;
  if (text.trim().empty())
    return true;
  for (StringRef part : split(text, ',')) {
    int64_t size;
    if (part.trim().getAsInteger(10, size))
      return false;
    shape.push_back(size);
  }
  return true;
}

static Error parseBuffer(StringRef text, Buffer &buffer) {
  auto [what, alignment] = text.rsplit('@');
  if (!alignment.empty() && alignment.getAsInteger(10, buffer.alignment))
    return createStringError("`" + alignment + "` is no alignment");
  if (what.ends_with(".npy")) {
    files::Result<files::FileTensor> tensor = files::readNpy(what.str());
    if (!tensor)
      return createStringError(tensor.error().message +
                               (tensor.error().hint.empty()
                                    ? ""
                                    : "\nhint: " + tensor.error().hint));
    buffer.element = tensor->element;
    buffer.shape = tensor->shape;
    buffer.bytes = tensor->bytes;
    const auto *data = static_cast<const uint8_t *>(tensor->data);
    buffer.values.assign(data, data + tensor->bytes);
    buffer.isInput = true;
    return Error::success();
  }
  auto [type, fill] = what.split(':');
  size_t bracket = type.find('[');
  std::optional<ElementKind> element = elementNamed(type.substr(0, bracket));
  if (!element || bracket == StringRef::npos ||
      !parseShape(type.substr(bracket), buffer.shape))
    return createStringError(
        "`" + text +
        "` is no buffer\nhint: a file `x.npy`, memory that nobody "
        "has written `f32[4,128]`, or filled with a number `f32[4,128]:0`");
  buffer.element = *element;
  files::Result<uint64_t> bytes =
      files::denseBytes(buffer.shape, files::elementBytes(*element) * 8);
  if (!bytes)
    return createStringError(bytes.error().message);
  if (*bytes > (uint64_t(1) << 31))
    return createStringError("`" + text + "` is more than 2 GiB");
  buffer.bytes = *bytes;
  if (fill.empty())
    return Error::success();
  Expected<std::vector<uint8_t>> value = numberBytes(*element, fill);
  if (!value)
    return value.takeError();
  for (uint64_t i = 0; i < buffer.bytes; i += value->size())
    buffer.values.insert(buffer.values.end(), value->begin(), value->end());
  return Error::success();
}

Buffer *Arguments::find(StringRef name) {
  for (Buffer &buffer : buffers)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

Error Arguments::add(StringRef text) {
  ArgumentText argument;
  argument.text = text.str();
  if (text == "null") {
    argument.number = Argument::of(uint64_t(0));
    list.push_back(std::move(argument));
    return Error::success();
  }
  auto [type, number] = text.split(':');
  if (std::optional<ElementKind> element = elementNamed(type)) {
    Expected<std::vector<uint8_t>> bytes = numberBytes(*element, number);
    if (!bytes)
      return bytes.takeError();
    argument.number.bytes = std::move(*bytes);
    list.push_back(std::move(argument));
    return Error::success();
  }
  auto [name, offset] = text.split('+');
  if (Buffer *buffer = find(name)) {
    argument.buffer = buffer - buffers.data();
    if (!offset.empty() && offset.getAsInteger(10, argument.offset))
      return createStringError("`" + offset + "` is no number of bytes");
    list.push_back(std::move(argument));
    return Error::success();
  }
  Buffer buffer;
  size_t equals = text.find('=');
  if (equals != StringRef::npos) {
    buffer.name = text.take_front(equals).str();
    text = text.drop_front(equals + 1);
  } else {
    buffer.name = sys::path::stem(text).str();
  }
  if (equals == StringRef::npos && !text.contains(".npy"))
    return createStringError(
        "`" + text +
        "` is no argument\nhint: a number `i32:5`, a buffer "
        "`x=x.npy`, `y=f32[4,128]` or `y=f32[4,128]:0`, a buffer again `x` or "
        "`x+BYTES`, `null`");
  if (find(buffer.name))
    return createStringError("two buffers are called `" + buffer.name + "`");
  if (Error error = parseBuffer(text, buffer))
    return error;
  argument.buffer = buffers.size();
  buffers.push_back(std::move(buffer));
  list.push_back(std::move(argument));
  return Error::success();
}

Expected<std::vector<Argument>> Arguments::place(Device &device) {
  for (Buffer &buffer : buffers) {
    Expected<uint64_t> address =
        device.allocate(buffer.bytes, buffer.alignment, buffer.name);
    if (!address)
      return address.takeError();
    buffer.address = *address;
    if (Error error = device.copyIn(*address, buffer.values))
      return std::move(error);
  }
  std::vector<Argument> arguments;
  for (const ArgumentText &argument : list)
    arguments.push_back(
        argument.buffer
            ? Argument::of(buffers[*argument.buffer].address + argument.offset)
            : argument.number);
  return arguments;
}

double gatefold::emulator::elementValue(const Buffer &buffer,
                                        const uint8_t *element) {
  unsigned bytes = files::elementBytes(buffer.element);
  uint64_t word = 0;
  memcpy(&word, element, bytes);
  APInt bits(bytes * 8, word);
  if (const fltSemantics *semantics = floatOf(buffer.element)) {
    APFloat value(*semantics, bits);
    bool lost;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
    return value.convertToDouble();
  }
  StringRef name = files::elementName(buffer.element);
  return bits.roundToDouble(name.starts_with("i"));
}
