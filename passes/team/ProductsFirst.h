// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductsFirst.h - Products of a step before other work ---*- C++ -*-===//

#ifndef PASSES_TEAM_PRODUCTSFIRST_H
#define PASSES_TEAM_PRODUCTSFIRST_H

#include "mlir/IR/Block.h"

namespace gatefold {

/// Moves each product of a block in front of all that stands between it and the
/// product before it, if it needs nothing of that. Ranks meet behind a product
/// whose columns they have shared, if what follows reads whole rows; what stood
/// before it, as the norm of an input's part of the gates, is then between the
/// same barriers as what follows.
void moveProductsFirst(mlir::Block &block);

} // namespace gatefold

#endif // PASSES_TEAM_PRODUCTSFIRST_H
