// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- SessionInputs.cpp - The inputs of a run ----------------------------===//
//
// Takes inputs from files and makes those that are missing.
//
//===----------------------------------------------------------------------===//

#include "frontend/tools/gatefold/Session.h"
#include "frontend/tools/gatefold/Weights.h"
#include "runtime/Team.h"
#include "runtime/files/Names.h"
#include "runtime/files/TensorFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <unistd.h>

using namespace llvm;

namespace gatefold::tool {

ExitStatus Session::addInput(OfferedInput &offer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &wanted = described->inputs[i];
    names.push_back(wanted.name);
    if (offer.name != wanted.name)
      continue;
    Expected<const files::FileTensor &> tensor = offer.tensor();
    if (!tensor) {
      fail(toString(tensor.takeError()));
      return InputFault;
    }
    Expected<HostTensor> converted = HostTensor::convert(
        *tensor, wanted.element, offer.path() + ": input `" + offer.name + "`");
    if (!converted) {
      fail(toString(converted.takeError()));
      return InputFault;
    }
    inputs[i] = std::move(*converted);
    given[i] = true;
    return Done;
  }
  std::string hint;
  if (auto nearest = files::nearestName(offer.name, names))
    hint = "did you mean `" + *nearest + "`?";
  if (offer.named) {
    fail("the program has no input `" + offer.name + "`", hint);
    return InputFault;
  }
  warn(offer.path() + ": no input is named `" + offer.name + "`", hint);
  return Done;
}

ExitStatus Session::checkDimensions() const {
  if (compilation && compilation->isText())
    return Done; // the checker knows them
  ArrayRef symbols(described->symbols, described->symbol_count);
  std::map<std::string, int64_t> known = knownSymbols();
  for (const auto &[name, size] : line.entry.dimensions) {
    if (!llvm::is_contained(symbols, StringRef(name))) {
      fail("--dim: no open dimension is named `" + name + "`",
           symbols.empty() ? std::string()
                           : "there are: " + join(symbols, ", "));
      return CommandLineFault;
    }
    if (known.at(name) != size) {
      fail("--dim gives " + name + "=" + Twine(size) + ", the inputs have " +
           name + "=" + Twine(known.at(name)));
      return InputFault;
    }
  }
  return Done;
}

std::map<std::string, int64_t> Session::knownSymbols() const {
  std::map<std::string, int64_t> known;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &input = described->inputs[i];
    if (!given[i] || int64_t(inputs[i].shape().size()) != input.rank)
      continue; // the run reports a wrong rank
    for (int axis = 0; axis < input.rank; ++axis) {
      const gatefold_binding &binding = input.bindings[axis];
      if (binding.symbol >= 0)
        known.emplace(described->symbols[binding.symbol],
                      (inputs[i].shape()[axis] - binding.offset) /
                          binding.scale);
    }
  }
  for (const auto &[name, size] : line.entry.dimensions)
    known.emplace(name, size);
  return known;
}

/// How many threads a run with these open dimensions has, of `most`.
static int64_t usefulThreads(const gatefold_description &description,
                             ArrayRef<int64_t> symbols, int64_t most) {
  if (most < 2 || !description.useful_ranks)
    return 1;
  return std::clamp<int64_t>(description.useful_ranks(symbols.data()), 1, most);
}

/// Refuses sizes that this machine has no memory for, before any of it is
/// filled.
static ExitStatus checkMemory(const gatefold_description &description,
                              ArrayRef<int64_t> symbols,
                              ArrayRef<int64_t> sizes, int64_t mostThreads) {
  int64_t threads = usefulThreads(description, symbols, mostThreads);
  double bytes = description.arena_bytes(symbols.data(), threads);
  bool overflows = bytes < 0;
  auto add = [&](const gatefold_tensor *tensors, int64_t count) {
    for (const gatefold_tensor &tensor : ArrayRef(tensors, count)) {
      double size = tensor.element.bits / 8;
      for (int64_t length : sizes.slice(tensor.first_size, tensor.rank)) {
        overflows |= length < 0;
        size *= length;
      }
      bytes += size;
    }
  };
  add(description.inputs, description.input_count);
  add(description.results, description.result_count);
  double memory = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (!overflows && bytes <= memory)
    return Done;
  fail(overflows
           ? std::string("these sizes do not fit into 64 bits")
           : formatv("this run needs {0:f1} GB{1}, the machine has {2:f1}",
                     bytes / 1e9,
                     threads == 1
                         ? ""
                         : " on " + std::to_string(threads) + " threads",
                     memory / 1e9)
                 .str());
  return InputFault;
}

ExitStatus Session::makeMissingInputs() {
  bool missing = false;
  for (int64_t i = 0; i < described->input_count; ++i) {
    const gatefold_tensor &input = described->inputs[i];
    bool starts = input.role == GATEFOLD_STATE && input.has_initial;
    if (given[i] || starts)
      missing |= !given[i];
    else if (line.seed)
      missing = true;
    else {
      fail(Twine("the input `") + input.name + "` is not given",
           "--input " + std::string(input.name) +
               "=FILE.npy, or --seed N for random inputs");
      return InputFault;
    }
  }
  if (!missing)
    return Done;

  std::map<std::string, int64_t> known = knownSymbols();
  SmallVector<StringRef> open;
  for (int i = 0; i < described->symbol_count; ++i)
    if (!known.count(described->symbols[i]))
      open.push_back(described->symbols[i]);
  if (!open.empty()) {
    fail("the size of " + join(open, ", ") + " is not known from the inputs",
         "give --dim " + join(open, "=...,") + "=...");
    return InputFault;
  }
  std::vector<int64_t> symbols(described->symbol_count);
  for (int i = 0; i < described->symbol_count; ++i)
    symbols[i] = known[described->symbols[i]];
  std::vector<int64_t> sizes(described->size_count);
  described->sizes(symbols.data(), sizes.data());
  if (ExitStatus status =
          checkMemory(*described, symbols, sizes,
                      line.threads ? line.threads : gatefold_team_cores()))
    return status;

  for (int64_t i = 0; i < described->input_count; ++i) {
    if (given[i])
      continue;
    const gatefold_tensor &input = described->inputs[i];
    auto first = sizes.begin() + input.first_size;
    auto made = HostTensor::create(
        input.element, std::vector<int64_t>(first, first + input.rank));
    if (!made) {
      fail(Twine("input `") + input.name + "`: " + toString(made.takeError()));
      return InputFault;
    }
    inputs[i] = std::move(*made);
    if (input.role == GATEFOLD_STATE && input.has_initial) {
      if (ExitStatus status =
              contextFault(functions.initialState(context, i, inputs[i].dl())))
        return status;
      continue;
    }
    int64_t bound = 10; // of integers that nothing bounds
    bool isLength = false;
    for (int64_t k = 0; k < described->value_check_count; ++k) {
      const gatefold_value_check &check = described->value_checks[k];
      if (check.input == i) {
        bound = sizes[check.bound_size];
        isLength = check.inclusive;
      }
    }
    // Full lengths: a run that is made up, or timed, shall do all of the work.
    if (isLength)
      fill(inputs[i], bound);
    else
      fillRandomly(inputs[i], seedFor(*line.seed, input.name), bound);
  }
  return Done;
}

ExitStatus Session::readInputs() {
  for (OfferedInput &offer : offers)
    if (ExitStatus status = addInput(offer))
      return status;
  if (ExitStatus status = checkDimensions())
    return status;
  if (ExitStatus status = makeMissingInputs())
    return status;
  inputPointers.clear();
  for (HostTensor &input : inputs)
    inputPointers.push_back(input.dl());
  return Done;
}

} // namespace gatefold::tool
