// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A zip archive of npy members, read through libzip from a mapped file.
#include "runtime/files/FileMapping.h"
#include "runtime/files/Npy.h"
#include "runtime/files/TensorSource.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <zip.h>

namespace gatefold::files {

namespace {

/// The most bytes one compressed member may grow to. A stored member cannot
/// exceed the file. NumPy's own `savez` stores, so weights are rarely
/// compressed at all.
constexpr uint64_t maxInflatedBytes = uint64_t(16) << 30;

/// Deflate cannot do better: 258 bytes for two bits, rounded up for blocks.
constexpr uint64_t maxDeflateRatio = 1032;

/// End records of an archive in the tail where libzip looks for them. One is
/// usual; each makes libzip read the whole directory again.
constexpr size_t maxEndRecords = 8;

uint64_t littleEndian(std::string_view text, size_t position, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(text[position + i]);
  return value;
}

/// libzip allocates as many entries as a zip64 end record claims before it
/// looks at one, so that a tiny file could take all memory. This refuses claims
/// that the file has no room for.
std::optional<FileError> checkEndRecords(std::string_view text) {
  constexpr size_t endBytes = 22, locatorBytes = 20, end64Bytes = 56;
  constexpr size_t entryBytes = 46;
  size_t tail = std::min<size_t>(text.size(), 65535 + endBytes);
  size_t records = 0;
  size_t position = text.size() - tail;
  while ((position = text.find("PK\5\6", position)) != std::string_view::npos) {
    if (++records > maxEndRecords)
      return FileError{"more than " + std::to_string(maxEndRecords) +
                           " end records in the zip archive",
                       ""};
    if (position >= locatorBytes &&
        text.substr(position - locatorBytes, 4) == "PK\6\7") {
      uint64_t end64 = littleEndian(text, position - locatorBytes + 8, 8);
      if (text.size() < end64Bytes || end64 > text.size() - end64Bytes)
        return FileError{"the zip64 end record lies outside the file", ""};
      uint64_t entries = std::max(littleEndian(text, end64 + 24, 8),
                                  littleEndian(text, end64 + 32, 8));
      if (entries > text.size() / entryBytes)
        return FileError{"the zip archive claims " + std::to_string(entries) +
                             " members, which a file of " +
                             std::to_string(text.size()) + " bytes cannot hold",
                         ""};
    }
    ++position;
  }
  if (records == 0)
    return FileError{"not a zip archive: no end record found",
                     "the file may be cut short"};
  return std::nullopt;
}

/// Whether a member's name is absolute or climbs with "..".
bool leadsOut(std::string_view name) {
  if (!name.empty() && name.front() == '/')
    return true;
  size_t begin = 0;
  while (begin <= name.size()) {
    size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..")
      return true;
    begin = end + 1;
  }
  return false;
}

class NpzSource : public TensorSource {
public:
  using TensorSource::TensorSource;

  ~NpzSource() override {
    if (archive)
      zip_discard(archive);
  }

  std::optional<FileError> load() {
    auto opened = FileMapping::open(path);
    if (!opened)
      return opened.error();
    mapping = *opened;
    if (std::optional<FileError> error = checkEndRecords(mapping->text()))
      return at(path, *error);
    if (std::optional<FileError> error = openArchive())
      return at(path, *error);
    if (std::optional<FileError> error = listMembers())
      return at(path, *error);
    return std::nullopt;
  }

  Result<FileTensor> read(size_t position) const override {
    std::lock_guard<std::mutex> lock(mutex);
    Result<FileTensor> tensor = readMember(position);
    if (!tensor)
      return at(tensorPlace(path, names[position]), tensor.error());
    return tensor;
  }

private:
  std::optional<FileError> openArchive() {
    zip_error_t error;
    zip_error_init(&error);
    auto failed = [&] {
      FileError result{std::string("not a readable zip archive: ") +
                           zip_error_strerror(&error),
                       ""};
      zip_error_fini(&error);
      return result;
    };
    zip_source_t *source = zip_source_buffer_create(
        mapping->data(), mapping->size(), /*freep=*/0, &error);
    if (!source)
      return failed();
    archive = zip_open_from_source(source, ZIP_RDONLY, &error);
    if (!archive) {
      zip_source_free(source);
      return failed();
    }
    zip_error_fini(&error);
    return std::nullopt;
  }

  std::optional<FileError> listMembers() {
    zip_int64_t count = zip_get_num_entries(archive, 0);
    std::unordered_set<std::string> seen;
    for (zip_int64_t i = 0; i < count; ++i) {
      const char *text = zip_get_name(archive, i, ZIP_FL_ENC_GUESS);
      if (!text)
        return FileError{"member " + std::to_string(i) + " has no name", ""};
      std::string member = text;
      if (leadsOut(member))
        return FileError{"member " + quotedName(member) +
                             " has an absolute name or one with '..'",
                         ""};
      if (!seen.insert(member).second)
        return FileError{"duplicate member " + quotedName(member), ""};
      if (!endsWith(member, ".npy"))
        continue;
      addName(member.substr(0, member.size() - 4));
      members.push_back(static_cast<zip_uint64_t>(i));
    }
    return std::nullopt;
  }

  /// Checks what the archive says of a member; the result is its full size.
  Result<uint64_t> memberBytes(zip_uint64_t member) const {
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive, member, 0, &status) != 0)
      return FileError{zip_strerror(archive), ""};
    constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                    ZIP_STAT_COMP_METHOD |
                                    ZIP_STAT_ENCRYPTION_METHOD;
    if ((status.valid & needed) != needed)
      return FileError{"the zip archive does not tell the member's size", ""};
    if (status.encryption_method != ZIP_EM_NONE)
      return FileError{"encrypted members are not supported", ""};
    if (status.comp_size > mapping->size())
      return FileError{"the member claims " + std::to_string(status.comp_size) +
                           " bytes of a file of " +
                           std::to_string(mapping->size()),
                       ""};
    if (status.comp_method == ZIP_CM_STORE) {
      if (status.size != status.comp_size)
        return FileError{"a stored member whose two sizes differ", ""};
      return uint64_t(status.size);
    }
    if (status.comp_method != ZIP_CM_DEFLATE)
      return FileError{"zip compression method " +
                           std::to_string(status.comp_method) +
                           " is not supported; expected stored or deflated",
                       ""};
    if (status.size > maxInflatedBytes)
      return FileError{"a compressed member of " + std::to_string(status.size) +
                           " bytes exceeds the limit of " +
                           std::to_string(maxInflatedBytes),
                       "store it uncompressed, as numpy.savez does"};
    if (status.size / maxDeflateRatio > status.comp_size)
      return FileError{"the member claims to grow from " +
                           std::to_string(status.comp_size) + " to " +
                           std::to_string(status.size) +
                           " bytes, which deflate cannot do",
                       ""};
    return uint64_t(status.size);
  }

  Result<FileTensor> readMember(size_t position) const {
    zip_uint64_t member = members[position];
    Result<uint64_t> size = memberBytes(member);
    if (!size)
      return size.error();
    zip_file_t *opened = zip_fopen_index(archive, member, 0);
    if (!opened)
      return FileError{
          std::string("cannot open the member: ") + zip_strerror(archive), ""};
    std::shared_ptr<zip_file_t> file(
        opened, [](zip_file_t *open) { zip_fclose(open); });

    // The header is read by itself, so that nothing is allocated before the
    // member's size has been found to agree with it.
    std::string head(npyPrefixBytes, '\0');
    if (*size < head.size())
      return FileError{"cut short within the npy header", ""};
    if (auto error = readBytes(opened, head.data(), head.size()))
      return *error;
    Result<size_t> start = npyDataStart(head);
    if (!start)
      return start.error();
    if (*start > *size)
      return FileError{"cut short within the npy header", ""};
    head.resize(*start);
    if (auto error = readBytes(opened, head.data() + npyPrefixBytes,
                               head.size() - npyPrefixBytes))
      return *error;
    Result<NpyHeader> header = parseNpyHeader(head);
    if (!header)
      return header.error();
    if (*size - *start != header->dataBytes)
      return FileError{"expected " + std::to_string(header->dataBytes) +
                           " bytes for " + elementName(header->element) +
                           " of shape " + shapeText(header->shape) +
                           ", found " + std::to_string(*size - *start),
                       ""};

    std::shared_ptr<char> data = allocateBuffer(header->dataBytes);
    if (!data)
      return FileError{"not enough memory for " +
                           std::to_string(header->dataBytes) + " bytes",
                       ""};
    if (auto error = readBytes(opened, data.get(), header->dataBytes))
      return *error;
    // Reading to the end makes libzip compare the checksum.
    char rest;
    zip_int64_t more = zip_fread(opened, &rest, 1);
    if (more < 0)
      return readError(opened);
    if (more > 0)
      return FileError{"the member is longer than the archive says", ""};
    return npyTensor(names[position], header.take(), data.get(), data);
  }

  static FileError readError(zip_file_t *file) {
    return FileError{std::string("cannot read the member: ") +
                         zip_error_strerror(zip_file_get_error(file)),
                     "the file may be damaged"};
  }

  static std::optional<FileError> readBytes(zip_file_t *file, char *target,
                                            uint64_t bytes) {
    constexpr uint64_t chunk = uint64_t(1) << 30;
    while (bytes != 0) {
      zip_int64_t count = zip_fread(file, target, std::min(bytes, chunk));
      if (count < 0)
        return readError(file);
      if (count == 0)
        return FileError{"the member is shorter than the archive says",
                         "the file may be damaged"};
      target += count;
      bytes -= static_cast<uint64_t>(count);
    }
    return std::nullopt;
  }

  std::shared_ptr<const FileMapping> mapping;
  zip_t *archive = nullptr;
  /// The archive's number of each tensor's member.
  std::vector<zip_uint64_t> members;
  /// libzip's archives are not safe to share between threads.
  mutable std::mutex mutex;
};

} // namespace

Result<TensorFile> readNpz(const std::string &path) {
  return guarded(path, [&]() -> Result<TensorFile> {
    auto source = std::make_shared<NpzSource>(path);
    if (std::optional<FileError> error = source->load())
      return *error;
    return TensorFile(source);
  });
}

} // namespace gatefold::files
