// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- gatefold-lsp-server.cpp - Language server for gf IR ----------------===//
//
// mlir-lsp-server with the gf dialect: an editor's MLIR extension takes it as
// its server.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<gatefold::GfDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
