// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ScheduledOperations.cpp - Recurrences and attentions ---------------===//

#include "frontend/tools/gatefold/ScheduledOperations.h"
#include "passes/schedule/Schedule.h"
#include "passes/support/Entry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

constexpr StringLiteral choosingPass = "gf-choose-algorithms";
constexpr StringLiteral tilingPass = "gf-tile-attention";
constexpr StringLiteral sharingPass = "gf-distribute";
/// How its remark on the steps of a recurrence begins; a number follows.
constexpr StringLiteral barriersOfSteps =
    "steps: ranks that share one meet at ";

/// Whether `inner` is at `outer`, or called from there.
bool isWithin(ArrayRef<mlir::FileLineColLoc> inner,
              ArrayRef<mlir::FileLineColLoc> outer) {
  return !outer.empty() && inner.size() >= outer.size() &&
         inner.take_back(outer.size()) == outer;
}

/// Whether nothing tells one from the other for whoever reads the text.
bool areAlike(const Compilation::Scheduled &a,
              const Compilation::Scheduled &b) {
  return a.what == b.what && a.algorithm == b.algorithm && a.sizes == b.sizes;
}

} // namespace

std::vector<ScheduledOperation> findOperations(const Compilation &compilation) {
  std::vector<ScheduledOperation> operations;
  for (const Compilation::Scheduled &scheduled : compilation.getScheduled()) {
    auto places = findPlaces(scheduled.location);
    auto alike =
        llvm::find_if(operations, [&](const ScheduledOperation &other) {
          return other.places == places &&
                 areAlike(*other.scheduled, scheduled);
        });
    if (alike != operations.end())
      ++alike->count;
    else
      operations.push_back({&scheduled, 1, std::move(places), {}});
  }
  operations.emplace_back();
  for (const PassRemark &remark : compilation.getRemarks()) {
    // The rows say what was chosen.
    if (remark.pass == choosingPass && remark.kind == PassRemark::Kind::Note)
      continue;
    std::vector<mlir::FileLineColLoc> places = findPlaces(remark.location);
    ScheduledOperation *nearest = &operations.back();
    for (ScheduledOperation &operation : operations)
      if (isWithin(places, operation.places) &&
          operation.places.size() > nearest->places.size())
        nearest = &operation;
    // Layers and directions say the same again.
    if (llvm::none_of(nearest->remarks, [&](const PassRemark *other) {
          return other->words == remark.words && other->pass == remark.pass &&
                 other->location == remark.location;
        }))
      nearest->remarks.push_back(&remark);
  }
  return operations;
}

std::string ScheduledOperation::getAlgorithm() const {
  bool isLeft = llvm::any_of(remarks, [&](const PassRemark *remark) {
    return remark->kind == PassRemark::Kind::NotDone &&
           remark->pass == tilingPass && findPlaces(remark->location) == places;
  });
  return isLeft ? naiveAlgorithm.str() : scheduled->algorithm;
}

std::vector<const PassRemark *> ScheduledOperation::getReasons() const {
  std::vector<const PassRemark *> reasons;
  llvm::copy_if(
      remarks, std::back_inserter(reasons), [](const PassRemark *remark) {
        return remark->kind == PassRemark::Kind::NotDone &&
               (remark->pass == choosingPass || remark->pass == tilingPass);
      });
  return reasons;
}

int64_t ScheduledOperation::countBarriers() const {
  std::optional<int64_t> least;
  for (const PassRemark *remark : remarks) {
    StringRef words = remark->words;
    int64_t barriers = 0;
    if (remark->pass == sharingPass && words.consume_front(barriersOfSteps) &&
        !words.consumeInteger(10, barriers))
      least = std::min(least.value_or(barriers), barriers);
  }
  return least.value_or(0);
}

/// Files of the library are named as programs import them: where it is
/// installed says nothing.
std::string placeText(ArrayRef<mlir::FileLineColLoc> places) {
  if (places.empty())
    return "";
  StringRef file = places.front().getFilename().getValue();
  if (sys::fs::equivalent(sys::path::parent_path(file), libraryFolder()))
    file = sys::path::filename(file);
  return (file + ":" + Twine(places.front().getLine()) + ":" +
          Twine(places.front().getColumn()))
      .str();
}

StringRef kindText(PassRemark::Kind kind) {
  switch (kind) {
  case PassRemark::Kind::Done:
    return "done";
  case PassRemark::Kind::NotDone:
    return "not done";
  case PassRemark::Kind::Note:
    break;
  }
  return "note";
}

json::Array remarksJson(ArrayRef<const PassRemark *> remarks) {
  json::Array array;
  for (const PassRemark *remark : remarks) {
    json::Object object{{"kind", kindText(remark->kind)},
                        {"pass", remark->pass},
                        {"message", json::fixUTF8(remark->words)}};
    addPlace(object, remark->location);
    array.push_back(std::move(object));
  }
  return array;
}

json::Object operationJson(const ScheduledOperation &operation,
                           ArrayRef<const PassRemark *> remarks) {
  std::string algorithm = operation.getAlgorithm();
  json::Object object{{"what", operation.scheduled->what},
                      {"algorithm", algorithm},
                      {"count", operation.count},
                      {"remarks", remarksJson(remarks)}};
  if (algorithm != naiveAlgorithm)
    for (const auto &[size, number] : operation.scheduled->sizes)
      object[size->key] = number;
  addPlace(object, operation.scheduled->location);
  return object;
}

} // namespace gatefold::tool
