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
  if (auto place = location->findInstanceOf<mlir::FileLineColLoc>()) {
    object["file"] = json::fixUTF8(place.getFilename().getValue());
    object["line"] = int64_t(place.getLine());
    object["column"] = int64_t(place.getColumn());
  }
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

class RemarkReporter : public mlir::remark::detail::MLIRRemarkStreamerBase {
public:
  void streamOptimizationRemark(
      const mlir::remark::detail::Remark &remark) override {
    std::string words;
    for (const mlir::remark::detail::Remark::Arg &part : remark.getArgs())
      words += part.val;
    mlir::emitRemark(remark.getLocation())
        << words << " [" << remark.getCategoryName() << "]";
  }
};

} // namespace

mlir::LogicalResult enableRemarks(mlir::MLIRContext &context) {
  mlir::remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return mlir::remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkReporter>(),
      std::make_unique<mlir::remark::RemarkEmittingPolicyAll>(), categories);
}

ModuleDiagnostics::ModuleDiagnostics(mlir::MLIRContext &context,
                                     SourceMgr &sources, bool json)
    : printer(json ? nullptr
                   : std::make_unique<mlir::SourceMgrDiagnosticHandler>(
                         sources, &context)),
      // The newest handler is asked first; a failure passes on to the printer.
      collector(&context, [this, json](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            StringRef(diagnostic.str()).contains("not compiled yet"))
          unsupported = true;
        if (json)
          diagnosticsJson().push_back(diagnosticJson(diagnostic));
        return mlir::success(json);
      }) {}

} // namespace gatefold::tool
