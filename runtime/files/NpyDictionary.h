// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: the Python dictionary in the header of an npy file.
#ifndef GATEFOLD_RUNTIME_FILES_NPYDICTIONARY_H
#define GATEFOLD_RUNTIME_FILES_NPYDICTIONARY_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

struct NpyDictionary {
  /// The text of `descr`, such as "<f4".
  std::string type;
  std::vector<int64_t> shape;
  bool fortranOrder = false;
};

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }` with
/// the spaces and the newline after it. Exactly these three keys, once each, in
/// any order; nothing of Python beyond strings without escapes, True, False and
/// tuples of whole numbers. A list or tuple as `descr` (a structured type) is
/// refused by name. The error names no place.
Result<NpyDictionary> parseNpyDictionary(std::string_view text);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_NPYDICTIONARY_H
