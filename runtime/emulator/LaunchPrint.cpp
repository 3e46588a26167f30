// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- LaunchPrint.cpp - `vprintf` of a kernel ----------------------------===//

#include "runtime/emulator/Launch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace llvm;
using namespace gatefold::emulator;

namespace {
constexpr size_t mostTextBytes = 1 << 16;
constexpr size_t mostPrintedBytes = 1 << 24;
} // namespace

/// Reads a string of the kernel; nothing after a finding.
static bool readText(Machine &machine, Thread &thread, uint64_t address,
                     std::string &text) {
  while (text.size() < mostTextBytes) {
    void *byte = machine.access(thread, address++, 1, 1, AccessKind::Read);
    if (!byte)
      return false;
    char character;
    memcpy(&character, byte, 1);
    if (!character)
      return true;
    text += character;
  }
  return true;
}

/// Arguments follow each other, each at a multiple of its size: 4 bytes, or 8.
uint32_t Launch::print(Thread &thread, uint64_t format, uint64_t arguments) {
  std::string text, output;
  if (!readText(*this, thread, format, text))
    return -1;
  uint32_t count = 0;
  uint64_t at = arguments;
  auto next = [&](unsigned bytes, void *value) {
    at = alignTo(at, bytes);
    void *memory = access(thread, at, bytes, 1, AccessKind::Read);
    if (memory)
      memcpy(value, memory, bytes);
    at += bytes;
    ++count;
    return memory != nullptr;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      output += text[i];
      continue;
    }
    size_t end = text.find_first_of("diouxXcspfFeEgGaA%n", i + 1);
    if (end == std::string::npos)
      break;
    char kind = text[end];
    if (kind == '%') {
      output += '%';
      i = end;
      continue;
    }
    // Flags, width and precision; the length says how wide an integer is. A
    // width from an argument is not taken.
    StringRef between = StringRef(text).slice(i + 1, end);
    bool isLong = between.contains('l') || between.contains('j') ||
                  between.contains('z') || kind == 'p';
    std::string flags;
    for (char character : between)
      if (StringRef("-+ #0123456789.").contains(character) && flags.size() < 8)
        flags += character;
    i = end;
    std::string specification = "%" + flags;
    char buffer[512];
    buffer[0] = 0;
    if (kind == 's') {
      uint64_t address;
      std::string argument;
      if (!next(8, &address) || !readText(*this, thread, address, argument))
        return -1;
      output += argument;
      continue;
    }
    if (StringRef("fFeEgGaA").contains(kind)) {
      double value;
      if (!next(8, &value))
        return -1;
      snprintf(buffer, sizeof(buffer), (specification + kind).c_str(), value);
    } else if (isLong) {
      uint64_t value;
      if (!next(8, &value))
        return -1;
      snprintf(buffer, sizeof(buffer),
               (specification + "ll" + (kind == 'p' ? 'x' : kind)).c_str(),
               static_cast<unsigned long long>(value));
    } else if (kind != 'n') {
      uint32_t value;
      if (!next(4, &value))
        return -1;
      snprintf(buffer, sizeof(buffer), (specification + kind).c_str(), value);
    }
    output += buffer;
  }
  if (result.printed.size() + output.size() <= mostPrintedBytes)
    result.printed += output;
  return count;
}
