// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Messages.h - Words to the user ---------------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_MESSAGES_H
#define FRONTEND_TOOLS_GATEFOLD_MESSAGES_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <string>

namespace gatefold::tool {

/// With --json messages are collected as objects and printed by `printJson`.
void collectMessages();

/// `gatefold: error: MESSAGE` on standard error, then `hint: HINT`.
void fail(const llvm::Twine &message, llvm::StringRef hint = "");
void warn(const llvm::Twine &message, llvm::StringRef hint = "");
void note(const llvm::Twine &message);

/// One document on standard output: `document`, with the messages so far as its
/// `messages`, and `diagnosticsJson()` as its `diagnostics`, where there are
/// any.
void printJson(llvm::json::Object document);

/// For --json, at the end: a document with the messages where a fault kept the
/// command from printing its own.
void finishJson();

/// The diagnostics of texts and modules that --json has collected so far.
llvm::json::Array &diagnosticsJson();

/// A number for JSON, which has neither infinities nor NaN: those are the
/// strings `inf`, `-inf`, `nan`.
llvm::json::Value jsonNumber(double value);

/// As short as 15 digits allow: "1", "0.1", "-inf".
std::string numberText(double value);

/// "1,234,567"
std::string grouped(int64_t number);

/// Shows on a terminal what long work is at; nothing where standard error
/// is not a terminal, or where the work ends within half a second.
class Progress {
public:
  Progress();
  ~Progress();
  void show(const llvm::Twine &what);

private:
  bool terminal;
  bool shown = false;
  std::chrono::steady_clock::time_point start;
};

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_MESSAGES_H
