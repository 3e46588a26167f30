// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- RunCommand.cpp - gatefold run --------------------------------------===//

#include "frontend/tools/gatefold/Commands.h"
#include "frontend/tools/gatefold/Session.h"
#include "runtime/files/Names.h"
#include "runtime/files/TensorFile.h"
#include "runtime/files/Write.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace llvm;

namespace gatefold::tool {
namespace {

/// How far results may be from a float64 reference.
struct Tolerance {
  double relative, absolute;
};

/// That of the narrowest float at the interface: what it rounds reaches the
/// other results too.
Tolerance toleranceOf(const gatefold_description &description) {
  bool hasF16 = false;
  auto find = [&](const gatefold_tensor *tensors, int64_t count) {
    for (const gatefold_tensor &tensor : ArrayRef(tensors, count)) {
      if (tensor.element.code == kDLBfloat)
        return true;
      hasF16 |= tensor.element.code == kDLFloat && tensor.element.bits == 16;
    }
    return false;
  };
  if (find(description.inputs, description.input_count) ||
      find(description.results, description.result_count) ||
      find(description.parameters, description.parameter_count))
    return {1.6e-2, 1e-3};
  return hasF16 ? Tolerance{1e-3, 1e-3} : Tolerance{1.3e-6, 1e-5};
}

ExitStatus write(const std::string &path, HostTensor &tensor, StringRef name) {
  if (auto problem = files::writeNpy(path, tensor.toFile(name))) {
    fail(toString(toError(*problem)));
    return InputFault;
  }
  return Done;
}

std::optional<int64_t> findResult(const gatefold_description &description,
                                  StringRef name) {
  for (int64_t i = 0; i < description.result_count; ++i)
    if (name == description.results[i].name)
      return i;
  return std::nullopt;
}

/// Before anything is computed: whether every --output names a result.
ExitStatus checkOutputs(const CommandLine &line,
                        const gatefold_description &description) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < description.result_count; ++i)
    names.push_back(description.results[i].name);
  for (const auto &[name, path] : line.outputs) {
    if (findResult(description, name))
      continue;
    auto nearest = files::nearestName(name, names);
    fail("the program has no result `" + name + "`",
         nearest ? "did you mean `" + *nearest + "`?"
                 : "its results: " + join(names, ", "));
    return InputFault;
  }
  return Done;
}

ExitStatus writeResults(const CommandLine &line, Session &session) {
  const gatefold_description &description = session.description();
  for (const auto &[name, path] : line.outputs)
    if (ExitStatus status = write(
            path, session.getResults()[*findResult(description, name)], name))
      return status;
  if (line.outputFolder.empty())
    return Done;
  if (std::error_code code = sys::fs::create_directories(line.outputFolder)) {
    fail(line.outputFolder + ": " + code.message());
    return InputFault;
  }
  for (auto [i, tensor] : llvm::enumerate(session.getResults())) {
    StringRef name = description.results[i].name;
    SmallString<128> path(line.outputFolder);
    sys::path::append(path, name + ".npy");
    if (ExitStatus status = write(path.str().str(), tensor, name))
      return status;
  }
  return Done;
}

struct Difference {
  int64_t count = 0;
  double largest = 0;
  int64_t place = -1; // of the largest
};

Difference differ(const HostTensor &result, const HostTensor &expected,
                  Tolerance tolerance) {
  Difference difference;
  bool isReal = isFloat(result.element());
  for (int64_t i = 0, n = result.count(); i < n; ++i) {
    double found = result.at(i), wanted = expected.at(i);
    bool same = (isReal ? found == wanted
                        : result.integerAt(i) == expected.integerAt(i)) ||
                (std::isnan(found) && std::isnan(wanted));
    double distance = same ? 0 : std::fabs(found - wanted);
    bool near =
        same || (isReal && std::isfinite(wanted) &&
                 distance <= tolerance.absolute +
                                 tolerance.relative * std::fabs(wanted));
    difference.count += !near;
    // A NaN that is not expected is the largest difference of all.
    if (difference.place < 0 || distance > difference.largest ||
        (std::isnan(distance) && !std::isnan(difference.largest))) {
      difference.largest = distance;
      difference.place = i;
    }
  }
  return difference;
}

/// Compares the results that the file names; one that it lacks is not compared.
ExitStatus compareResults(const CommandLine &line, Session &session,
                          json::Array &compared) {
  auto file = files::openWeights(line.compare);
  if (!file) {
    fail(toString(toError(file.error())));
    return InputFault;
  }
  ExitStatus status = Done;
  bool any = false;
  Tolerance tolerance = toleranceOf(session.description());
  tolerance.relative = line.relativeTolerance.value_or(tolerance.relative);
  tolerance.absolute = line.absoluteTolerance.value_or(tolerance.absolute);
  for (int64_t i = 0; i < session.description().result_count; ++i) {
    StringRef name = session.description().results[i].name;
    if (!file->contains(name.str()))
      continue;
    any = true;
    auto tensor = file->tensor(name.str());
    if (!tensor) {
      fail(toString(toError(tensor.error())));
      return InputFault;
    }
    HostTensor &result = session.getResults()[i];
    // References are float64; comparing in f64 keeps all of their digits.
    gatefold_element element = result.element();
    if (isFloat(element))
      element = {kDLFloat, 64};
    else if (element.code == kDLInt)
      element.bits = 64;
    auto expected = HostTensor::convert(
        *tensor, element, line.compare + ": result `" + name + "`");
    if (!expected) {
      fail(toString(expected.takeError()));
      return InputFault;
    }
    if (expected->shape() != result.shape()) {
      fail("result `" + name + "` is " + shapeText(result.shape()) +
           ", expected " + shapeText(expected->shape()));
      status = CheckFailed;
      continue;
    }
    Difference difference = differ(result, *expected, tolerance);
    if (difference.count)
      status = CheckFailed;
    compared.push_back(
        json::Object{{"name", name.str()},
                     {"differing", difference.count},
                     {"largest", jsonNumber(difference.largest)}});
    if (line.json)
      continue;
    raw_ostream &out = difference.count ? errs() : outs();
    out << name << ": ";
    if (difference.count)
      out << difference.count << " of " << result.count() << " values differ";
    else
      out << "agrees";
    if (result.count())
      out << formatv(", largest difference {0:e} at value number {1}",
                     difference.largest, difference.place);
    out << "\n";
  }
  if (!any) {
    fail(line.compare + " holds none of the results");
    return InputFault;
  }
  return status;
}

} // namespace

ExitStatus runRun(const CommandLine &line) {
  Session session(line);
  if (ExitStatus status = session.open())
    return status;
  if (ExitStatus status = checkOutputs(line, session.description()))
    return status;
  for (auto step :
       {&Session::prepare, &Session::readInputs, &Session::allocateResults,
        &Session::run, &Session::fetchResults})
    if (ExitStatus status = (session.*step)())
      return status;
  if (ExitStatus status = writeResults(line, session))
    return status;

  json::Array results, compared;
  bool quiet = !line.outputs.empty() || !line.outputFolder.empty() ||
               !line.compare.empty();
  for (int64_t i = 0; i < session.description().result_count; ++i) {
    HostTensor &result = session.getResults()[i];
    StringRef name = session.description().results[i].name;
    if (line.json)
      results.push_back(result.toJson(name));
    else if (!quiet)
      result.print(outs(), name);
  }
  ExitStatus status = Done;
  if (!line.compare.empty())
    status = compareResults(line, session, compared);
  Compilation *compilation = session.getCompilation();
  if (line.json) {
    json::Object document{{"results", std::move(results)}};
    if (!line.compare.empty())
      document["compared"] = std::move(compared);
    if (line.timing && compilation)
      document["timing"] = compilation->timingJson();
    printJson(std::move(document));
  } else if (line.timing && compilation) {
    compilation->printTiming();
  }
  return status;
}

} // namespace gatefold::tool
