// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The readers: one class for every kind of file that holds tensors by name.
// No function here lets an exception out; failures are results.
#ifndef GATEFOLD_RUNTIME_FILES_TENSORFILE_H
#define GATEFOLD_RUNTIME_FILES_TENSORFILE_H

#include "runtime/files/Tensor.h"

namespace gatefold::files {

class TensorSource;

/// An open file, or folder, of named tensors. Cheap to copy; copies share the
/// file. The tensors stay valid after it is gone. Safe to use from several
/// threads. Mapped files must not be cut short by others while in use: the
/// system then ends the process.
class TensorFile {
public:
  explicit TensorFile(std::shared_ptr<const TensorSource> source);

  /// The path that was opened.
  const std::string &path() const;

  /// Every name, in the file's order (a folder: sorted). Names are unique.
  const std::vector<std::string> &names() const;

  bool contains(std::string_view name) const;

  /// The tensor of that name. Only now is a member of an npz or a file of a
  /// folder opened, and only now is an element type refused that the format
  /// knows and this compiler does not: what nobody asks for does no harm. An
  /// unknown name is an error, with the nearest name as a hint.
  Result<FileTensor> tensor(std::string_view name) const;

private:
  std::shared_ptr<const TensorSource> source;
};

/// Opens weights by kind: a folder of `.npy`, or a file that ends in
/// `.safetensors`, `.safetensors.index.json`, `.npz` or `.npy` (one tensor,
/// named as the file without the ending).
Result<TensorFile> openWeights(const std::string &path);

/// A safetensors file, mapped. The whole layout is checked at once: header of
/// at most 100,000,000 bytes, no duplicate keys, every tensor's offsets against
/// its shape, no holes, overlaps or bytes left over.
Result<TensorFile> readSafetensors(const std::string &path);

/// A checkpoint in several safetensors files. All shards must be plain names in
/// the index's folder and must not lead out of it by symbolic links; all are
/// opened at once. Tensors of a shard that the index does not list are named
/// after those that it does.
Result<TensorFile> readSafetensorsIndex(const std::string &path);

/// The `.npy` members of a zip archive, each named without that ending; other
/// members are ignored. Members are stored or deflated.
Result<TensorFile> readNpz(const std::string &path);

/// The `.npy` files that stand directly in a folder, hidden ones left out. A
/// file that leads out of the folder by a symbolic link is refused when it is
/// asked for.
Result<TensorFile> readFolder(const std::string &path);

/// One `.npy` file of version 1.0, 2.0 or 3.0, named as the file without the
/// ending. Mapped, except that column-major data is copied to row-major.
Result<FileTensor> readNpy(const std::string &path);

} // namespace gatefold::files

#endif // GATEFOLD_RUNTIME_FILES_TENSORFILE_H
