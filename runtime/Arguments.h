// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments.h - the tensors of a run: checks, and places in the workspace. The
// steps of a run in their order, for a CPU and a GPU alike.

#ifndef GATEFOLD_RUNTIME_ARGUMENTS_H
#define GATEFOLD_RUNTIME_ARGUMENTS_H

#include "runtime/Context.h"

namespace gatefold::runtime {

/// Checks shapes, types and memory of inputs and results.
bool checkTensors(gatefold_context &context, const DLTensor *const *inputs,
                  const DLTensor *const *results);

/// Makes the views of the inputs, and of the results unless these are null.
void makeArguments(gatefold_context &context, const DLTensor *const *inputs,
                   const DLTensor *const *results);

/// Refuses results that share memory with anything but their own input state,
/// which is marked to be copied first.
bool checkOverlaps(gatefold_context &context);

/// The ranks of the run, places of the arena and of the copies behind it, and
/// the bytes of all with slack for the workspace's own alignment.
gatefold_status layOut(gatefold_context &context, int64_t argumentCount,
                       size_t &bytes);

/// Refuses a caller's workspace that is too small, or overlaps an argument.
bool checkWorkspace(gatefold_context &context, void *workspace, size_t bytes,
                    size_t needed);

/// Checks the values of inputs that the host can read.
bool checkAllValues(gatefold_context &context);

/// Of a result that is a state in place, the state that compiled code must find
/// there and that is elsewhere; else null.
const Argument *stateToMove(const gatefold_context &context, int64_t result);

/// The copy of an argument in the workspace.
View copyOf(const Argument &argument, char *base, int64_t *strides);

/// Fills the context's descriptors and pointers, for a workspace at `base`.
void describeArguments(gatefold_context &context, char *base);

/// The last value that a check allows.
int64_t lastValue(const gatefold_context &context,
                  const gatefold_value_check &check);

} // namespace gatefold::runtime

#endif // GATEFOLD_RUNTIME_ARGUMENTS_H
