// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinLayerSettings.cpp - Settings of built-in layers -----------===//
//
// Checked where an instance is declared, and read again where it is called.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/BuiltinLayers.h"
#include "llvm/ADT/STLExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

const Layer *gatefold::text::findLayer(StringRef name) {
  for (const Layer &layer : layers())
    if (layer.name == name)
      return &layer;
  return nullptr;
}

bool Checker::isBuiltinLayer(StringRef name) { return findLayer(name); }

ArrayRef<StringRef> Checker::builtinLayerNames() {
  static const std::vector<StringRef> names = [] {
    std::vector<StringRef> list;
    for (const Layer &layer : layers())
      list.push_back(layer.name);
    return list;
  }();
  return names;
}

/// Reads the settings of an instance. Nothing after an error.
std::optional<LayerSettings> gatefold::text::readSettings(Checker &checker,
                                                          const Layer &layer,
                                                          Instance &instance) {
  Diagnostics &diagnostics = checker.diagnostics;
  bool valid = true;
  std::map<StringRef, const Item *> given;
  SmallVector<StringRef> known;
  for (const LayerSetting &setting : layer.settings)
    known.push_back(setting.name);
  for (const EvaluatedArgument &argument : instance.settings) {
    if (!argument.name) {
      if (!argument.item.isError())
        diagnostics
            .error(argument.item.range,
                   Twine("settings of `") + layer.name + "` are given by name")
            .hint(Twine("`") + layer.name + "(" + known.front() + "=...)`");
      valid = false;
      continue;
    }
    StringRef name = argument.name->name;
    if (!llvm::is_contained(known, name)) {
      diagnostics
          .error(argument.name->range,
                 Twine("`") + layer.name + "` has no setting `" + name + "`")
          .suggest(name, known);
      valid = false;
    } else if (!given.insert({name, &argument.item}).second) {
      diagnostics.error(argument.name->range,
                        Twine("`") + name + "` is given twice");
      valid = false;
    }
    valid &= !argument.item.isError();
  }

  // A misspelled name explains one that is missing.
  bool explained = !valid;
  LayerSettings settings;
  for (const LayerSetting &setting : layer.settings) {
    auto found = given.find(setting.name);
    const Item *item = found == given.end() ? nullptr : found->second;
    if (item && item->isError())
      continue;
    std::string what = ("`" + setting.name + "`").str();
    switch (setting.kind) {
    case LayerSetting::Kind::Dimension: {
      if (!item && explained)
        break;
      if (!item) {
        diagnostics
            .error(instance.range, Twine("dimension ") + what + " of `" +
                                       layer.name + "` is not known")
            .hint(Twine("write `") + layer.name + "(" + setting.name +
                  "=...)`");
        valid = false;
        break;
      }
      std::optional<Size> size = checker.wholeSize(*item, "a dimension");
      valid &= size.has_value();
      if (size)
        settings.dimensions[setting.name] = *size;
      break;
    }
    case LayerSetting::Kind::Whole: {
      if (!item && setting.otherwise < double(setting.least)) {
        if (explained)
          break;
        diagnostics
            .error(instance.range,
                   Twine("`") + layer.name + "` needs the setting " + what)
            .hint(Twine("write `") + layer.name + "(" + setting.name +
                  "=...)`");
        valid = false;
        break;
      }
      std::optional<int64_t> value =
          item ? checker.fixedWhole(*item, what)
               : std::optional<int64_t>(int64_t(setting.otherwise));
      if (value && *value < setting.least) {
        diagnostics.error(item->range, Twine(what) + " is at least " +
                                           Twine(setting.least) + ", found " +
                                           Twine(*value));
        value = std::nullopt;
      }
      // Larger than any tensor; what is computed from it must not overflow.
      if (value && *value > INT32_MAX) {
        diagnostics.error(item->range,
                          Twine(what) + " is too large: " + Twine(*value));
        value = std::nullopt;
      }
      valid &= value.has_value();
      if (value)
        settings.wholes[setting.name] = *value;
      break;
    }
    case LayerSetting::Kind::Real: {
      std::optional<double> value =
          item ? checker.fixedReal(*item, what)
               : std::optional<double>(setting.otherwise);
      valid &= value.has_value();
      if (value)
        settings.reals[setting.name] = *value;
      break;
    }
    case LayerSetting::Kind::Flag: {
      bool value = setting.otherwise != 0;
      if (item && item->boolean()) {
        value = *item->boolean();
      } else if (item) {
        diagnostics.error(item->range, Twine(what) +
                                           " is true or false, found " +
                                           checker.describe(*item));
        valid = false;
      }
      settings.flags[setting.name] = value;
      break;
    }
    }
  }
  if (!valid)
    return std::nullopt;
  return settings;
}

void Checker::checkLayerSettings(Instance &instance) {
  if (const Layer *layer = findLayer(instance.calleeName))
    readSettings(*this, *layer, instance);
}
