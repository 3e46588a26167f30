// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModelTime.h - What a GPU would take at its peak ----------*- C++ -*-===//
//
// The time that each kind of unit of a GPU needs for a program, if it did
// nothing else and worked at its peak. No run is faster than the longest of
// them; how near one comes can be told without another program to compare with.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TOOLS_GATEFOLD_MODELTIME_H
#define FRONTEND_TOOLS_GATEFOLD_MODELTIME_H

#include "frontend/text/Cost.h"
#include "passes/support/Target.h"
#include "llvm/Support/JSON.h"

namespace gatefold::tool {

/// Seconds of each unit, for one family of operations or all of them.
struct ModelTime {
  enum Unit {
    Matrices,
    Functions,
    Arithmetic,
    Shared,
    Global,
    Barriers,
    unitCount
  };
  static llvm::StringRef getName(Unit unit);

  std::string what;
  std::array<double, unitCount> seconds = {};

  /// The unit that takes longest.
  Unit getBound() const;
  /// If products waited for exponentials and exponentials for products.
  double getSerial() const { return seconds[Matrices] + seconds[Functions]; }
};

/// One for each family, then one of all. Nothing where a size is too large to
/// count. `symbols`: the open dimensions.
std::optional<std::vector<ModelTime>>
computeModelTimes(const text::Cost &cost, const TargetDescription &gpu,
                  bool isFastMath, llvm::ArrayRef<int64_t> symbols);

using PrintRow =
    llvm::function_ref<void(llvm::StringRef title, const llvm::Twine &value)>;

/// `at`: the sizes of the open dimensions, `B=1, T=64`, or nothing.
void printModelTimes(llvm::ArrayRef<ModelTime> times, llvm::StringRef target,
                     llvm::StringRef at, PrintRow row);
llvm::json::Value modelTimesJson(llvm::ArrayRef<ModelTime> times,
                                 llvm::StringRef target, llvm::StringRef at);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_MODELTIME_H
