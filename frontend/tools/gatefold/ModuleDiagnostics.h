// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModuleDiagnostics.h - What MLIR reports ------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H
#define FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"

namespace gatefold::tool {

/// While it lives, what the parser and the passes of a context report goes to
/// standard error with its place and source line, or, for --json, to
/// `diagnosticsJson()`.
class ModuleDiagnostics {
public:
  ModuleDiagnostics(mlir::MLIRContext &context, llvm::SourceMgr &sources,
                    bool json);

  /// Whether a pass named something that is not compiled yet, or that cannot be
  /// computed as --schedule says: then the program is right and the compiler is
  /// not wrong either.
  bool isUnsupported() const { return unsupported; }

private:
  bool unsupported = false;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> printer;
  mlir::ScopedDiagnosticHandler collector;
};

/// What a pass said through MLIR's remarks.
struct PassRemark {
  enum class Kind { Done, NotDone, Note };
  mlir::Location location;
  Kind kind;
  std::string pass, words;
};

/// What the passes say from now on through MLIR's remarks goes to `kept`; where
/// `prints`, it is also reported as `PLACE: remark: WORDS [PASS]`, through
/// whatever handler there is. `kept` must live as long as the context.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context, bool prints,
                                  std::vector<PassRemark> &kept);

/// The places of a location in files, the innermost first: where it is, then
/// from where that is called; none twice in a row.
std::vector<mlir::FileLineColLoc> findPlaces(mlir::Location location);

/// `file`, `line` and `column`, where the location has any.
void addPlace(llvm::json::Object &object, mlir::Location location);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H
