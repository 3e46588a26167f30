// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttentionHeads.cpp - Grouped heads -------------------------------===//
//
// The last mapped dimension as a pair (key heads, group), in which keys have a
// 1 for the group.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Attentions.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

bool AttentionCall::groupHeads() {
  struct Heads {
    Size size;
    const Given *given;
  };
  SmallVector<Heads> all;
  auto add = [&](const Given &given) {
    if (given.extra)
      all.push_back({given.tensor.own()[given.extra - 1], &given});
  };
  for (const Input &input : inputs)
    add(input.given);
  for (const std::optional<Given> *given : {&mask, &bias})
    if (*given)
      add(**given);
  Range place = options["gqa"]->name->range;
  if (all.empty()) {
    checker.diagnostics
        .error(place, "gqa needs heads, a dimension in front of those that `" +
                          Twine(declaration.name.name) + "` declares")
        .hint("give `[.., heads, T, D]`, or leave `gqa` out");
    return false;
  }

  // The most heads: all others divide them.
  heads = all.front().size;
  for (const Heads &entry : all) {
    std::optional<int64_t> a = heads.constant(), b = entry.size.constant();
    if ((a && b) ? *b > *a
                 : heads.isConstant(1) ||
                       (!entry.size.isConstant(1) && heads != entry.size &&
                        Size::divideExactly(entry.size, heads)))
      heads = entry.size;
  }
  keyHeads = heads;
  group = Size(1);
  for (const Heads &entry : all) {
    if (entry.size == heads || entry.size.isConstant(1))
      continue;
    std::optional<Size> shared = Size::divideExactly(heads, entry.size);
    std::string message = "gqa: " + entry.size.str() + " heads of `" +
                          entry.given->name + "` do not divide " + heads.str() +
                          " heads";
    if (!shared) {
      std::optional<Size> quotient = Size::floorDivide(heads, entry.size);
      std::optional<Size> back =
          quotient ? Size::multiply(*quotient, entry.size) : std::nullopt;
      auto report = [&] {
        checker.diagnostics.error(entry.given->range, message);
      };
      if (!back) {
        report();
        return false;
      }
      if (!checker.requireEqual(*back, heads, entry.given->range, message,
                                report))
        return false;
      shared = quotient;
    }
    // The fewest heads make the pair; what lies between is repeated.
    std::optional<int64_t> fewest = keyHeads.constant();
    std::optional<int64_t> here = entry.size.constant();
    if (keyHeads == heads || (fewest && here && *here < *fewest)) {
      keyHeads = entry.size;
      group = *shared;
    }
  }
  isGrouped = keyHeads != heads;
  return true;
}

Tensor AttentionCall::grouped(const Given &given) {
  Tensor tensor = given.entered;
  if (!tensor.leadRank)
    return tensor;
  // The head as an own dimension, to be reshaped.
  --tensor.leadRank;
  Size count = tensor.own().front();
  Shape rest(tensor.own().drop_front());
  auto with = [&](ArrayRef<Size> front) {
    Shape shape(front);
    shape.append(rest.begin(), rest.end());
    return shape;
  };
  if (count == heads) {
    tensor = checker.reshapeOwn(tensor, with({keyHeads, group}), given.range);
  } else if (count == keyHeads) {
    tensor = checker.reshapeOwn(tensor, with({keyHeads, Size(1)}), given.range);
  } else if (count.isConstant(1)) {
    tensor = checker.reshapeOwn(tensor, with({Size(1), Size(1)}), given.range);
  } else {
    Size repeats =
        sizeOrError(checker, Size::floorDivide(heads, count), given.range);
    Shape lead(tensor.lead());
    tensor = checker.reshapeOwn(tensor, with({count, Size(1)}), given.range);
    tensor =
        checker.broadcast(tensor, lead, with({count, repeats}), given.range);
    tensor = checker.reshapeOwn(tensor, with({keyHeads, group}), given.range);
  }
  tensor.leadRank += 2;
  return tensor;
}
