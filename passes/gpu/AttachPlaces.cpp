// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- AttachPlaces.cpp - Places in the text as debug locations -----------===//
//
// LLVM keeps a place only in a function that has a debug scope. Upstream's
// ensure-debug-info-scope-on-llvm-func looks callees up in the builtin module
// and does not find those of a gpu.module.
//
//===----------------------------------------------------------------------===//

#include "passes/gpu/Passes.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/Path.h"

namespace gatefold {
#define GEN_PASS_DEF_ATTACHPLACES
#include "passes/gpu/Passes.h.inc"
} // namespace gatefold

using namespace mlir;
using namespace gatefold;

static LLVM::DIFileAttr makeFile(FileLineColLoc place) {
  StringRef path = place.getFilename().getValue();
  return LLVM::DIFileAttr::get(place.getContext(),
                               llvm::sys::path::filename(path),
                               llvm::sys::path::parent_path(path));
}

/// The function's scope, in the file of its own place.
static LLVM::DISubprogramAttr makeScope(LLVM::LLVMFuncOp function,
                                        FileLineColLoc place) {
  MLIRContext *context = function.getContext();
  LLVM::DIFileAttr file = makeFile(place);
  auto unit = LLVM::DICompileUnitAttr::get(
      DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
      file, StringAttr::get(context, "gatefold"), /*isOptimized=*/true,
      LLVM::DIEmissionKind::DebugDirectivesOnly);
  auto type = LLVM::DISubroutineTypeAttr::get(
      context, llvm::dwarf::DW_CC_normal, ArrayRef<LLVM::DITypeAttr>());
  StringAttr name = function.getNameAttr();
  return LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unit, file, name,
      name, file, place.getLine(), place.getLine(),
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      type, /*retainedNodes=*/{}, /*annotations=*/{});
}

static void attach(LLVM::LLVMFuncOp function) {
  auto placeOf = [](Operation *op) {
    return op->getLoc()->findInstanceOf<FileLineColLoc>();
  };
  MLIRContext *context = function.getContext();
  FileLineColLoc own = placeOf(function);
  if (!own)
    own = FileLineColLoc::get(context, "unknown", 0, 0);
  LLVM::DISubprogramAttr scope = makeScope(function, own);
  function->setLoc(FusedLoc::get(context, {own}, scope));
  function.getBody().walk([&](Operation *op) {
    FileLineColLoc place = placeOf(op);
    if (!place)
      return;
    // Of the calls that were inlined the innermost place is what one wants to
    // read.
    Location found = place;
    if (place.getFilename() != own.getFilename())
      found = FusedLoc::get(context, {place},
                            LLVM::DILexicalBlockFileAttr::get(
                                context, scope, makeFile(place), 0));
    op->setLoc(found);
  });
}

namespace {
struct AttachPlaces : gatefold::impl::AttachPlacesBase<AttachPlaces> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        attach(function);
  }
};
} // namespace
