// Debug files that were downloaded: files of a directory of our own, by build id, bounded in bytes.
//
// The directory belongs to this user alone, or nothing is kept in it: another user could put files
// there otherwise. What was used longest ago goes first. Several processes may share it: files come
// by rename and go by unlink. Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_DEBUGINFOD_FILE_CACHE_H_
#define STACKRAY_SYMBOLIZER_DEBUGINFOD_FILE_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"
#include "symbolizer/file_source.h"

namespace stackray::debuginfod {

// Lower-case hex of 4 to 64 bytes: what may be part of a path or an address.
bool IsBuildId(const std::string& build_id);

class FileCache {
 public:
  // Makes the directory, and its parents' last, where they are missing.
  // Errors: FailedPrecondition (it is somebody else's, or others may write there), Unavailable.
  static absl::StatusOr<FileCache> Open(const std::string& directory, uint64_t max_bytes);

  // The file of that build id, held open; nullptr: not there. Counts as use.
  std::unique_ptr<FileSource> Find(const std::string& build_id) const;

  // A file without a name yet, to be filled. Errors: Unavailable.
  absl::StatusOr<UniqueFd> Create() const;
  // Gives it its name, when it is an ELF file of that build id; then makes room.
  // Errors: DataLoss (it is another file, or none), Unavailable.
  absl::Status Keep(const UniqueFd& file, const std::string& build_id) const;

 private:
  FileCache(UniqueFd directory, uint64_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}
  void MakeRoom() const;

  UniqueFd directory_;
  uint64_t max_bytes_;
};

}  // namespace stackray::debuginfod

#endif  // STACKRAY_SYMBOLIZER_DEBUGINFOD_FILE_CACHE_H_
