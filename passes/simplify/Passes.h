// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.h - The passes of phase simplify -----------------------*- C++
//-*-===//

#ifndef PASSES_SIMPLIFY_PASSES_H
#define PASSES_SIMPLIFY_PASSES_H

#include "passes/PassCommon.h"

namespace gatefold {

#define GEN_PASS_DECL
#include "passes/simplify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/simplify/Passes.h.inc"

} // namespace gatefold

#endif // PASSES_SIMPLIFY_PASSES_H
