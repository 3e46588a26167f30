// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase fuse ----------------------*- C++ -*-===//

#ifndef PASSES_FUSE_PASSES_H
#define PASSES_FUSE_PASSES_H

#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/fuse/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/fuse/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_FUSE_PASSES_H
