// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes.h - open dimensions from the shapes of inputs, and all sizes from
// them.

#ifndef GATEFOLD_RUNTIME_SHAPES_H
#define GATEFOLD_RUNTIME_SHAPES_H

#include "runtime/Context.h"

namespace gatefold::runtime {

/// Reads the inputs' shapes alone: binds each open dimension where it first
/// occurs, computes all sizes, compares every dimension of every input, checks
/// the sizes of results and the program's own checks. Fills symbols, origins
/// and sizes.
bool resolveShapes(gatefold_context &context, const DLTensor *const *inputs);

/// Compares the shape of result `number`, after resolveShapes.
bool checkResultShape(gatefold_context &context, int64_t number,
                      const DLTensor *result);

/// Sizes of a tensor of the description, after resolveShapes.
inline const int64_t *sizesOf(const gatefold_context &context,
                              const gatefold_tensor &tensor) {
  return context.sizes + tensor.first_size;
}

/// Solves size = scale * value + offset for a value in 0..2^31 - 1.
bool solveBinding(const gatefold_binding &binding, int64_t size,
                  int64_t &value);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_SHAPES_H
