// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ProductForm.h - How a product is computed ----------------*- C++ -*-===//
//
// The part of the cost model that chooses between packed panels and a plain
// loop for a product, and the width of the panels.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SCHEDULE_PRODUCTFORM_H
#define PASSES_SCHEDULE_PRODUCTFORM_H

#include "passes/support/Target.h"

namespace gatefold {

/// Attribute of a product: the width of its panels, 0 for a plain loop; instead
/// of what would be chosen.
inline constexpr llvm::StringLiteral tileName = "gf.tile";

struct ProductForm {
  /// 0 where the product is left as it is, and why.
  int64_t panelWidth = 0;
  std::string reason;
};

/// The form of a product of `rows` rows with `columns` columns of elements
/// `type`; sizes may be ShapedType::kDynamic. `isPrepared`: the columns are
/// packed once, not in each run.
ProductForm chooseProductForm(const TargetDescription &target, mlir::Type type,
                              int64_t rows, int64_t columns, bool isPrepared);

} // namespace gatefold

#endif // PASSES_SCHEDULE_PRODUCTFORM_H
