// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Diagnostics.h - Errors that point ------------------------*- C++ -*-===//
//
// FILE:LINE:COLUMN: error: MESSAGE, the source line, a caret, then note: lines
// for the other places involved and hint: lines for what to write instead.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_DIAGNOSTICS_H
#define FRONTEND_TEXT_DIAGNOSTICS_H

#include "frontend/text/Source.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

namespace gatefold::text {

enum class Severity { Error, Warning };

struct Note {
  std::optional<Range> range;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  Range range;
  std::string message;
  std::vector<Note> notes;
  std::vector<std::string> hints;
  /// False for those beyond the maximum: additions are dropped.
  bool kept = true;

  /// Chainable additions.
  Diagnostic &note(Range range, const llvm::Twine &message);
  Diagnostic &note(const llvm::Twine &message);
  Diagnostic &hint(const llvm::Twine &message);
  /// hint: did you mean `nearest`? where a candidate is near enough.
  Diagnostic &suggest(llvm::StringRef name,
                      llvm::ArrayRef<llvm::StringRef> candidates);
};

/// Collects the diagnostics of a compilation. References that it returns stay
/// valid. After 100 errors, or warnings, the rest are counted, not kept.
class Diagnostics {
public:
  static constexpr unsigned maximumErrors = 100;

  explicit Diagnostics(Sources &sources) : sources(sources) {}

  Diagnostic &error(Range range, const llvm::Twine &message);
  Diagnostic &warning(Range range, const llvm::Twine &message);

  bool hasErrors() const { return errors != 0; }
  unsigned errorCount() const { return errors; }
  const std::deque<Diagnostic> &all() const { return diagnostics; }
  /// For notes that are known later, such as the calls around.
  std::deque<Diagnostic> &all() { return diagnostics; }
  Sources &getSources() const { return sources; }

  /// Prints all in order of file and position (stable), each once. A message or
  /// a source line that is very long is cut in the middle.
  void print(llvm::raw_ostream &out) const;
  /// [{file, line, column, severity, message, notes: [...], hints: [...]}]
  llvm::json::Value toJson() const;

private:
  Sources &sources;
  std::deque<Diagnostic> diagnostics;
  Diagnostic overflow;
  unsigned errors = 0;
  unsigned warnings = 0;
};

/// The candidate with the least edit distance to `name`, if it is at most a
/// third of the name's length (at least 1; names longer than 64 bytes have
/// none).
std::optional<llvm::StringRef>
nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_DIAGNOSTICS_H
