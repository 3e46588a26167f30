// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening files without blocking, mapping them, and canonical paths.
#include "runtime/files/FileMapping.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace gatefold::files {

std::string systemMessage(int code) {
  return std::generic_category().message(code);
}

std::string kindOfFile(unsigned mode) {
  if (S_ISREG(mode))
    return "a regular file";
  if (S_ISDIR(mode))
    return "a folder";
  if (S_ISFIFO(mode))
    return "a fifo";
  if (S_ISSOCK(mode))
    return "a socket";
  if (S_ISLNK(mode))
    return "a symbolic link";
  return "a device";
}

Result<std::shared_ptr<const FileMapping>>
FileMapping::open(const std::string &path, bool followLinks) {
  auto notRegular = [&](unsigned mode) {
    return FileError{
        path + ": expected a regular file, found " + kindOfFile(mode), ""};
  };
  // Opening a device may already act on it, so its kind is asked first; the
  // open file is asked again, as the path may have changed in between.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return FileError{path + ": cannot open: " + systemMessage(errno), ""};
  if (!S_ISREG(status.st_mode))
    return notRegular(status.st_mode);
  int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  if (!followLinks)
    flags |= O_NOFOLLOW;
  int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0)
    return FileError{path + ": cannot open: " + systemMessage(errno), ""};
  if (::fstat(descriptor, &status) != 0) {
    int code = errno;
    ::close(descriptor);
    return FileError{path + ": cannot open: " + systemMessage(code), ""};
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return notRegular(status.st_mode);
  }
  size_t length = static_cast<size_t>(status.st_size);
  // An empty file cannot be mapped; its text is still no null pointer.
  static char none[1] = {0};
  void *address = none;
  if (length != 0) {
    address = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      int code = errno;
      ::close(descriptor);
      return FileError{path + ": cannot map " + std::to_string(length) +
                           " bytes: " + systemMessage(code),
                       ""};
    }
  }
  ::close(descriptor);
  return std::shared_ptr<const FileMapping>(
      new FileMapping(static_cast<const char *>(address), length));
}

FileMapping::~FileMapping() {
  if (length != 0)
    ::munmap(const_cast<char *>(address), length);
}

Result<std::string> resolveInside(const std::string &folder,
                                  const std::string &name) {
  auto canonical = [](const std::string &path) -> Result<std::string> {
    char *resolved = ::realpath(path.c_str(), nullptr);
    if (!resolved)
      return FileError{path + ": cannot open: " + systemMessage(errno), ""};
    std::string text = resolved;
    ::free(resolved);
    return text;
  };
  std::string joined = folder + "/" + name;
  Result<std::string> base = canonical(folder);
  if (!base)
    return base;
  Result<std::string> target = canonical(joined);
  if (!target)
    return target;
  std::string prefix = *base == "/" ? *base : *base + "/";
  if (target->compare(0, prefix.size(), prefix) != 0)
    return FileError{joined +
                         ": a symbolic link that leads out of its folder "
                         "to " +
                         *target,
                     "copy the file into the folder, or give the folder that "
                     "holds the files themselves"};
  return target;
}

std::shared_ptr<char> allocateBuffer(size_t bytes) {
  constexpr std::align_val_t alignment{64};
  void *memory =
      ::operator new(bytes == 0 ? 1 : bytes, alignment, std::nothrow);
  if (!memory)
    return nullptr;
  return std::shared_ptr<char>(static_cast<char *>(memory), [](char *pointer) {
    ::operator delete (pointer, std::align_val_t{64});
  });
}

} // namespace gatefold::files
