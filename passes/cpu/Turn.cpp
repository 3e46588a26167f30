// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===- Turn.cpp - Rows to columns in registers ----------------------------===//
//
// Pieces of 16 bytes are put together to vectors; within each 16 bytes log2
// rounds of unpacking turn squares over.
//
//===----------------------------------------------------------------------===//

#include "passes/cpu/Turn.h"

using namespace mlir;
using namespace gatefold;

int64_t gatefold::getPieceLanes(int64_t lanes, Type element) {
  return std::min<int64_t>(lanes, 128 / element.getIntOrFloatBitWidth());
}

/// The i-th vector has the pieces of the rows i, i + p, i + 2 p, ..., p being
/// the elements of a piece.
static SmallVector<Value>
joinPieces(OpBuilder &builder, Location loc, int64_t lanes, int64_t pieceLanes,
           function_ref<Value(int64_t row)> loadPiece) {
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < pieceLanes; ++i) {
    SmallVector<Value> pieces;
    for (int64_t lane = i; lane < lanes; lane += pieceLanes)
      pieces.push_back(loadPiece(lane));
    while (pieces.size() > 1) {
      SmallVector<Value> joined;
      for (size_t p = 0; p < pieces.size(); p += 2) {
        int64_t size = cast<VectorType>(pieces[p].getType()).getNumElements();
        auto both = llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
        joined.push_back(vector::ShuffleOp::create(builder, loc, pieces[p],
                                                   pieces[p + 1], both));
      }
      pieces = joined;
    }
    vectors.push_back(pieces.front());
  }
  return vectors;
}

SmallVector<Value>
gatefold::turnRows(OpBuilder &builder, Location loc, int64_t lanes,
                   int64_t pieceLanes,
                   function_ref<Value(int64_t row)> loadPiece) {
  SmallVector<Value> vectors =
      joinPieces(builder, loc, lanes, pieceLanes, loadPiece);
  for (int64_t group = 1; group < pieceLanes; group *= 2) {
    // Groups of elements of two vectors in turn, from the lower or the upper
    // half of each piece.
    auto interleave = [&](Value first, Value second, bool isUpper) {
      SmallVector<int64_t> places;
      for (int64_t piece = 0; piece < lanes; piece += pieceLanes)
        for (int64_t at = 0; at < pieceLanes / 2; at += group)
          for (int64_t vector = 0; vector < 2; ++vector)
            for (int64_t lane = 0; lane < group; ++lane)
              places.push_back(vector * lanes + piece + at + lane +
                               (isUpper ? pieceLanes / 2 : 0));
      return vector::ShuffleOp::create(builder, loc, first, second, places)
          .getResult();
    };
    for (int64_t i = 0; i < pieceLanes; ++i) {
      if (i & group)
        continue;
      Value first = vectors[i], second = vectors[i + group];
      vectors[i] = interleave(first, second, /*isUpper=*/false);
      vectors[i + group] = interleave(first, second, /*isUpper=*/true);
    }
  }
  // The rounds leave the elements in the order of their reversed bits.
  SmallVector<Value> ordered(pieceLanes);
  for (int64_t i = 0; i < pieceLanes; ++i) {
    int64_t reversed = 0;
    for (int64_t bit = 1; bit < pieceLanes; bit *= 2)
      reversed = 2 * reversed + (i & bit ? 1 : 0);
    ordered[reversed] = vectors[i];
  }
  return ordered;
}
