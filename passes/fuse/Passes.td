// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Passes.td - The passes of phase fuse ----------------*- tablegen -*-===//

#ifndef GATEFOLD_FUSE_PASSES_TD
#define GATEFOLD_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

// Passes that share work between operations. Each says in a remark what it did,
// or why it did not.

#endif // GATEFOLD_FUSE_PASSES_TD
