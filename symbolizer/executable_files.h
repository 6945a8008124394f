// The files that sampled code came from, opened once and kept while anybody can still ask.
//
// A file is opened through the process that maps it (/proc/PID/map_files), compared with what the
// kernel saw (size, mtime), and found again by that identity from then on. Every opening gets a
// handle that is never used again; two handles may name the same content. A file that is still
// known also answers for a process that is gone: a gain for programs that live for milliseconds,
// not a promise.
//
// Memory:  a descriptor and about 1 KiB a file, at most `max_files`; files that a batch still holds
//          (shared_ptr) are kept beyond that.
// Threads: any.
#ifndef STACKRAY_SYMBOLIZER_EXECUTABLE_FILES_H_
#define STACKRAY_SYMBOLIZER_EXECUTABLE_FILES_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "bpf/shared/records.h"
#include "kernel/unique_fd.h"
#include "profile/executable.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/executable_info.h"

namespace stackray {

// Immutable once made, but for `sampled_ns`.
struct ExecutableFile {
  uint64_t handle = 0;  // Never 0, never reused.
  FileIdentity identity;
  ExecutableInfo info;
  UniqueFd fd;                  // Invalid for the vDSO.
  std::vector<uint8_t> memory;  // The vDSO's image.
  // Over the descriptor or the memory. IsUnchanged() while the file is the one that the kernel saw:
  // it may be overwritten in place, and then what was read of it before is all that is known of it.
  std::unique_ptr<ByteSource> source;
  // The newest sample with a frame in it (CLOCK_BOOTTIME): written and read by the sample loop's
  // thread alone, which lets go of deleted files that are not sampled any more.
  mutable uint64_t sampled_ns = 0;
  std::shared_ptr<const void> share;  // Of a copy's room; a copy has no name, so it is deleted.
};
using ExecutableFilePtr = std::shared_ptr<const ExecutableFile>;

// Identity of a range of kind RANGE_FILE; RANGE_VDSO has one of its own.
FileIdentity IdentityOf(const code_range& range);

// No name leads to it any more: its space is held by those who have it open. False for the vDSO.
bool IsDeleted(const ExecutableFile& file);

class ExecutableFiles {
 public:
  explicit ExecutableFiles(size_t max_files) : max_files_(max_files) {}

  // The file of a range that process `pid` has, or had when the file is known already.
  // Errors: NotFound (process and file gone before they were seen), FailedPrecondition (replaced),
  // InvalidArgument (anonymous memory has no file), PermissionDenied and Unavailable (unreadable).
  absl::StatusOr<ExecutableFilePtr> Get(uint32_t pid, const code_range& range);

  // The file of a program that process `pid` has just begun to run (kernel/process_files.h).
  // Errors: NotFound, FailedPrecondition, Unavailable (unreadable).
  absl::StatusOr<ExecutableFilePtr> GetProgram(uint32_t pid, const file_key& key,
                                               const std::string& path);

  // Forgets every file that nobody else holds.
  void Wipe();
  // Forgets those of them that are deleted, so that their space is free again. A system call a
  // file.
  void DropDeleted();
  size_t size() const;
  // More files are open than `max_files`: hold no more than an open batch needs.
  bool IsFull() const { return size() > max_files_; }

 private:
  using Entries = std::list<ExecutableFilePtr>;  // Most recently used first.
  absl::StatusOr<ExecutableFilePtr> Open(uint32_t pid, const code_range& range);
  ExecutableFilePtr Keep(ExecutableFilePtr file);
  ExecutableFilePtr Find(const FileIdentity& identity);
  void Shrink(size_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_files_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<FileIdentity, Entries::iterator> by_identity_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_EXECUTABLE_FILES_H_
