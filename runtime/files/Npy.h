// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal: the npy format, shared by files, folders and zip members. Errors
// name no place.
#ifndef GATEFOLD_RUNTIME_FILES_NPY_H
#define GATEFOLD_RUNTIME_FILES_NPY_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

/// Bytes at the start of an npy file that tell where its data begins.
constexpr size_t npyPrefixBytes = 12;

/// Upper bound of all that stands before the data. NumPy needs more than 64 KiB
/// only for structured types, which are refused.
constexpr size_t maxNpyHeader = 65536 + npyPrefixBytes;

struct NpyHeader {
  ElementKind element = ElementKind::f32;
  std::vector<int64_t> shape;
  /// The data is column-major.
  bool fortranOrder = false;
  /// Bytes that the data must have.
  size_t dataBytes = 0;
};

/// Where the data begins, from the file's first bytes (`npyPrefixBytes`, or
/// fewer where the file is shorter, which is an error).
Result<size_t> npyDataStart(std::string_view prefix);

/// Parses all that stands before the data: magic, version and the dictionary.
Result<NpyHeader> parseNpyHeader(std::string_view head);

/// The tensor of a header and its `dataBytes` bytes; column-major data is
/// copied to row-major.
Result<FileTensor> npyTensor(std::string name, NpyHeader header,
                             const char *data,
                             std::shared_ptr<const void> keepAlive);

/// Reads a mapped file; `path` is used in messages only as the caller adds it.
Result<FileTensor> readNpyFile(const std::string &path, std::string name,
                               bool followLinks);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_NPY_H
