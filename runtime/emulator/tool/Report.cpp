// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Report.cpp - What a run found and computed -------------------------===//

#include "runtime/emulator/tool/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace gatefold;
using namespace gatefold::emulator;

/// All values are shown where there are no more.
static constexpr uint64_t fewValues = 16;

static std::pair<StringRef, StringRef> splitHint(StringRef message) {
  return message.split("\nhint: ");
}

/// Names come from the module, and may be any bytes: what is neither UTF-8 nor
/// to be seen stands as in LLVM IR, `\BD`.
static std::string printable(StringRef text) {
  std::string result;
  raw_string_ostream stream(result);
  while (!text.empty()) {
    const auto *begin = reinterpret_cast<const UTF8 *>(text.data());
    size_t bytes = getUTF8SequenceSize(begin, begin + text.size());
    if (bytes > 1)
      stream << text.take_front(bytes);
    else if (isPrint(text.front()) && text.front() != '\\')
      stream << text.front();
    else
      stream << '\\' << hexdigit(uint8_t(text.front()) >> 4)
             << hexdigit(text.front() & 15);
    text = text.drop_front(std::max<size_t>(bytes, 1));
  }
  return result;
}

void gatefold::emulator::say(StringRef severity, const Twine &message) {
  std::string whole = message.str();
  auto [text, hint] = splitHint(whole);
  errs() << "gatefold-emulate: " << severity << ": " << printable(text) << "\n";
  if (!hint.empty())
    errs() << "hint: " << printable(hint) << "\n";
}

json::Object gatefold::emulator::messageJson(StringRef severity,
                                             StringRef message) {
  auto [text, hint] = splitHint(message);
  json::Object object{{"severity", severity.str()},
                      {"message", printable(text)}};
  if (!hint.empty())
    object["hint"] = printable(hint);
  return object;
}

static std::string indexText(const uint32_t (&index)[3]) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) +
         ", " + std::to_string(index[2]) + ")";
}

static std::string whereOf(const Place::Frame &frame) {
  if (frame.line == 0)
    return printable(frame.function) + ": ";
  return printable(frame.file) + ":" + std::to_string(frame.line) + ":" +
         std::to_string(frame.column) + ": ";
}

static void printPlace(const Event &event, StringRef severity,
                       const Twine &message) {
  ArrayRef<Place::Frame> frames = event.place.frames;
  errs() << (frames.empty() ? std::string() : whereOf(frames.front()))
         << severity << ": " << printable(message.str()) << "\n";
  for (size_t i = 1; i < frames.size(); ++i)
    errs() << whereOf(frames[i]) << "note: `"
           << printable(frames[i - 1].function) << "` is called here\n";
}

void gatefold::emulator::printFinding(const Finding &finding) {
  const Event &first = finding.events.front();
  std::string count =
      finding.count == 1 ? "" : ", " + std::to_string(finding.count) + " times";
  printPlace(first, "error",
             Twine(describe(finding.kind)) + ": " + finding.message + " [" +
                 nameOf(finding.kind) + count + "]");
  for (const Event &event : drop_begin(finding.events))
    printPlace(event, "note",
               "`" + event.place.instruction + "` of thread " +
                   indexText(event.thread) + ", block " +
                   indexText(event.block));
  if (!finding.hint.empty())
    errs() << "hint: " << finding.hint << "\n";
}

json::Object gatefold::emulator::findingJson(const Finding &finding) {
  json::Array events;
  for (const Event &event : finding.events) {
    json::Array frames;
    for (const Place::Frame &frame : event.place.frames)
      frames.push_back(json::Object{{"file", printable(frame.file)},
                                    {"function", printable(frame.function)},
                                    {"line", frame.line},
                                    {"column", frame.column}});
    events.push_back(json::Object{
        {"instruction", printable(event.place.instruction)},
        {"places", std::move(frames)},
        {"block", json::Array{event.block[0], event.block[1], event.block[2]}},
        {"thread",
         json::Array{event.thread[0], event.thread[1], event.thread[2]}}});
  }
  json::Object object{{"kind", nameOf(finding.kind)},
                      {"message", printable(finding.message)},
                      {"count", static_cast<int64_t>(finding.count)},
                      {"events", std::move(events)}};
  if (!finding.hint.empty())
    object["hint"] = finding.hint;
  return object;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Expected<Summary> gatefold::emulator::summarise(const Device &device,
                                                const Buffer &buffer) {
  Summary summary;
  summary.buffer = &buffer;
  summary.values.resize(buffer.bytes);
  if (Error error = device.copyOut(buffer.address, summary.values))
    return std::move(error);
  uint64_t bytes = files::elementBytes(buffer.element);
  for (uint64_t at = 0; at < buffer.bytes; at += bytes) {
    Expected<uint64_t> missing =
        device.countUninitialised(buffer.address + at, bytes);
    if (!missing)
      return missing.takeError();
    summary.unwritten += *missing != 0;
  }
  return summary;
}

static std::string numberText(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.15g", value);
  return text;
}

static json::Value jsonNumber(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

namespace {
struct Spread {
  double least = INFINITY, largest = -INFINITY, mean = 0;
  std::vector<double> values;
};
} // namespace

static Spread spreadOf(const Summary &summary) {
  Spread spread;
  uint64_t bytes = files::elementBytes(summary.buffer->element);
  for (uint64_t at = 0; at < summary.values.size(); at += bytes)
    spread.values.push_back(
        elementValue(*summary.buffer, summary.values.data() + at));
  for (double value : spread.values) {
    spread.least =
        value < spread.least || std::isnan(value) ? value : spread.least;
    spread.largest =
        value > spread.largest || std::isnan(value) ? value : spread.largest;
    spread.mean += value / spread.values.size();
  }
  return spread;
}

void gatefold::emulator::printSummary(const Summary &summary) {
  const Buffer &buffer = *summary.buffer;
  Spread spread = spreadOf(summary);
  outs() << printable(buffer.name) << ": " << files::elementName(buffer.element)
         << files::shapeText(buffer.shape);
  if (summary.unwritten)
    outs() << ", " << summary.unwritten << " of " << spread.values.size()
           << " values that nobody has written";
  else if (!spread.values.empty())
    outs() << ", least " << numberText(spread.least) << ", mean "
           << numberText(spread.mean) << ", largest "
           << numberText(spread.largest);
  outs() << "\n";
  if (summary.unwritten || spread.values.empty() ||
      spread.values.size() > fewValues)
    return;
  outs() << " ";
  for (double value : spread.values)
    outs() << " " << numberText(value);
  outs() << "\n";
}

json::Object gatefold::emulator::summaryJson(const Summary &summary) {
  const Buffer &buffer = *summary.buffer;
  json::Object object{{"name", printable(buffer.name)},
                      {"element", files::elementName(buffer.element)},
                      {"shape", json::Array(buffer.shape)},
                      {"unwritten", static_cast<int64_t>(summary.unwritten)}};
  Spread spread = spreadOf(summary);
  if (summary.unwritten || spread.values.empty())
    return object;
  object["least"] = jsonNumber(spread.least);
  object["mean"] = jsonNumber(spread.mean);
  object["largest"] = jsonNumber(spread.largest);
  if (spread.values.size() <= fewValues) {
    json::Array values;
    for (double value : spread.values)
      values.push_back(jsonNumber(value));
    object["values"] = std::move(values);
  }
  return object;
}

json::Object gatefold::emulator::statisticsJson(const Statistics &statistics) {
  auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  json::Object instructions;
  for (const auto &[name, count] : statistics.instructions)
    instructions[printable(name)] = number(count);
  return json::Object{
      {"blocks", number(statistics.blocks)},
      {"threads", number(statistics.threads)},
      {"barriers", number(statistics.barriers)},
      {"shared_bytes", number(statistics.sharedBytes)},
      {"global_bytes_read", number(statistics.globalBytesRead)},
      {"global_bytes_written", number(statistics.globalBytesWritten)},
      {"shared_bytes_read", number(statistics.sharedBytesRead)},
      {"shared_bytes_written", number(statistics.sharedBytesWritten)},
      {"instructions", std::move(instructions)}};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void gatefold::emulator::printKernels(ArrayRef<Kernel> kernels) {
  for (const Kernel &kernel : kernels) {
    outs() << printable(kernel.name) << "\n";
    for (const Parameter &parameter : kernel.parameters)
      outs() << "  " << parameter.type << (parameter.name.empty() ? "" : " ")
             << printable(parameter.name) << ", " << parameter.bytes
             << " bytes\n";
  }
}

json::Array gatefold::emulator::kernelsJson(ArrayRef<Kernel> kernels) {
  json::Array array;
  for (const Kernel &kernel : kernels) {
    json::Array parameters;
    for (const Parameter &parameter : kernel.parameters)
      parameters.push_back(
          json::Object{{"name", printable(parameter.name)},
                       {"type", parameter.type},
                       {"bytes", static_cast<int64_t>(parameter.bytes)}});
    array.push_back(json::Object{{"name", printable(kernel.name)},
                                 {"parameters", std::move(parameters)}});
  }
  return array;
}
