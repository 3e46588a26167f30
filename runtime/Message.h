// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Message.h - the bounded text that a handle keeps about its last call.

#ifndef GATEFOLD_RUNTIME_MESSAGE_H
#define GATEFOLD_RUNTIME_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

namespace gatefold::runtime {

/// Text of at most a few thousand bytes. What does not fit is cut, and the text
/// then ends in "...". All bytes zero is the empty message.
class Message {
public:
  const char *text() const { return buffer; }
  void clear();

  /// Appends by the rules of printf; one call appends at most 500 bytes.
  __attribute__((format(printf, 2, 3))) void append(const char *format, ...);
  /// Appends text of any length.
  void appendText(const char *text);
  /// Appends a name in backquotes. A name may come from a hostile file: long
  /// ones are cut and control characters become '?'.
  void appendName(const char *name);
  /// Appends "[2, 3]".
  void appendSizes(const int64_t *sizes, int32_t rank);
  /// Appends "[B, 3]".
  void appendNames(const char *const *names, int32_t rank);

private:
  void put(const char *bytes, size_t count);

  size_t length;
  bool full;
  char buffer[4096];
};

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_MESSAGE_H
