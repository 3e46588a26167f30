// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- InputFiles.cpp - What --input offers -------------------------------===//

#include "frontend/tools/gatefold/InputFiles.h"
#include "frontend/tools/gatefold/Messages.h"
#include "frontend/tools/gatefold/Tensors.h"

using namespace llvm;

namespace gatefold::tool {

Expected<const files::FileTensor &> OfferedInput::tensor() {
  if (!read) {
    auto result = file.tensor(member);
    if (!result)
      return toError(result.error());
    read = result.take();
  }
  return *read;
}

ExitStatus openInputs(const CommandLine &line,
                      std::vector<OfferedInput> &offers) {
  for (StringRef argument : line.inputs) {
    auto [name, path] = argument.split('=');
    bool named = argument.contains('=');
    if (named && (name.empty() || path.empty())) {
      fail("--input takes NAME=FILE or FILE, found `" + argument + "`");
      return CommandLineFault;
    }
    std::string file = (named ? path : argument).str();
    auto opened = files::openWeights(file);
    if (!opened) {
      fail(opened.error().message, opened.error().hint);
      return InputFault;
    }
    if (named && opened->names().size() != 1) {
      fail(file + " holds " + Twine(opened->names().size()) +
               " tensors, expected one for the input `" + name + "`",
           "give the file without NAME=");
      return InputFault;
    }
    for (const std::string &member : opened->names())
      offers.emplace_back(named ? name.str() : member, named, *opened, member);
  }
  return Done;
}

namespace {

/// The rank of the tensor that is offered for a name, where there is one.
ExitStatus rankOf(std::vector<OfferedInput> &offers, StringRef name,
                  std::optional<unsigned> &rank) {
  rank.reset();
  for (OfferedInput &offer : llvm::reverse(offers)) {
    if (offer.name != name)
      continue;
    Expected<const files::FileTensor &> tensor = offer.tensor();
    if (!tensor) {
      fail(toString(tensor.takeError()));
      return InputFault;
    }
    rank = tensor->shape.size();
    break;
  }
  return Done;
}

/// An option of the call of a cell or an attention that may be an input.
struct TensorOption {
  StringRef input, option;
  bool ranked; // its rank is the user's choice
};
constexpr TensorOption cellOptions[] = {{"lengths", "lengths", true},
                                        {"reset", "reset", false}};
constexpr TensorOption attentionOptions[] = {
    {"lengths", "lengths", true},
    {"mask", "mask", true},
    {"bias", "bias", true},
    {"offset", "offset", true},
    {"query_segments", "segments", false},
    {"key_segments", "segments", false}};

ArrayRef<TensorOption> optionsOf(text::DeclarationKind kind) {
  if (kind == text::DeclarationKind::Cell)
    return cellOptions;
  if (kind == text::DeclarationKind::Attention)
    return attentionOptions;
  return {};
}

} // namespace

ExitStatus fitEntryToInputs(text::Package &package, bool leadGiven,
                            std::vector<OfferedInput> &offers,
                            text::EntryOptions &options) {
  const text::Declaration *entry = package.main().find(options.entry);
  if (!entry || entry->kind == text::DeclarationKind::Model)
    return Done;
  std::map<std::string, unsigned> leads;
  unsigned largest = 0;
  // A cell is scanned over its first input, which has a time besides.
  unsigned time = entry->kind == text::DeclarationKind::Cell ? 1 : 0;
  for (const text::InputSyntax &input : entry->inputs) {
    if (!input.type)
      continue; // a setting
    unsigned declared = input.type->shape.size() + std::exchange(time, 0);
    std::optional<unsigned> rank;
    if (ExitStatus status = rankOf(offers, input.name.name, rank))
      return status;
    if (!rank)
      continue;
    unsigned lead = *rank > declared ? *rank - declared : 0;
    leads[input.name.name.str()] = lead;
    largest = std::max(largest, lead);
  }
  if (!leadGiven) {
    options.leadRank = largest;
    for (const auto &[name, lead] : leads)
      if (lead != largest)
        options.leadRanks[name] = lead;
  }
  for (const TensorOption &option : optionsOf(entry->kind)) {
    bool known = llvm::any_of(options.tensorOptions, [&](const auto &present) {
      return present.first == option.option;
    });
    std::optional<unsigned> rank;
    if (ExitStatus status = rankOf(offers, option.input, rank))
      return status;
    if (known || !rank)
      continue;
    options.tensorOptions.emplace_back(option.option.str(),
                                       option.ranked ? rank : std::nullopt);
  }
  return Done;
}

} // namespace gatefold::tool
