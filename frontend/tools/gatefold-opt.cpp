// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- gatefold-opt.cpp - Run passes on gf and upstream dialects ----------===//
//
// mlir-opt with the gf dialect and Gatefold's passes.
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<gatefold::GfDialect>();
  gatefold::registerPassesAndPipelines();
  gatefold::registerPassesAndPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Gatefold's optimiser driver\n", registry));
}
