// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- StepPanels.h - Panels of a recurrence's products ---------*- C++ -*-===//

#ifndef PASSES_SCHEDULE_STEPPANELS_H
#define PASSES_SCHEDULE_STEPPANELS_H

#include "passes/support/Target.h"

namespace gatefold {

/// Attribute of a gf.linear, without a value: a product that each step of a
/// recurrence does with the same weights, on a GPU. It has few rows, and the
/// warps of a block share its terms.
inline constexpr llvm::StringLiteral stepProductName = "gf.step";

/// The width of the panels of a product that each step of a recurrence does
/// with the same weights, of which it has few rows. On a GPU its time is that
/// of reading the weights, which multiprocessors share panel by panel: there
/// is a panel for each of them if that leaves 16 columns. `width` is what suits
/// the product otherwise.
int64_t chooseStepPanelWidth(const TargetDescription &target, int64_t columns,
                             int64_t width);

/// How many columns of each of `gates` gates, `columns` each, a panel of such a
/// product should hold: there is a panel for each multiprocessor, if that
/// leaves 8. 0 where a tile has no room for so many gates.
int64_t chooseGateColumns(const TargetDescription &target, int64_t columns,
                          int64_t gates);

} // namespace gatefold

#endif // PASSES_SCHEDULE_STEPPANELS_H
