// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Messages.cpp - Words to the user -----------------------------------===//

#include "frontend/tools/gatefold/Messages.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

struct Collected {
  bool active = false;
  json::Array messages;
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

void fail(const Twine &message, StringRef hint) { say("error", message, hint); }
void warn(const Twine &message, StringRef hint) {
  say("warning", message, hint);
}
void note(const Twine &message) { say("note", message, ""); }

void printJson(json::Object document) {
  if (!collected().messages.empty())
    document["messages"] = std::move(collected().messages);
  outs() << formatv("{0:2}", json::Value(std::move(document))) << "\n";
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
