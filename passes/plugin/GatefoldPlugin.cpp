// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- GatefoldPlugin.cpp - Gatefold in a stock mlir-opt ------------------===//
//
// The gf dialect, and the passes and phases, as one plugin:
//
//   mlir-opt --load-dialect-plugin=libGatefoldPlugin.so
//            --load-pass-plugin=libGatefoldPlugin.so
//            --pass-pipeline='builtin.module(gf-NAME)'
//
//===----------------------------------------------------------------------===//

#include "dialect/GatefoldOps.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/Pipelines.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Gatefold", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            registry->insert<gatefold::GfDialect>();
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Gatefold", LLVM_VERSION_STRING,
          [] { gatefold::registerPassesAndPipelines(); }};
}
