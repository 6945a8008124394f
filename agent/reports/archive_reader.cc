#include "agent/reports/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kPartBytes = 64 << 10;
constexpr int kMostWindowLog = 23;  // 8 MiB; the writer's is 2 MiB.

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

// The file's bytes, expanded. libarchive's own zstd filter takes windows of 128 MiB.
class ZstdSource {
 public:
  ZstdSource()
      : stream_(ZSTD_createDStream(), ZSTD_freeDStream), in_(kPartBytes), out_(kPartBytes) {
    if (stream_ != nullptr)
      ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  }

  absl::Status Open(const std::string& path) {
    fd_.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd_.valid() && stream_ != nullptr) return absl::OkStatus();
    const std::string text = absl::StrCat(path, ": ", strerror(errno));
    return errno == EACCES || errno == EPERM ? absl::PermissionDeniedError(text)
                                             : absl::NotFoundError(text);
  }

  // Bytes at *part, 0 at the end, -1 where why() says it.
  la_ssize_t Read(const void** part) {
    ZSTD_outBuffer out{out_.data(), out_.size(), 0};
    while (out.pos == 0) {
      if (rest_.pos == rest_.size && !Fill()) return why_.ok() && !inside_ ? 0 : Fail("is cut");
      const size_t left = ZSTD_decompressStream(stream_.get(), &out, &rest_);
      if (ZSTD_isError(left) != 0) return Fail(ZSTD_getErrorName(left));
      inside_ = left != 0;
    }
    expanded_ += out.pos;
    if (expanded_ > kMostExpandedBytes) {
      why_ = absl::ResourceExhaustedError(
          absl::StrCat("expands to more than ", kMostExpandedBytes >> 30, " GiB"));
      return -1;
    }
    *part = out_.data();
    return static_cast<la_ssize_t>(out.pos);
  }

  const absl::Status& why() const { return why_; }

 private:
  bool Fill() {
    ssize_t got = 0;
    do {
      got = read(fd_.get(), in_.data(), in_.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) why_ = absl::UnavailableError(strerror(errno));
    rest_ = {in_.data(), got > 0 ? static_cast<size_t>(got) : 0, 0};
    return got > 0;
  }

  la_ssize_t Fail(const char* reason) {
    if (why_.ok()) why_ = absl::DataLossError(reason);
    return -1;
  }

  UniqueFd fd_;
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> in_, out_;
  ZSTD_inBuffer rest_{nullptr, 0, 0};
  bool inside_ = false;  // A frame has begun and not ended.
  uint64_t expanded_ = 0;
  absl::Status why_;
};

la_ssize_t ReadPart(archive* /*reader*/, void* source, const void** part) {
  return static_cast<ZstdSource*>(source)->Read(part);
}

}  // namespace

absl::Status ReadArchiveParts(const std::string& path,
                              absl::FunctionRef<bool(std::string_view name)> wanted,
                              absl::FunctionRef<absl::Status(std::string_view bytes)> part) {
  ZstdSource source;
  if (absl::Status status = source.Open(path); !status.ok()) return status;
  const auto damaged = [&] {
    const absl::Status& why = source.why();
    if (why.ok()) return absl::DataLossError(absl::StrCat(path, ": damaged, or no report"));
    return absl::Status(why.code(), absl::StrCat(path, ": ", why.message()));
  };
  const std::unique_ptr<archive, FreeReader> reader(archive_read_new());
  archive_read_support_format_tar(reader.get());
  if (archive_read_open(reader.get(), &source, nullptr, &ReadPart, nullptr) != ARCHIVE_OK)
    return damaged();
  archive_entry* entry = nullptr;
  std::vector<char> bytes(kPartBytes);
  int result = 0;
  while ((result = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    const char* const name = archive_entry_pathname(entry);
    if (!wanted(name == nullptr ? "" : name)) continue;
    la_ssize_t got = 0;
    do {
      got = archive_read_data(reader.get(), bytes.data(), bytes.size());
      if (got < 0) return damaged();
      if (absl::Status status = part({bytes.data(), static_cast<size_t>(got)}); !status.ok())
        return status;
    } while (got > 0);
  }
  return result == ARCHIVE_EOF ? absl::OkStatus() : damaged();
}

absl::Status ReadArchive(
    const std::string& path, size_t most_bytes,
    const std::function<bool(std::string_view name, std::string&& bytes)>& visit) {
  std::string name, content;
  const absl::Status ended = absl::CancelledError();
  const absl::Status read = ReadArchiveParts(
      path,
      [&](std::string_view next) {
        name = next;
        content.clear();
        return true;
      },
      [&](std::string_view bytes) {
        content.append(bytes.substr(0, most_bytes - content.size()));
        return !bytes.empty() || visit(name, std::move(content)) ? absl::OkStatus() : ended;
      });
  return read == ended ? absl::OkStatus() : read;
}

}  // namespace stackray
