// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint in shards: an index file that maps tensor names to safetensors
// files beside it.
#include "runtime/files/Json.h"
#include "runtime/files/Safetensors.h"

namespace gatefold::files {

namespace {

/// Limits of an index. The largest published ones are a few megabytes in some
/// hundred shards.
constexpr uint64_t maxIndexBytes = 64u << 20;
constexpr size_t maxIndexDepth = 32;
constexpr size_t maxShards = 10000;

class IndexReceiver : public JsonReceiver {
public:
  std::string take(JsonEvent event, size_t depth, std::string &text,
                   uint64_t) override {
    if (depth == 0)
      return event == JsonEvent::beginObject || event == JsonEvent::endObject
                 ? ""
                 : "the index must be an object";
    if (depth == 1 && event == JsonEvent::key) {
      inMap = text == "weight_map";
      hasMap |= inMap;
      return "";
    }
    if (!inMap)
      return "";
    if (depth == 1)
      return event == JsonEvent::beginObject || event == JsonEvent::endObject
                 ? ""
                 : "weight_map must be an object";
    if (event == JsonEvent::key) {
      if (text.find('\0') != std::string::npos)
        return "NUL in the tensor name " + quotedName(text);
      name = text;
      return "";
    }
    if (event != JsonEvent::text)
      return "weight_map: the shard of " + quotedName(name) +
             " must be a string";
    return addTensor(text);
  }

  struct Listed {
    std::string name;
    size_t shard;
  };
  std::vector<Listed> tensors;
  std::vector<std::string> shards;
  bool hasMap = false;

private:
  std::string addTensor(const std::string &shard) {
    auto [found, isNew] = shardPositions.emplace(shard, shards.size());
    if (isNew) {
      if (shard.find('/') != std::string::npos ||
          shard.find('\0') != std::string::npos || shard == ".." ||
          !endsWith(shard, ".safetensors"))
        return "tensor " + quotedName(name) + ": shard " + quotedName(shard) +
               " must be the plain name of a .safetensors file in the index's "
               "folder";
      if (shards.size() == maxShards)
        return "more than " + std::to_string(maxShards) + " shards";
      shards.push_back(shard);
    }
    tensors.push_back({name, found->second});
    return "";
  }

  std::unordered_map<std::string, size_t> shardPositions;
  std::string name;
  bool inMap = false;
};

class IndexSource : public TensorSource {
public:
  using TensorSource::TensorSource;

  std::optional<FileError> load() {
    auto mapping = FileMapping::open(path);
    if (!mapping)
      return mapping.error();
    std::string_view text = (*mapping)->text();
    if (text.size() > maxIndexBytes)
      return FileError{path + ": an index of " + std::to_string(text.size()) +
                           " bytes exceeds the limit of " +
                           std::to_string(maxIndexBytes),
                       ""};
    IndexReceiver index;
    if (std::optional<FileError> error = readJson(text, maxIndexDepth, index))
      return at(path, *error);
    if (!index.hasMap)
      return FileError{path + ": weight_map is missing", ""};
    if (std::optional<FileError> error = openShards(index.shards))
      return error;
    return addTensors(index);
  }

  Result<FileTensor> read(size_t position) const override {
    const Place &place = places[position];
    return shards[place.shard]->read(place.position);
  }

private:
  struct Place {
    size_t shard;
    size_t position;
  };

  std::optional<FileError> openShards(const std::vector<std::string> &files) {
    std::string folder = folderOf(path);
    for (const std::string &file : files) {
      Result<std::string> resolved = resolveInside(folder, file);
      if (!resolved)
        return at(path + ": shard " + quotedName(file), resolved.error());
      auto shard = SafetensorsSource::open(*resolved, /*followLinks=*/false);
      if (!shard)
        return shard.error();
      shards.push_back(*shard);
    }
    return std::nullopt;
  }

  std::optional<FileError> addTensors(const IndexReceiver &index) {
    for (const IndexReceiver::Listed &listed : index.tensors) {
      std::optional<size_t> position = shards[listed.shard]->find(listed.name);
      if (!position)
        return FileError{tensorPlace(path, listed.name) + ": listed in shard " +
                             quotedName(index.shards[listed.shard]) +
                             ", which does not hold it",
                         ""};
      addName(listed.name);
      places.push_back({listed.shard, *position});
    }
    for (size_t shard = 0; shard < shards.size(); ++shard)
      for (size_t i = 0; i < shards[shard]->names.size(); ++i) {
        const std::string &name = shards[shard]->names[i];
        if (addName(name)) {
          places.push_back({shard, i});
          continue;
        }
        size_t other = places[*find(name)].shard;
        if (other != shard)
          return FileError{tensorPlace(path, name) +
                               ": stands in two shards, " +
                               quotedName(index.shards[other]) + " and " +
                               quotedName(index.shards[shard]),
                           ""};
      }
    return std::nullopt;
  }

  std::vector<std::shared_ptr<const SafetensorsSource>> shards;
  std::vector<Place> places;
};

} // namespace

Result<TensorFile> readSafetensorsIndex(const std::string &path) {
  return guarded(path, [&]() -> Result<TensorFile> {
    auto source = std::make_shared<IndexSource>(path);
    if (std::optional<FileError> error = source->load())
      return *error;
    return TensorFile(source);
  });
}

} // namespace gatefold::files
