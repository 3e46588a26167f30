// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: JSON as a stream of events, for the headers of weight files.
#ifndef GATEFOLD_RUNTIME_FILES_JSON_H
#define GATEFOLD_RUNTIME_FILES_JSON_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

enum class JsonEvent {
  beginObject,
  endObject,
  beginArray,
  endArray,
  /// A key of an object; the name is in `text`.
  key,
  /// A string; in `text`.
  text,
  /// A whole number from 0 to 2^64 - 1; in `number`.
  whole,
  /// Any other number, a boolean or null.
  other
};

/// Takes the events of one document.
class JsonReceiver {
public:
  virtual ~JsonReceiver();

  /// One event; `depth` counts the objects and arrays around it (0: the
  /// document itself). Returns what is wrong with it, or nothing.
  virtual std::string take(JsonEvent event, size_t depth, std::string &text,
                           uint64_t number) = 0;
};

/// Reads a whole document. Refuses keys that stand twice in one object, at any
/// level; more than `maxDepth` levels; NUL bytes; and text that is not UTF-8.
/// Works without recursion. The error names no file.
std::optional<FileError> readJson(std::string_view document, size_t maxDepth,
                                  JsonReceiver &receiver);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_JSON_H
