// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- BuiltinArguments.cpp - Arguments of built-in functions -------------===//

#include "frontend/text/Builtins.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

Arguments::Arguments(Checker &checker, Identifier callee,
                     ArrayRef<EvaluatedArgument> arguments,
                     const Signature &signature)
    : checker(checker), callee(callee) {
  Diagnostics &diagnostics = checker.diagnostics;
  SmallVector<StringRef> known(signature.positional.begin(),
                               signature.positional.end());
  known.append(signature.named.begin(), signature.named.end());
  unsigned position = 0;
  bool sawName = false;
  for (const EvaluatedArgument &argument : arguments) {
    valid &= !argument.item.isError();
    if (!argument.name) {
      if (sawName) {
        diagnostics.error(argument.item.range,
                          "a value by position stands before those by name");
        valid = false;
      } else if (signature.variadic) {
        rest.push_back(&argument.item);
      } else if (position < signature.positional.size()) {
        byName[signature.positional[position]] = &argument.item;
      } else if (position == signature.positional.size()) {
        size_t count = llvm::count_if(
            arguments, [](const EvaluatedArgument &a) { return !a.name; });
        size_t limit = signature.positional.size();
        Diagnostic &error = diagnostics.error(
            argument.item.range, Twine("`") + callee.name + "` takes " +
                                     Twine(limit) +
                                     (limit == 1 ? " value" : " values") +
                                     " by position, found " + Twine(count));
        if (!signature.named.empty())
          error.hint(Twine("by name: `") + signature.named.front() + "=...`");
        valid = false;
      }
      ++position;
      continue;
    }
    sawName = true;
    StringRef name = argument.name->name;
    if (!llvm::is_contained(known, name)) {
      diagnostics
          .error(argument.name->range,
                 Twine("`") + callee.name + "` has no argument `" + name + "`")
          .suggest(name, known);
      valid = false;
      continue;
    }
    if (!byName.insert({name, &argument.item}).second) {
      diagnostics.error(argument.name->range,
                        Twine("`") + name + "` is given twice");
      valid = false;
    }
  }
  if (!valid)
    return;
  for (unsigned i = 0; i < signature.required; ++i) {
    bool given = signature.variadic ? i < rest.size()
                                    : byName.count(signature.positional[i]);
    if (given)
      continue;
    std::string start = ("`" + callee.name + "` needs ").str();
    if (signature.variadic)
      diagnostics.error(callee.range, start + "a tensor or more");
    else
      diagnostics.error(callee.range,
                        Twine(start) + "`" + signature.positional[i] + "`");
    valid = false;
    return;
  }
}

const Item *Arguments::find(StringRef name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : found->second;
}

std::optional<Tensor> Arguments::tensor(StringRef name, bool allowBool) {
  const Item *item = find(name);
  if (!item || item->isError())
    return std::nullopt;
  const Tensor *tensor = item->tensor();
  if (!tensor) {
    reportNotTensor(checker, function(), *item, item->range);
    return std::nullopt;
  }
  if (!allowBool && tensor->element() == Element::Bool) {
    reportBool(checker, function(), item->range);
    return std::nullopt;
  }
  return *tensor;
}

std::optional<unsigned> Arguments::axis(StringRef name, int64_t otherwise,
                                        unsigned rank, const Item &shown) {
  const Item *item = find(name);
  int64_t axis = otherwise;
  if (item) {
    std::optional<int64_t> given = checker.fixedWhole(*item, "an axis");
    if (!given)
      return std::nullopt;
    axis = *given;
  }
  int64_t place = axis < 0 ? axis + int64_t(rank) : axis;
  if (place < 0 || place >= int64_t(rank)) {
    checker.diagnostics.error(item ? item->range : this->place(),
                              Twine("`") + function() + "`: axis " +
                                  Twine(axis) + " does not exist in " +
                                  checker.describe(shown));
    return std::nullopt;
  }
  return unsigned(place);
}

std::optional<bool> Arguments::flag(StringRef name, bool otherwise) {
  const Item *item = find(name);
  if (!item)
    return otherwise;
  if (const bool *value = item->boolean())
    return *value;
  checker.diagnostics.error(item->range, Twine("`") + name +
                                             "` is true or false, found " +
                                             checker.describe(*item));
  return std::nullopt;
}

std::optional<unsigned> Arguments::choice(StringRef name,
                                          ArrayRef<StringRef> choices) {
  const Item *item = find(name);
  if (!item)
    return 0;
  const std::string *value = item->string();
  if (value)
    for (unsigned i = 0; i < choices.size(); ++i)
      if (*value == choices[i])
        return i;
  std::string list;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i)
      list += i + 1 == choices.size() ? " or " : ", ";
    list += ("\"" + choices[i] + "\"").str();
  }
  Diagnostic &error = checker.diagnostics.error(
      item->range,
      Twine("`") + name + "` is " + list + ", found " +
          (value ? "\"" + *value + "\"" : checker.describe(*item)));
  if (value)
    error.suggest(*value, choices);
  return std::nullopt;
}

std::optional<int64_t> Arguments::whole(StringRef name, int64_t otherwise,
                                        int64_t least) {
  const Item *item = find(name);
  if (!item)
    return otherwise;
  std::optional<int64_t> value =
      checker.fixedWhole(*item, Twine("`") + name + "`");
  if (value && *value < least) {
    checker.diagnostics.error(item->range, Twine("`") + name +
                                               "` is at least " + Twine(least) +
                                               ", found " + Twine(*value));
    return std::nullopt;
  }
  return value;
}

std::optional<double> Arguments::real(StringRef name, double otherwise) {
  const Item *item = find(name);
  if (!item)
    return otherwise;
  return checker.fixedReal(*item, Twine("`") + name + "`");
}

std::optional<Size> Arguments::size(StringRef name, const Size &otherwise) {
  const Item *item = find(name);
  if (!item)
    return otherwise;
  return checker.wholeSize(*item, Twine("`") + name + "`");
}

std::optional<Shape> Arguments::shape(StringRef name) {
  const Item *item = find(name);
  if (!item)
    return std::nullopt;
  Shape shape;
  ArrayRef<Item> elements = item->elements();
  bool failed = false;
  for (const Item &element : elements) {
    std::optional<Size> size = checker.wholeSize(element, "a dimension");
    failed |= !size;
    if (size)
      shape.push_back(*size);
  }
  if (failed)
    return std::nullopt;
  return shape;
}
