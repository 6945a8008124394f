#include "agent/reports/archive_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stackray {
namespace {

constexpr size_t kCopyBytes = 64 << 10;

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

absl::Status FromErrno(int error, const std::string& what) {
  const std::string text = absl::StrCat(what, ": ", strerror(error));
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(text);
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(text);
  if (error == ENOENT) return absl::NotFoundError(text);
  return absl::UnavailableError(text);
}

ssize_t ReadSome(int fd, char* to, size_t size) {
  ssize_t got = 0;
  do {
    got = read(fd, to, size);
  } while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ArchiveWriter>> ArchiveWriter::Create(const std::string& directory,
                                                                     const std::string& name) {
  const std::string path = absl::StrCat(directory, "/", name);
  std::string part = absl::StrCat(path, ".part");
  UniqueFd file(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return FromErrno(errno, part);
  archive* const writer = archive_write_new();
  if (writer == nullptr) return absl::ResourceExhaustedError("no memory for an archive");
  std::unique_ptr<ArchiveWriter> made(
      new ArchiveWriter(std::move(file), std::move(part), path, writer));
  // One thread and a small window: the agent's memory counts.
  if (archive_write_set_format_pax_restricted(writer) != ARCHIVE_OK ||
      archive_write_add_filter_zstd(writer) != ARCHIVE_OK ||
      archive_write_set_filter_option(writer, "zstd", "compression-level", "3") != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(writer, 1) != ARCHIVE_OK ||
      archive_write_open_fd(writer, made->file_.get()) != ARCHIVE_OK)
    return made->Failed();
  return made;
}

ArchiveWriter::~ArchiveWriter() {
  if (archive_ != nullptr) archive_write_free(archive_);
  if (!committed_) unlink(part_.c_str());
}

absl::Status ArchiveWriter::Failed() const {
  const int error = archive_errno(archive_);
  const char* const text = archive_error_string(archive_);
  if (error > 0) return FromErrno(error, part_);
  return absl::UnavailableError(absl::StrCat(part_, ": ", text == nullptr ? "?" : text));
}

absl::Status ArchiveWriter::BeginEntry(const std::string& name, uint64_t bytes,
                                       int64_t time_unix_s) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_mtime(entry.get(), time_unix_s, 0);
  return archive_write_header(archive_, entry.get()) == ARCHIVE_OK ? absl::OkStatus() : Failed();
}

absl::Status ArchiveWriter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t written = archive_write_data(archive_, bytes.data(), bytes.size());
    if (written <= 0) return Failed();
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status ArchiveWriter::AddText(const std::string& name, std::string_view text,
                                    int64_t time_unix_s) {
  if (absl::Status status = BeginEntry(name, text.size(), time_unix_s); !status.ok()) return status;
  return Write(text);
}

absl::Status ArchiveWriter::AddFile(const std::string& name, const std::string& path,
                                    int64_t time_unix_s) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat facts = {};
  if (!file.valid() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return absl::NotFoundError(absl::StrCat(path, ": ", strerror(errno)));
  auto left = static_cast<uint64_t>(facts.st_size);
  if (absl::Status status = BeginEntry(name, left, time_unix_s); !status.ok()) return status;
  std::string part(kCopyBytes, '\0');
  while (left > 0) {
    const ssize_t got = ReadSome(file.get(), part.data(), std::min<uint64_t>(left, part.size()));
    if (got <= 0) break;  // It was cut meanwhile: libarchive fills the entry with zeros.
    if (absl::Status status = Write({part.data(), static_cast<size_t>(got)}); !status.ok())
      return status;
    left -= static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::Status ArchiveWriter::Commit() {
  if (archive_write_close(archive_) != ARCHIVE_OK) return Failed();
  if (fsync(file_.get()) != 0) return FromErrno(errno, part_);
  if (rename(part_.c_str(), path_.c_str()) != 0) return FromErrno(errno, path_);
  committed_ = true;
  return absl::OkStatus();
}

uint64_t ArchiveWriter::bytes() const {
  struct stat facts = {};
  return fstat(file_.get(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

}  // namespace stackray
