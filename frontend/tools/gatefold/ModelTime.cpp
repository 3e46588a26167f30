// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModelTime.cpp - What a GPU would take at its peak ------------------===//
//
// Operations over operations a clock, bytes over bytes a second.
//
//===----------------------------------------------------------------------===//

#include "frontend/tools/gatefold/ModelTime.h"
#include "passes/support/WorkRates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace gatefold::tool {

/// Products of f32 are three of tf32: the digits that one drops are two more.
/// An operand of 16 bits drops none.
static constexpr double exactTf32Products = 3, mixedTf32Products = 2;
/// Instructions of the polynomial that an exponential is, where it is exact.
static constexpr double exactFunction = 16;
/// Rows of an attention that a warp has, which read keys and values together.
static constexpr double warpRows = 16;
/// Rows and columns that a warp has of another product.
static constexpr double productRows = 32, productColumns = 64;

StringRef ModelTime::getName(Unit unit) {
  constexpr StringRef names[unitCount] = {"matrix", "function", "arithmetic",
                                          "shared", "global",   "barrier"};
  return names[unit];
}

ModelTime::Unit ModelTime::getBound() const {
  return Unit(llvm::max_element(seconds) - seconds.begin());
}

namespace {
/// The numbers of a family at given sizes.
struct Work {
  double halfProducts, mixedProducts, products, keyBytes, functions,
      elementwise, bytes, barriers;
};
} // namespace

static std::optional<Work> evaluate(const text::CostFamily &family,
                                    ArrayRef<int64_t> symbols) {
  const text::Size *sizes[] = {&family.halfProducts, &family.mixedProducts,
                               &family.products,     &family.keyBytes,
                               &family.functions,    &family.elementwise,
                               &family.bytes,        &family.barriers};
  double values[std::size(sizes)];
  for (auto [size, value] : llvm::zip(sizes, values)) {
    std::optional<double> known = text::evaluate(*size, symbols);
    if (!known)
      return std::nullopt;
    value = *known;
  }
  return Work{values[0], values[1], values[2], values[3],
              values[4], values[5], values[6], values[7]};
}

static ModelTime computeTime(const text::CostFamily &family, const Work &work,
                             const TargetDescription &gpu, bool isFastMath) {
  // A second of one unit of all multiprocessors.
  double clocks = gpu.clockMegahertz * 1e6 * gpu.multiprocessors;
  ModelTime time;
  time.what = family.what;
  time.seconds[ModelTime::Matrices] =
      (work.halfProducts / gpu.halfTensorOperations +
       (work.mixedProducts * (isFastMath ? 1 : mixedTf32Products) +
        work.products * (isFastMath ? 1 : exactTf32Products)) /
           gpu.tf32TensorOperations) /
      clocks;
  // An attention in which no product is of f32 has approximate exponentials.
  bool hasUnit = isFastMath || (work.keyBytes > 0 && work.products == 0 &&
                                work.mixedProducts == 0);
  double lanes = gpu.floatOperations / 2.0;
  double functions = work.functions *
                     (hasUnit ? 1.0 / gpu.exponentials : exactFunction / lanes);
  time.seconds[ModelTime::Functions] = functions / clocks;
  time.seconds[ModelTime::Arithmetic] =
      (work.elementwise / lanes + (hasUnit ? 0 : functions)) / clocks;
  // Half of the operations of a product are multiplications, and an operand is
  // read once for those of a warp.
  constexpr double mixedBytes = (sizeof(uint16_t) + sizeof(float)) / 2.0;
  bool isAttention = work.keyBytes > 0;
  double operands = 1 / productRows + 1 / productColumns;
  double shared = isAttention ? work.keyBytes / warpRows
                              : (work.halfProducts / 2 * sizeof(uint16_t) +
                                 work.mixedProducts / 2 * mixedBytes +
                                 work.products / 2 * sizeof(float)) *
                                    operands;
  time.seconds[ModelTime::Shared] = shared / gpu.sharedBytesPerClock / clocks;
  time.seconds[ModelTime::Global] = work.bytes / (gpu.globalGigabytes * 1e9);
  constexpr double second = 1e11; // in hundredths of a nanosecond
  time.seconds[ModelTime::Barriers] =
      work.barriers * (WorkRates::of(gpu).barrier / second);
  return time;
}

std::optional<std::vector<ModelTime>>
computeModelTimes(const text::Cost &cost, const TargetDescription &gpu,
                  bool isFastMath, ArrayRef<int64_t> symbols) {
  std::vector<ModelTime> times;
  ModelTime all;
  all.what = "in all";
  for (const text::CostFamily &family : cost.families) {
    std::optional<Work> work = evaluate(family, symbols);
    if (!work)
      return std::nullopt;
    times.push_back(computeTime(family, *work, gpu, isFastMath));
    for (auto [sum, seconds] : llvm::zip(all.seconds, times.back().seconds))
      sum += seconds;
  }
  // What is between families may stay in a cache; the rest cannot.
  double bytes = 0;
  for (const text::Size *size :
       {&cost.inputBytes, &cost.parameterBytes, &cost.resultBytes}) {
    std::optional<double> known = text::evaluate(*size, symbols);
    if (!known)
      return std::nullopt;
    bytes += *known;
  }
  // Yet all of them take no less than one.
  all.seconds[ModelTime::Global] = bytes / (gpu.globalGigabytes * 1e9);
  for (const ModelTime &time : times)
    all.seconds[ModelTime::Global] = std::max(all.seconds[ModelTime::Global],
                                              time.seconds[ModelTime::Global]);
  times.push_back(std::move(all));
  return times;
}

static std::string formatTime(double seconds) {
  if (seconds < 1e-3)
    return formatv("{0:f3} us", seconds * 1e6);
  return formatv("{0:f3} ms", seconds * 1e3);
}

void printModelTimes(ArrayRef<ModelTime> times, StringRef target, StringRef at,
                     PrintRow row) {
  row("model time", "at the peak of " + target + (at.empty() ? "" : ", ") + at +
                        (at.empty() ? "" : "; give --dim for other sizes"));
  for (const ModelTime &time : times) {
    double bound = time.seconds[time.getBound()];
    row(("  " + time.what),
        formatTime(bound) + " by " + ModelTime::getName(time.getBound()) +
            (time.getSerial() > bound
                 ? ", " + formatTime(time.getSerial()) +
                       " with products and functions in turn"
                 : ""));
    for (int unit = 0; unit < ModelTime::unitCount; ++unit)
      if (double seconds = time.seconds[unit])
        row(("    " + ModelTime::getName(ModelTime::Unit(unit))).str(),
            formatTime(seconds) + formatv(", {0:f0}%", 100 * seconds / bound));
  }
}

json::Value modelTimesJson(ArrayRef<ModelTime> times, StringRef target,
                           StringRef at) {
  json::Array families;
  for (const ModelTime &time : times) {
    ModelTime::Unit bound = time.getBound();
    json::Object object{{"what", time.what},
                        {"bound", ModelTime::getName(bound)},
                        {"bound_s", time.seconds[bound]},
                        {"serial_s", time.getSerial()}};
    for (int unit = 0; unit < ModelTime::unitCount; ++unit)
      object[(ModelTime::getName(ModelTime::Unit(unit)) + "_s").str()] =
          time.seconds[unit];
    families.push_back(std::move(object));
  }
  json::Object document{{"target", target}, {"families", std::move(families)}};
  if (!at.empty())
    document["at"] = at;
  return document;
}

} // namespace gatefold::tool
