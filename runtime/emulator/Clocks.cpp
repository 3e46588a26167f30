// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Clocks.cpp - What happened before what -----------------------------===//

#include "runtime/emulator/Clocks.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace gatefold::emulator;

const Times *Knowledge::find(uint32_t block) const {
  auto found = partition_point(
      blocks, [&](const auto &entry) { return entry.first < block; });
  return found != blocks.end() && found->first == block ? found->second.get()
                                                        : nullptr;
}

/// Whether `left` is at least `right` everywhere.
static bool covers(const Times &left, const Times &right) {
  if (left.least >= right.most)
    return true;
  if (left.most < right.most)
    return false;
  for (size_t i = 0; i < left.of.size(); ++i)
    if (left.of[i] < right.of[i])
      return false;
  return true;
}

static TimesRef join(const TimesRef &left, const TimesRef &right) {
  if (left == right || covers(*left, *right))
    return left;
  if (covers(*right, *left))
    return right;
  auto result = makeIntrusiveRefCnt<Times>(*left);
  for (size_t i = 0; i < result->of.size(); ++i)
    result->of[i] = std::max(result->of[i], right->of[i]);
  result->least = std::max(left->least, right->least);
  result->most = std::max(left->most, right->most);
  return result;
}

/// Whether each block's times are the same object or older than in `left`.
static bool covers(const Knowledge &left, const Knowledge &right) {
  for (const auto &[block, times] : right.blocks) {
    const Times *own = left.find(block);
    if (!own || (own != times.get() && !covers(*own, *times)))
      return false;
  }
  return true;
}

KnowledgeRef gatefold::emulator::join(const KnowledgeRef &left,
                                      const KnowledgeRef &right) {
  if (!right || left == right || (left && covers(*left, *right)))
    return left;
  if (!left || covers(*right, *left))
    return right;
  auto result = makeIntrusiveRefCnt<Knowledge>();
  auto l = left->blocks.begin(), r = right->blocks.begin();
  while (l != left->blocks.end() || r != right->blocks.end()) {
    if (r == right->blocks.end() ||
        (l != left->blocks.end() && l->first < r->first)) {
      result->blocks.push_back(*l++);
    } else if (l == left->blocks.end() || r->first < l->first) {
      result->blocks.push_back(*r++);
    } else {
      result->blocks.push_back({l->first, ::join(l->second, r->second)});
      ++l, ++r;
    }
  }
  return result;
}

KnowledgeRef gatefold::emulator::meet(ArrayRef<const Moment *> moments,
                                      uint32_t threads) {
  KnowledgeRef known;
  const Knowledge *last = nullptr;
  for (const Moment *moment : moments) {
    if (moment->known.get() != last)
      known = join(known, moment->known);
    last = moment->known.get();
  }
  uint32_t block = moments.front()->block;
  const Times *old = known ? known->find(block) : nullptr;
  auto times = makeIntrusiveRefCnt<Times>();
  if (old)
    times->of = old->of;
  else
    times->of.resize(threads);
  for (const Moment *moment : moments) {
    uint32_t &time = times->of[moment->thread];
    time = std::max(time, moment->time);
  }
  times->least = *min_element(times->of);
  times->most = *max_element(times->of);
  auto result = makeIntrusiveRefCnt<Knowledge>();
  if (known)
    result->blocks = known->blocks;
  auto place = partition_point(
      result->blocks, [&](const auto &entry) { return entry.first < block; });
  if (old)
    place->second = times;
  else
    result->blocks.insert(place, {block, times});
  return result;
}

KnowledgeRef &Message::ofBlock(uint32_t block) {
  for (auto &[number, known] : ofBlocks)
    if (number == block)
      return known;
  ofBlocks.push_back({block, nullptr});
  return ofBlocks.back().second;
}

void Message::add(const KnowledgeRef &known, uint32_t block, Scope scope) {
  if (scope < Scope::Block)
    return;
  KnowledgeRef &own = ofBlock(block);
  own = join(own, known);
  if (scope >= Scope::Device)
    wide = join(wide, known);
}

void Message::addFor(uint32_t block, const Message &other) {
  wide = join(wide, other.wide);
  for (const auto &[number, known] : other.ofBlocks)
    if (number == block) {
      KnowledgeRef &own = ofBlock(block);
      own = join(own, known);
    }
}

KnowledgeRef Message::read(uint32_t block, Scope scope) const {
  KnowledgeRef result;
  if (scope < Scope::Block)
    return result;
  for (const auto &[number, known] : ofBlocks)
    if (number == block)
      result = known;
  return scope >= Scope::Device ? join(result, wide) : result;
}
