// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Messages.cpp - Words to the user -----------------------------------===//

#include "frontend/tools/gatefold/Messages.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;

namespace gatefold::tool {
namespace {

struct Collected {
  bool active = false;
  bool printed = false;
  json::Array messages, diagnostics;
};

Collected &collected() {
  static Collected instance;
  return instance;
}

void say(StringRef severity, const Twine &message, StringRef hint) {
  if (collected().active) {
    json::Object object{{"severity", severity.str()},
                        {"message", json::fixUTF8(message.str())}};
    if (!hint.empty())
      object["hint"] = json::fixUTF8(hint);
    collected().messages.push_back(std::move(object));
    return;
  }
  errs() << "gatefold: " << severity << ": " << message << "\n";
  if (!hint.empty())
    errs() << "hint: " << hint << "\n";
}

} // namespace

void collectMessages() { collected().active = true; }

void fail(const Twine &message, StringRef hint) {
  // An llvm::Error has no room for a hint: it stands in the message's next
  // line.
  std::string text = message.str();
  auto [first, rest] = StringRef(text).split("\nhint: ");
  say("error", first, hint.empty() ? rest : hint);
}
void warn(const Twine &message, StringRef hint) {
  say("warning", message, hint);
}
void note(const Twine &message) { say("note", message, ""); }

void printJson(json::Object document) {
  if (!collected().messages.empty())
    document["messages"] = std::move(collected().messages);
  if (!collected().diagnostics.empty())
    document["diagnostics"] = std::move(collected().diagnostics);
  collected().printed = true;
  outs() << formatv("{0:2}", json::Value(std::move(document))) << "\n";
}

void finishJson() {
  if (collected().active && !collected().printed)
    printJson(json::Object());
}

json::Array &diagnosticsJson() { return collected().diagnostics; }

json::Value jsonNumber(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string numberText(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.15g", value);
  return text;
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  size_t first = number < 0 ? 1 : 0;
  for (size_t place = digits.size(); place > first + 3;) {
    place -= 3;
    digits.insert(place, ",");
  }
  return digits;
}

Progress::Progress()
    : terminal(sys::Process::StandardErrIsDisplayed()),
      start(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown)
    errs() << "\r\033[K";
}

void Progress::show(const Twine &what) {
  using namespace std::chrono;
  if (!terminal || steady_clock::now() - start < milliseconds(500))
    return;
  shown = true;
  errs() << "\r\033[K" << what << " ...";
}

} // namespace gatefold::tool
