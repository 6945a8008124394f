// A tar archive, compressed by zstd while it is written (libarchive).
//
// The archive has a temporary name until Commit(): a process that ends in the middle leaves no half
// file under a name that anybody looks for.
// Memory:  some 5 MiB of zstd's, whatever the entries hold.
// Threads: one.
#ifndef STACKRAY_AGENT_REPORTS_ARCHIVE_WRITER_H_
#define STACKRAY_AGENT_REPORTS_ARCHIVE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

struct archive;

namespace stackray {

class ArchiveWriter {
 public:
  // Of names in `directory`. Both: what a crash may leave has the ending `.part`.
  // Errors: PermissionDenied, ResourceExhausted (full disk), Unavailable.
  static absl::StatusOr<std::unique_ptr<ArchiveWriter>> Create(const std::string& directory,
                                                               const std::string& name);
  // Removes what was not committed.
  ~ArchiveWriter();

  // Errors of all three: ResourceExhausted (full disk), Unavailable. The archive is of no use then.
  absl::Status AddText(const std::string& name, std::string_view text, int64_t time_unix_s);
  // A file that does not change meanwhile. Errors: also NotFound: it cannot be read, and the
  // archive is as it was.
  absl::Status AddFile(const std::string& name, const std::string& path, int64_t time_unix_s);
  // Ends the archive, waits for the disk and gives the file its name.
  absl::Status Commit();

  uint64_t bytes() const;  // Of the file so far.

 private:
  ArchiveWriter(UniqueFd file, std::string part, std::string path, archive* archive)
      : file_(std::move(file)), part_(std::move(part)), path_(std::move(path)), archive_(archive) {}
  absl::Status BeginEntry(const std::string& name, uint64_t bytes, int64_t time_unix_s);
  absl::Status Write(std::string_view bytes);
  absl::Status Failed() const;

  const UniqueFd file_;
  const std::string part_, path_;
  archive* archive_;  // Owned.
  bool committed_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_ARCHIVE_WRITER_H_
