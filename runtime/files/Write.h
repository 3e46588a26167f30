// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The writers. Each writes under a temporary name in the target's folder and
// renames at the end, so that no reader ever sees half a file. A target that
// exists and is not a regular file is refused. No exception is let out.
#ifndef GATEFOLD_RUNTIME_FILES_WRITE_H
#define GATEFOLD_RUNTIME_FILES_WRITE_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

/// Writes one tensor as `.npy` version 1.0, row-major. NumPy has no bf16: such
/// a tensor is written as f32, which holds every bf16 value exactly. The
/// tensor's name is not part of the file.
std::optional<FileError> writeNpy(const std::string &path,
                                  const FileTensor &tensor);

/// Writes the tensors as one safetensors file, wider elements first so that
/// each is aligned, equal widths in the order given. Names must be unique,
/// UTF-8, without NUL, and not `__metadata__`. `metadata`, where not empty, is
/// the file's string-to-string map.
std::optional<FileError> writeSafetensors(
    const std::string &path, const std::vector<FileTensor> &tensors,
    const std::vector<std::pair<std::string, std::string>> &metadata = {});

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_WRITE_H
