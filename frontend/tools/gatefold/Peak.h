// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Peak.h - What this machine can do at most ----------------*- C++ -*-===//

#ifndef FRONTEND_TOOLS_GATEFOLD_PEAK_H
#define FRONTEND_TOOLS_GATEFOLD_PEAK_H

namespace gatefold::tool {

/// f32 operations a second of one core, by a loop of independent fused
/// multiply-adds with the widest vectors that this processor has; measured for
/// about 50 ms.
double measurePeakFlops();

} // namespace gatefold::tool

#endif // FRONTEND_TOOLS_GATEFOLD_PEAK_H
