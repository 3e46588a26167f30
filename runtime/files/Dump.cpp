// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gatefold-files: shows what a file of weights holds, and copies tensors from
// one kind of file to another. The tests drive the readers and writers with it.
#include "runtime/files/Names.h"
#include "runtime/files/TensorFile.h"
#include "runtime/files/Write.h"

#include <cstdio>
#include <cstring>

using namespace gatefold::files;

static int usage() {
  std::fputs("usage: gatefold-files FILE              every tensor, as JSON "
             "lines\n"
             "       gatefold-files --names FILE      names only; opens no "
             "tensor\n"
             "       gatefold-files --tensor NAME FILE\n"
             "       gatefold-files --to-npy OUT NAME FILE\n"
             "       gatefold-files --to-safetensors OUT FILE...\n"
             "       gatefold-files --nearest NAME CANDIDATE...\n"
             "FILE: .safetensors, .safetensors.index.json, .npz, .npy or a "
             "folder of .npy\n",
             stderr);
  return 2;
}

static int fail(const FileError &error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return 1;
}

/// A JSON string; bytes that are not ASCII pass as they are.
static std::string jsonText(const std::string &text) {
  std::string result = "\"";
  for (char character : text) {
    unsigned char byte = static_cast<unsigned char>(character);
    char escape[8];
    if (byte < 0x20) {
      std::snprintf(escape, sizeof(escape), "\\u%04x", byte);
      result += escape;
      continue;
    }
    if (character == '"' || character == '\\')
      result += '\\';
    result += character;
  }
  return result + "\"";
}

/// FNV-1a over the bytes.
static uint64_t checksum(const FileTensor &tensor) {
  const unsigned char *data = static_cast<const unsigned char *>(tensor.data);
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < tensor.bytes; ++i)
    hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

static int show(const TensorFile &file, const std::string &name) {
  Result<FileTensor> tensor = file.tensor(name);
  if (!tensor)
    return fail(tensor.error());
  std::printf("{\"name\": %s, \"element\": \"%s\", \"shape\": %s, "
              "\"bytes\": %zu, \"checksum\": \"%016llx\"}\n",
              jsonText(tensor->name).c_str(), elementName(tensor->element),
              shapeText(tensor->shape).c_str(), tensor->bytes,
              static_cast<unsigned long long>(checksum(*tensor)));
  return 0;
}

static int writeAll(const std::string &target, int count, char **paths) {
  std::vector<FileTensor> tensors;
  for (int i = 0; i < count; ++i) {
    Result<TensorFile> file = openWeights(paths[i]);
    if (!file)
      return fail(file.error());
    for (const std::string &name : file->names()) {
      Result<FileTensor> tensor = file->tensor(name);
      if (!tensor)
        return fail(tensor.error());
      tensors.push_back(tensor.take());
    }
  }
  if (auto error =
          writeSafetensors(target, tensors, {{"producer", "gatefold"}}))
    return fail(*error);
  return 0;
}

int main(int argc, char **argv) {
  auto is = [&](const char *option) {
    return argc > 1 && std::strcmp(argv[1], option) == 0;
  };
  if (is("--nearest") && argc > 2) {
    std::vector<std::string> candidates(argv + 3, argv + argc);
    if (auto nearest = nearestName(argv[2], candidates))
      std::printf("%s\n", nearest->c_str());
    return 0;
  }
  if (is("--to-safetensors") && argc > 3)
    return writeAll(argv[2], argc - 3, argv + 3);

  bool one = is("--tensor") && argc == 4;
  bool copy = is("--to-npy") && argc == 5;
  bool names = is("--names") && argc == 3;
  if (!one && !copy && !names && (argc != 2 || argv[1][0] == '-'))
    return usage();
  Result<TensorFile> file = openWeights(argv[argc - 1]);
  if (!file)
    return fail(file.error());
  if (one)
    return show(*file, argv[2]);
  if (copy) {
    Result<FileTensor> tensor = file->tensor(argv[3]);
    if (!tensor)
      return fail(tensor.error());
    if (auto error = writeNpy(argv[2], *tensor))
      return fail(*error);
    return 0;
  }
  for (const std::string &name : file->names()) {
    if (names)
      std::printf("%s\n", jsonText(name).c_str());
    else if (int status = show(*file, name))
      return status;
  }
  return 0;
}
