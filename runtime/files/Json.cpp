// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann-json's event interface with what it does not check itself: doubled
// keys, depth, and NUL bytes, which it takes for the end of the text.
#include "runtime/files/Json.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace gatefold::files {

JsonReceiver::~JsonReceiver() = default;

namespace {

class Bridge {
public:
  using Json = nlohmann::json;

  Bridge(JsonReceiver &receiver, size_t maxDepth)
      : receiver(receiver), maxDepth(maxDepth) {}

  bool null() { return pass(JsonEvent::other); }
  bool boolean(bool) { return pass(JsonEvent::other); }
  bool number_integer(Json::number_integer_t) { return pass(JsonEvent::other); }
  bool number_unsigned(Json::number_unsigned_t value) {
    return pass(JsonEvent::whole, value);
  }
  bool number_float(Json::number_float_t, const std::string &) {
    return pass(JsonEvent::other);
  }
  bool string(std::string &value) { return passText(JsonEvent::text, value); }
  bool binary(Json::binary_t &) { return pass(JsonEvent::other); }

  bool start_object(size_t) {
    if (!pass(JsonEvent::beginObject))
      return false;
    return enter();
  }
  bool key(std::string &name) {
    if (!keys.back().insert(name).second) {
      message = "duplicate key " + quotedName(name);
      return false;
    }
    return passText(JsonEvent::key, name);
  }
  bool end_object() {
    keys.pop_back();
    return pass(JsonEvent::endObject);
  }
  bool start_array(size_t) {
    if (!pass(JsonEvent::beginArray))
      return false;
    return enter();
  }
  bool end_array() {
    keys.pop_back();
    return pass(JsonEvent::endArray);
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) {
    message = "not valid JSON at byte " + std::to_string(position);
    return false;
  }

  std::string message;

private:
  bool enter() {
    if (keys.size() == maxDepth) {
      message =
          "JSON nested deeper than " + std::to_string(maxDepth) + " levels";
      return false;
    }
    keys.emplace_back();
    return true;
  }
  bool pass(JsonEvent event, uint64_t number = 0) {
    std::string none;
    message = receiver.take(event, keys.size(), none, number);
    return message.empty();
  }
  bool passText(JsonEvent event, std::string &text) {
    message = receiver.take(event, keys.size(), text, 0);
    return message.empty();
  }

  JsonReceiver &receiver;
  size_t maxDepth;
  /// The keys seen in each open object; an array's set stays empty.
  std::vector<std::unordered_set<std::string>> keys;
};

} // namespace

std::optional<FileError> readJson(std::string_view document, size_t maxDepth,
                                  JsonReceiver &receiver) {
  size_t nul = document.find('\0');
  if (nul != std::string_view::npos)
    return FileError{"NUL byte at byte " + std::to_string(nul), ""};
  Bridge bridge(receiver, maxDepth);
  if (!nlohmann::json::sax_parse(document.begin(), document.end(), &bridge))
    return FileError{bridge.message, ""};
  return std::nullopt;
}

} // namespace gatefold::files
