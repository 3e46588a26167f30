// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModuleDiagnostics.cpp - What MLIR reports --------------------------===//

#include "frontend/tools/gatefold/ModuleDiagnostics.h"
#include "frontend/tools/gatefold/Messages.h"
#include "mlir/IR/Remarks.h"

using namespace llvm;

namespace gatefold::tool {
namespace {

StringRef severityName(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  case mlir::DiagnosticSeverity::Note:
    break;
  }
  return "note";
}

json::Object placeJson(mlir::Location location, const std::string &message) {
  json::Object object{{"message", json::fixUTF8(message)}};
  addPlace(object, location);
  return object;
}

json::Object diagnosticJson(const mlir::Diagnostic &diagnostic) {
  json::Object object = placeJson(diagnostic.getLocation(), diagnostic.str());
  object["severity"] = severityName(diagnostic.getSeverity());
  json::Array notes;
  for (const mlir::Diagnostic &note : diagnostic.getNotes())
    notes.push_back(placeJson(note.getLocation(), note.str()));
  object["notes"] = std::move(notes);
  object["hints"] = json::Array();
  return object;
}

PassRemark::Kind kindOf(llvm::remarks::Type type) {
  switch (type) {
  case llvm::remarks::Type::Passed:
    return PassRemark::Kind::Done;
  case llvm::remarks::Type::Missed:
  case llvm::remarks::Type::Failure:
    return PassRemark::Kind::NotDone;
  default:
    return PassRemark::Kind::Note;
  }
}

class RemarkReporter : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  RemarkReporter(bool prints, std::vector<PassRemark> &kept)
      : prints(prints), kept(kept) {}

  void streamOptimizationRemark(
      const mlir::remark::detail::Remark &remark) override {
    std::string words;
    for (const mlir::remark::detail::Remark::Arg &part : remark.getArgs())
      words += part.val;
    if (prints)
      mlir::emitRemark(remark.getLocation())
          << words << " [" << remark.getCategoryName() << "]";
    kept.push_back({remark.getLocation(), kindOf(remark.getRemarkType()),
                    remark.getCategoryName().str(), std::move(words)});
  }

private:
  bool prints;
  std::vector<PassRemark> &kept;
};

} // namespace

mlir::LogicalResult enableRemarks(mlir::MLIRContext &context, bool prints,
                                  std::vector<PassRemark> &kept) {
  mlir::remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return mlir::remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkReporter>(prints, kept),
      std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), categories);
}

std::vector<mlir::FileLineColLoc> findPlaces(mlir::Location location) {
  std::vector<mlir::FileLineColLoc> places;
  auto add = [&](mlir::Location inner) {
    auto place = inner->findInstanceOf<mlir::FileLineColLoc>();
    if (place && (places.empty() || places.back() != place))
      places.push_back(place);
  };
  // One of those that were fused stands for all.
  while (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
    if (fused.getLocations().empty())
      return places;
    location = fused.getLocations().front();
  }
  while (auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location)) {
    for (mlir::FileLineColLoc place : findPlaces(call.getCallee()))
      add(place);
    location = call.getCaller();
  }
  add(location);
  return places;
}

void addPlace(json::Object &object, mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!place)
    return;
  object["file"] = json::fixUTF8(place.getFilename().getValue());
  object["line"] = int64_t(place.getLine());
  object["column"] = int64_t(place.getColumn());
}

ModuleDiagnostics::ModuleDiagnostics(mlir::MLIRContext &context,
                                     SourceMgr &sources, bool json)
    : printer(json ? nullptr
                   : std::make_unique<mlir::SourceMgrDiagnosticHandler>(
                         sources, &context)),
      // The newest handler is asked first; a failure passes on to the printer.
      collector(&context, [this, json](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            (StringRef(diagnostic.str()).contains("not compiled yet") ||
             StringRef(diagnostic.str()).contains("cannot be scheduled")))
          unsupported = true;
        if (json)
          diagnosticsJson().push_back(diagnosticJson(diagnostic));
        return mlir::success(json);
      }) {}

} // namespace gatefold::tool
