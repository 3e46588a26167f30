// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message.cpp - the bounded text that a handle keeps about its last call.

#include "runtime/Message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace gatefold::runtime {

/// Names longer than this are cut.
static constexpr size_t nameLimit = 200;

void Message::clear() {
  length = 0;
  full = false;
  buffer[0] = '\0';
}

void Message::put(const char *bytes, size_t count) {
  if (full)
    return;
  // Room for the "..." and the end stays free until the text is cut.
  size_t room = sizeof(buffer) - 4 - length;
  if (count > room) {
    count = room;
    full = true;
  }
  memcpy(buffer + length, bytes, count);
  length += count;
  if (full) {
    memcpy(buffer + length, "...", 3);
    length += 3;
  }
  buffer[length] = '\0';
}

void Message::append(const char *format, ...) {
  char piece[512];
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(piece, sizeof(piece), format, arguments);
  va_end(arguments);
  if (count > 0)
    put(piece,
        (size_t)count < sizeof(piece) ? (size_t)count : sizeof(piece) - 1);
}

void Message::appendText(const char *text) { put(text, strlen(text)); }

void Message::appendName(const char *name) {
  char piece[nameLimit] = {};
  size_t count = strnlen(name, nameLimit + 1);
  bool isCut = count > nameLimit;
  if (isCut) {
    count = nameLimit;
    // Not within a character of UTF-8.
    while (count > 0 && ((unsigned char)name[count] & 0xC0) == 0x80)
      --count;
  }
  for (size_t i = 0; i < count; ++i) {
    unsigned char byte = (unsigned char)name[i];
    piece[i] = byte < 0x20 || byte == 0x7F ? '?' : name[i];
  }
  put("`", 1);
  put(piece, count);
  appendText(isCut ? "...`" : "`");
}

void Message::appendSizes(const int64_t *sizes, int32_t rank) {
  put("[", 1);
  for (int32_t i = 0; i < rank; ++i)
    append("%s%lld", i ? ", " : "", (long long)sizes[i]);
  put("]", 1);
}

void Message::appendNames(const char *const *names, int32_t rank) {
  put("[", 1);
  for (int32_t i = 0; i < rank; ++i) {
    if (i)
      put(", ", 2);
    appendText(names[i]);
  }
  put("]", 1);
}

} // namespace gatefold::runtime
