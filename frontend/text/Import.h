// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Import.h - A checked program as MLIR ---------------------*- C++ -*-===//
//
// The phase `import`: from the graph that the checker leaves to operations of
// `gf`, `linalg`, `tensor`, `arith`, `math`.
//
//===----------------------------------------------------------------------===//

#ifndef FRONTEND_TEXT_IMPORT_H
#define FRONTEND_TEXT_IMPORT_H

#include "frontend/text/Diagnostics.h"
#include "frontend/text/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace gatefold::text {

/// The entry as a module that verifies, with one function of the program's name
/// and the attributes that the gf dialect describes. What is not compiled yet
/// is reported at its place ("not compiled yet: ...") and gives null. Loads the
/// dialects that it needs into the context.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(const Program &program,
                                                Diagnostics &diagnostics,
                                                mlir::MLIRContext &context);

} // namespace gatefold::text

#endif // FRONTEND_TEXT_IMPORT_H
