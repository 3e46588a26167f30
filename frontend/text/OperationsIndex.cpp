// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- OperationsIndex.cpp - Indices, slices, new dimensions --------------===//
//
// NumPy's basic indexing. Bounds of slices are cut to the size; where that
// depends on the run the size becomes a minimum or maximum. A single index that
// may lie outside in a run is recorded as an equality that holds where it lies
// inside.
//
//===----------------------------------------------------------------------===//

#include "frontend/text/Operations.h"
#include "llvm/ADT/StringExtras.h"

using namespace gatefold::text;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;

namespace {

/// What one entry takes of an axis.
struct Taken {
  Size start, size;
  int64_t step = 1;
  bool dropped = false;
};

class Indexing {
public:
  Indexing(Checker &checker, const Tensor &base, Range place)
      : checker(checker), base(base), place(place) {}

  Item apply(ArrayRef<Checker::EvaluatedIndex> entries);

private:
  std::optional<Size> bound(const Item &item);
  /// What a bound of a slice counts from must not depend on the run.
  bool requireSign(const Item &item, const Size &size);
  std::optional<Taken> single(const Item &item, const Size &size, Range range);
  std::optional<Taken> slice(const Checker::EvaluatedIndex &entry,
                             const Size &size);
  /// A bound of a slice: negative ones count from the end, all are cut to the
  /// size.
  std::optional<Size> low(const std::optional<Item> &item, const Size &size);
  std::optional<Size> cut(const std::optional<Item> &item, const Size &size,
                          const Size &otherwise);

  Checker &checker;
  const Tensor &base;
  Range place;
};

} // namespace

/// Shown by the normal form to be 0 or less in every run.
static bool isNegative(const Size &size) {
  std::optional<Size> largest = Size::maximum(size, Size());
  return largest && largest->isConstant(0) && !size.isConstant(0);
}

std::optional<Size> Indexing::bound(const Item &item) {
  if (item.isError())
    return std::nullopt;
  if (const Number *number = item.number())
    if (std::optional<Size> size = asSize(*number))
      return size;
  Diagnostic &error = checker.diagnostics.error(
      item.range,
      "an index is a whole number, found " + checker.describe(item));
  if (item.tensor())
    error.hint("to look up many places, write `take(x, i)`");
  return std::nullopt;
}

std::optional<Taken> Indexing::single(const Item &item, const Size &size,
                                      Range range) {
  std::optional<Size> given = bound(item);
  if (!given)
    return std::nullopt;
  std::optional<Size> index = given;
  if (isNegative(*given))
    index = Size::add(size, *given);
  if (!index)
    return std::nullopt;
  std::string message =
      "index " + given->str() + " is out of range for a size of " + size.str();
  if (!requireWithin(checker, *index, Size::subtract(size, Size(1)), range,
                     message))
    return std::nullopt;
  return Taken{*index, Size(1), 1, true};
}

bool Indexing::requireSign(const Item &item, const Size &size) {
  std::optional<Size> place = bound(item);
  if (!place)
    return false;
  bool negative = isNegative(*place);
  // x[-T:] is all of T, none of them as well.
  if (negative && Size::subtract(Size(), size) == place)
    return true;
  std::string message =
      "the bound " + place->str() + " of a slice is " +
      (negative ? "0, and counts from the end where it is negative"
                : "negative, and counts from the start where it is not");
  auto report = [&] { checker.diagnostics.error(item.range, message); };
  std::optional<Size> kept = negative ? Size::minimum(*place, Size(-1))
                                      : Size::maximum(*place, Size());
  if (!kept) {
    report();
    return false;
  }
  return requireSame(checker, *kept, *place, item.range, message, report);
}

std::optional<Size> Indexing::low(const std::optional<Item> &item,
                                  const Size &size) {
  if (!item)
    return Size();
  std::optional<Size> place = bound(*item);
  if (place && isNegative(*place))
    place = Size::add(size, *place);
  return place ? Size::maximum(*place, Size()) : std::nullopt;
}

std::optional<Size> Indexing::cut(const std::optional<Item> &item,
                                  const Size &size, const Size &otherwise) {
  if (!item)
    return otherwise;
  std::optional<Size> place = bound(*item);
  if (!place)
    return std::nullopt;
  std::optional<Size> least = low(item, size);
  return sizeOrError(
      checker, least ? Size::minimum(*least, size) : std::nullopt, item->range);
}

std::optional<Taken> Indexing::slice(const Checker::EvaluatedIndex &entry,
                                     const Size &size) {
  Taken taken;
  if (entry.step) {
    if (entry.step->isError())
      return std::nullopt;
    std::optional<int64_t> step =
        checker.fixedWhole(*entry.step, "the step of a slice");
    if (!step)
      return std::nullopt;
    if (*step < 1) {
      checker.diagnostics
          .error(entry.step->range,
                 "the step of a slice is at least 1, found " + Twine(*step))
          .hint("to reverse an axis, write `flip(x, axis=k)`");
      return std::nullopt;
    }
    taken.step = *step;
  }
  if (!entry.start && !entry.stop && taken.step == 1)
    return Taken{Size(), size, 1, false};
  for (const std::optional<Item> &item : {entry.start, entry.stop})
    if (item && !requireSign(*item, size))
      return std::nullopt;
  std::optional<Size> start = cut(entry.start, size, Size());
  std::optional<Size> stop = cut(entry.stop, size, size);
  if (!start || !stop)
    return std::nullopt;
  // Without the cut of the start, which makes no difference to the length: what
  // remains reads as it was written, T - 1.
  std::optional<Size> from = low(entry.start, size);
  std::optional<Size> length =
      from ? Size::subtract(*stop, *from) : std::nullopt;
  // x[-2:] has min(T, 2), which reads better than T - max(T - 2, 0).
  if (entry.start && !entry.stop && entry.start->number())
    if (std::optional<Size> given = asSize(*entry.start->number());
        given && isNegative(*given))
      if (std::optional<Size> count = Size::subtract(Size(), *given))
        length = Size::minimum(size, *count);
  if (length)
    length = Size::maximum(*length, Size());
  if (length && taken.step != 1) {
    length = Size::add(*length, Size(taken.step - 1)); // rounds up
    if (length)
      length = Size::floorDivide(*length, Size(taken.step));
  }
  taken.start = *start;
  taken.size = sizeOrError(checker, length, entry.range);
  return taken;
}

Item Indexing::apply(ArrayRef<Checker::EvaluatedIndex> entries) {
  unsigned used = 0, ellipses = 0;
  for (const Checker::EvaluatedIndex &entry : entries) {
    used += entry.kind == IndexEntry::Kind::Number ||
            entry.kind == IndexEntry::Kind::Slice;
    ellipses += entry.kind == IndexEntry::Kind::Ellipsis;
  }
  unsigned rank = base.own().size();
  if (ellipses > 1) {
    checker.diagnostics.error(place, "an index holds at most one `...`");
    return erroneous(place);
  }
  if (used > rank) {
    checker.diagnostics.error(
        place, Twine(used) + (used == 1 ? " index for " : " indices for ") +
                   checker.describe(makeItem(base, place)));
    return erroneous(place);
  }

  SmallVector<Taken> taken; // for each axis
  Shape own;                // of the result
  bool failed = false;
  auto whole = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const Size &size = base.own()[taken.size()];
      taken.push_back({Size(), size, 1, false});
      own.push_back(size);
    }
  };
  for (const Checker::EvaluatedIndex &entry : entries) {
    switch (entry.kind) {
    case IndexEntry::Kind::Ellipsis:
      whole(rank - used);
      break;
    case IndexEntry::Kind::NewAxis:
      own.push_back(Size(1));
      break;
    case IndexEntry::Kind::Number:
    case IndexEntry::Kind::Slice: {
      unsigned axis = taken.size();
      const Size &size = base.own()[axis];
      bool isNumber = entry.kind == IndexEntry::Kind::Number;
      // A number takes one of T or S, whichever it is.
      if (isNumber && !checkFreeAxis(checker, "[...]", base, axis, entry.range))
        return erroneous(place);
      std::optional<Taken> part = isNumber
                                      ? single(*entry.value, size, entry.range)
                                      : slice(entry, size);
      if (!part) {
        failed = true;
        part = Taken{Size(), size, 1, isNumber};
      }
      bool everything = !isNumber && part->start.isConstant(0) &&
                        part->step == 1 && part->size == size;
      if (!failed && !everything &&
          !checkFreeAxis(checker, "[...]", base, axis, entry.range))
        failed = true;
      if (!part->dropped)
        own.push_back(part->size);
      taken.push_back(*part);
      break;
    }
    }
  }
  if (failed)
    return erroneous(place);
  whole(rank - taken.size());

  // One slice for all axes, then one reshape.
  Shape sliced(base.lead().begin(), base.lead().end());
  bool changes = false;
  for (unsigned axis = 0; axis < rank; ++axis) {
    sliced.push_back(taken[axis].size);
    changes |= !taken[axis].start.isConstant(0) || taken[axis].step != 1 ||
               taken[axis].size != base.own()[axis];
  }
  Tensor result = base;
  if (changes) {
    auto &node = checker.make<SliceNode>(place);
    node.operands.push_back(base.value);
    node.starts.assign(base.leadRank, Size());
    node.steps.assign(base.leadRank, 1);
    for (const Taken &part : taken) {
      node.starts.push_back(part.start);
      node.steps.push_back(part.step);
    }
    TensorType type;
    type.element = base.element();
    type.shape = sliced;
    node.results.push_back(type);
    result = {Value{&node, 0}, base.leadRank};
  }
  result = checker.reshapeOwn(result, own, place);
  return checkedItem(checker, makeItem(result, place), place);
}

Item Checker::index(const Item &base, ArrayRef<EvaluatedIndex> entries,
                    Range place) {
  if (base.isError())
    return erroneous(place);
  const Tensor *tensor = base.tensor();
  if (!tensor) {
    Diagnostic &error = diagnostics.error(
        place, "an index needs a tensor, found " + describe(base));
    if (base.tuple())
      error.hint("take it apart first: `a, b = ...`");
    return erroneous(place);
  }
  unsigned errorsBefore = diagnostics.errorCount();
  Item result = Indexing(*this, *tensor, place).apply(entries);
  return diagnostics.errorCount() == errorsBefore ? result : erroneous(place);
}
