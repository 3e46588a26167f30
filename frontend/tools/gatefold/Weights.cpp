// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Weights.cpp - Parameters from files --------------------------------===//

#include "frontend/tools/gatefold/Weights.h"
#include "frontend/tools/gatefold/Messages.h"
#include "passes/emit/EmitDescription.h"
#include "runtime/files/Names.h"
#include "runtime/files/TensorFile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace llvm;

namespace gatefold::tool {
namespace {

/// One tensor of the files, under its name after --strip.
struct Offered {
  const files::TensorFile *file;
  std::string member;
};
using Offers = std::map<std::string, Offered>;

ExitStatus openFiles(const CommandLine &line,
                     std::vector<files::TensorFile> &opened, Offers &offers) {
  for (const std::string &path : line.weights) {
    auto file = files::openWeights(path);
    if (!file) {
      fail(toString(toError(file.error())));
      return InputFault;
    }
    opened.push_back(file.take());
  }
  bool stripped = false;
  for (const files::TensorFile &file : opened)
    for (const std::string &member : file.names()) {
      StringRef name = member;
      stripped |= name.consume_front(line.strip);
      // Later files win.
      offers[name.str()] = {&file, member};
    }
  if (!line.strip.empty() && !stripped && !offers.empty())
    warn("no name in the weights begins with `" + line.strip + "`");
  return Done;
}

/// Names such as `rnn.weight_ih_l0` for `rnn.weight_ih`, a checkpoint with
/// layers.
bool hasLayersOf(const Offers &offers, StringRef name) {
  return offers.count((name + "_l0").str());
}

/// A prefix that, taken off the offered names, gives all that is wanted.
std::string commonPrefix(const Offers &offers,
                         const std::vector<WantedWeight> &wanted) {
  auto needed = llvm::find_if(
      wanted, [](const WantedWeight &weight) { return !weight.initial; });
  if (needed == wanted.end())
    return "";
  for (const auto &[name, offer] : offers) {
    StringRef text = name;
    if (!text.ends_with("." + needed->name))
      continue;
    std::string prefix = text.drop_back(needed->name.size()).str();
    bool all = llvm::all_of(wanted, [&](const WantedWeight &weight) {
      return weight.initial || offers.count(prefix + weight.name);
    });
    if (all)
      return prefix;
  }
  return "";
}

void reportMissing(const std::vector<const WantedWeight *> &missing,
                   const std::vector<WantedWeight> &wanted,
                   const Offers &offers) {
  std::vector<std::string> names;
  for (const auto &[name, offer] : offers)
    names.push_back(name);
  std::string prefix = commonPrefix(offers, wanted);
  for (const WantedWeight *weight : missing) {
    std::string hint;
    if (!prefix.empty()) {
      hint = "in the weights the names begin with `" + prefix +
             "`: give --strip " + prefix;
    } else if (hasLayersOf(offers, weight->name)) {
      hint = "the weights have `" + weight->name +
             "_l0`: write `lstm(H=.., layers=1)`";
    } else if (auto nearest = files::nearestName(weight->name, names)) {
      hint = "did you mean `" + *nearest + "`?";
    }
    fail("parameter `" + weight->name + "` " + shapeText(weight->shape) +
             " is not in the weights",
         hint);
    if (!prefix.empty())
      break; // one hint mends all of them
  }
}

void warnOfUnclaimed(const std::vector<WantedWeight> &wanted,
                     const Offers &offers, const StringSet<> &claimed) {
  constexpr unsigned mostWarnings = 20; // of a checkpoint of something else
  std::vector<std::string> names;
  for (const WantedWeight &weight : wanted)
    names.push_back(weight.name);
  unsigned unclaimed = 0;
  for (const auto &[name, offer] : offers) {
    if (claimed.contains(name) || ++unclaimed > mostWarnings)
      continue;
    auto nearest = files::nearestName(name, names);
    warn(offer.file->path() + ": no parameter is named `" + name + "`",
         nearest ? "did you mean `" + *nearest + "`?" : std::string());
  }
  if (unclaimed > mostWarnings)
    warn(Twine(unclaimed - mostWarnings) +
         " more tensors of the weights are no parameters");
}

} // namespace

std::vector<WantedWeight>
wantedWeights(const gatefold_description &description) {
  // Shapes of parameters are fixed: any sizes of the open dimensions do.
  std::vector<int64_t> symbols(description.symbol_count, 1);
  std::vector<int64_t> sizes(description.size_count);
  description.sizes(symbols.data(), sizes.data());
  std::vector<WantedWeight> wanted;
  for (int64_t i = 0; i < description.parameter_count; ++i) {
    const gatefold_tensor &parameter = description.parameters[i];
    WantedWeight weight;
    weight.name = parameter.name;
    weight.element = parameter.element;
    auto first = sizes.begin() + parameter.first_size;
    weight.shape.assign(first, first + parameter.rank);
    if (parameter.has_initial)
      weight.initial = parameter.initial;
    weight.embedded = description.embedded && description.embedded[i];
    wanted.push_back(std::move(weight));
  }
  return wanted;
}

std::vector<WantedWeight> wantedWeights(const Interface &interface) {
  std::vector<WantedWeight> wanted;
  for (const InterfaceTensor *parameter : interface.getParameters()) {
    WantedWeight weight;
    weight.name = parameter->name;
    weight.element = elementOf(parameter->type.getElementType());
    ArrayRef<int64_t> shape = parameter->type.getShape();
    weight.shape.assign(shape.begin(), shape.end());
    weight.initial = parameter->initial;
    wanted.push_back(std::move(weight));
  }
  return wanted;
}

Expected<Weight> randomWeight(const WantedWeight &wanted, uint64_t seed) {
  auto tensor = HostTensor::create(wanted.element, wanted.shape);
  if (!tensor)
    return tensor.takeError();
  RandomNumbers numbers(seedFor(seed, wanted.name));
  double width = wanted.shape.empty() || wanted.shape.back() == 0
                     ? 1
                     : 1 / std::sqrt(double(wanted.shape.back()));
  for (int64_t i = 0, n = tensor->count(); i < n; ++i)
    tensor->set(i, wanted.initial ? *wanted.initial
                                  : (2 * numbers.uniform() - 1) * width);
  return Weight{wanted.name, std::move(*tensor)};
}

void fill(HostTensor &tensor, double value) {
  for (int64_t i = 0, n = tensor.count(); i < n; ++i)
    tensor.set(i, value);
}

void fillRandomly(HostTensor &tensor, uint64_t seed, int64_t bound) {
  RandomNumbers numbers(seed);
  for (int64_t i = 0, n = tensor.count(); i < n; ++i) {
    uint8_t code = tensor.element().code;
    tensor.set(i, isFloat(tensor.element()) ? numbers.normal()
                  : code == kDLBool         ? double(numbers.below(2))
                                            : double(numbers.below(bound)));
  }
}

ExitStatus gatherWeights(const CommandLine &line,
                         const std::vector<WantedWeight> &wanted,
                         std::vector<Weight> &weights) {
  std::vector<files::TensorFile> opened;
  Offers offers;
  if (ExitStatus status = openFiles(line, opened, offers))
    return status;

  std::vector<const WantedWeight *> missing;
  std::vector<const WantedWeight *> defaulted;
  StringSet<> claimed;
  ExitStatus status = Done;
  for (const WantedWeight &weight : wanted) {
    auto offer = offers.find(weight.name);
    if (offer == offers.end()) {
      if (line.seed && !weight.embedded) {
        auto made = randomWeight(weight, *line.seed);
        if (!made) {
          fail(toString(made.takeError()));
          return InputFault;
        }
        weights.push_back(std::move(*made));
      } else if (weight.initial && !weight.embedded) {
        defaulted.push_back(&weight);
      } else if (!weight.embedded) {
        missing.push_back(&weight);
      }
      continue;
    }
    claimed.insert(weight.name);
    auto tensor = offer->second.file->tensor(offer->second.member);
    if (!tensor) {
      fail(toString(toError(tensor.error())));
      return InputFault;
    }
    if (tensor->shape != weight.shape) {
      fail("parameter `" + weight.name + "` is " + shapeText(tensor->shape) +
           " in the weights, expected " + shapeText(weight.shape));
      status = InputFault;
      continue;
    }
    auto converted = HostTensor::convert(
        *tensor, weight.element,
        offer->second.file->path() + ": parameter `" + weight.name + "`");
    if (!converted) {
      fail(toString(converted.takeError()));
      status = InputFault;
      continue;
    }
    weights.push_back({weight.name, std::move(*converted)});
  }
  if (line.weights.empty() && !missing.empty()) {
    fail("the program has " + Twine(wanted.size()) +
             " parameters and no weights are given",
         "--weights FILE, or --seed N for random ones");
    return InputFault;
  }
  if (!missing.empty()) {
    reportMissing(missing, wanted, offers);
    status = InputFault;
  }
  if (status == Done)
    for (const WantedWeight *weight : defaulted)
      note("parameter `" + weight->name + "` is not in the weights: it is " +
           numberText(*weight->initial));
  warnOfUnclaimed(wanted, offers, claimed);
  return status;
}

ExitStatus gatherWeights(const CommandLine &line,
                         const gatefold_description &description,
                         std::vector<Weight> &weights) {
  return gatherWeights(line, wantedWeights(description), weights);
}

} // namespace gatefold::tool
