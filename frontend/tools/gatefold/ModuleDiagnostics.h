// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ModuleDiagnostics.h - What MLIR reports ------------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H
#define FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace gatefold::tool {

/// While it lives, what the parser and the passes of a context report goes to
/// standard error with its place and source line, or, for --json, to
/// `diagnosticsJson()`.
class ModuleDiagnostics {
public:
  ModuleDiagnostics(mlir::MLIRContext &context, llvm::SourceMgr &sources,
                    bool json);

  /// Whether a pass named something that is not compiled yet: then the program
  /// is right and the compiler is not wrong either.
  bool isUnsupported() const { return unsupported; }

private:
  bool unsupported = false;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> printer;
  mlir::ScopedDiagnosticHandler collector;
};

/// --remarks: what the passes say through MLIR's remarks is reported as
/// `PLACE: remark: WORDS [PASS]`, through whatever handler there is.
mlir::LogicalResult enableRemarks(mlir::MLIRContext &context);

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_MODULEDIAGNOSTICS_H
