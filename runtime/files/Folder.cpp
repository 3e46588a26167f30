// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of npy files, one tensor each.
#include "runtime/files/FileMapping.h"
#include "runtime/files/Npy.h"
#include "runtime/files/TensorSource.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>

namespace gatefold::files {

namespace {

constexpr size_t maxFiles = 1000000;

class FolderSource : public TensorSource {
public:
  using TensorSource::TensorSource;

  std::optional<FileError> load() {
    DIR *folder = ::opendir(path.c_str());
    if (!folder)
      return FileError{path + ": cannot open: " + systemMessage(errno), ""};
    std::shared_ptr<DIR> closer(folder, [](DIR *open) { ::closedir(open); });
    std::vector<std::string> found;
    while (true) {
      errno = 0;
      dirent *entry = ::readdir(folder);
      if (!entry)
        break;
      std::string file = entry->d_name;
      if (file.front() == '.' || !endsWith(file, ".npy"))
        continue;
      if (found.size() == maxFiles)
        return FileError{
            path + ": more than " + std::to_string(maxFiles) + " files", ""};
      found.push_back(file.substr(0, file.size() - 4));
    }
    if (errno != 0)
      return FileError{path + ": cannot list: " + systemMessage(errno), ""};
    if (found.empty())
      return FileError{path + ": a folder without .npy files",
                       "give a .safetensors, .safetensors.index.json or .npz "
                       "file itself"};
    std::sort(found.begin(), found.end());
    for (const std::string &name : found)
      addName(name);
    return std::nullopt;
  }

  Result<FileTensor> read(size_t position) const override {
    Result<std::string> resolved =
        resolveInside(path, names[position] + ".npy");
    if (!resolved)
      return resolved.error();
    return readNpyFile(*resolved, names[position], /*followLinks=*/false);
  }
};

} // namespace

Result<TensorFile> readFolder(const std::string &path) {
  return guarded(path, [&]() -> Result<TensorFile> {
    auto source = std::make_shared<FolderSource>(path);
    if (std::optional<FileError> error = source->load())
      return *error;
    return TensorFile(source);
  });
}

} // namespace gatefold::files
