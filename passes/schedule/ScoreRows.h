// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- ScoreRows.h - The memory of an attention's rows ----------*- C++ -*-===//
//
// How much memory a block of queries takes for what is as long as the keys, and
// how many queries a block may have for it.
//
//===----------------------------------------------------------------------===//

#ifndef PASSES_SCHEDULE_SCOREROWS_H
#define PASSES_SCHEDULE_SCOREROWS_H

#include "dialect/GatefoldOps.h"

namespace gatefold {

/// What the rows of a block of queries may take, in bytes: each rank has one
/// such block. With 8192 keys and values 64 wide, 4 MiB of panels, 16 ranks
/// stay under 16 MiB with one row of f32 for each query, or with two.
inline constexpr int64_t mostRowBytes = 600 << 10;

/// Bytes for each key that one query takes at a time: its rows of scores, of
/// powers, and of whatever else the region makes of them, unless an operation
/// may overwrite what it alone reads.
int64_t countRowBytes(AttentionOp op);

} // namespace gatefold

#endif // PASSES_SCHEDULE_SCOREROWS_H
