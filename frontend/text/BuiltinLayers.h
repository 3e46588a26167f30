// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinLayers.h - What a built-in layer is --------------*- C++ -*-===//
//
// Used by BuiltinLayer*.cpp only.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_BUILTINLAYERS_H
#define FRONTEND_TEXT_BUILTINLAYERS_H

#include "frontend/text/Builtins.h"

namespace gatefold::text {

struct LayerSetting {
  enum class Kind { Dimension, Whole, Real, Flag };
  llvm::StringRef name;
  Kind kind;
  double otherwise = 0; // of those that are not required
  int64_t least = 0;    // of Whole
};

/// Settings of one instance, with their defaults.
struct LayerSettings {
  std::map<llvm::StringRef, Size> dimensions;
  std::map<llvm::StringRef, int64_t> wholes;
  std::map<llvm::StringRef, double> reals;
  std::map<llvm::StringRef, bool> flags;
};

struct Layer {
  llvm::StringRef name;
  std::vector<LayerSetting> settings;
  Item (*call)(Checker &, Instance &, const LayerSettings &, const Tensor &,
               Range);
  unsigned rank;      // of what one call looks at
  bool takesIntegers; // else floats
};

/// All layers.
llvm::ArrayRef<Layer> layers();
/// Null for other names.
const Layer *findLayer(llvm::StringRef name);
/// The settings of an instance. Nothing after an error.
std::optional<LayerSettings> readSettings(Checker &checker, const Layer &layer,
                                          Instance &instance);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_BUILTINLAYERS_H
