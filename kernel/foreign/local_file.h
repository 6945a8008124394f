// Which files the agent itself may hold and read, and copies of all others.
//
// A read of a file on a local disk or in memory ends. One of FUSE, NFS, 9p, or of an overlay of
// these may not; even closing such a file may wait. The agent gets these as copies.
// Threads: any; in a job (foreign_job.h), as they may wait.
#ifndef STACKRAY_KERNEL_FOREIGN_LOCAL_FILE_H_
#define STACKRAY_KERNEL_FOREIGN_LOCAL_FILE_H_

#include <cstdint>

#include "kernel/foreign/foreign_job.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Its file system answers without any other process or host. An overlay is asked where the bytes
// of this file lie: block devices say so, and what a process serves cannot.
bool IsLocalFile(int fd);

// What goes with a file from a reader to the agent.
struct AnswerFile {
  struct stat info = {};  // Of the file itself.
  uint32_t is_copy = 0;
};

// Makes `fd` the job's file, or a copy of it of at most `most_bytes`, without a name. A file that
// changes meanwhile is an error. Fails with an errno: EINVAL (no regular file), EFBIG, ESTALE, ….
bool ReturnForReading(ForeignJob& job, UniqueFd fd, uint64_t most_bytes, AnswerFile* facts);

// Copies `size_bytes` from the begin of one file to another, as a part of `job` if there is one. 0,
// or an errno.
int CopyFileBytes(int from, int to, uint64_t size_bytes, ForeignJob* job);

// Where copies lie from now on; in memory where that does not work. Set before readers are started.
void SetCopyDirectory(const char* directory);
// A file without a name for a copy. `*most_bytes` is lowered where it is in memory.
UniqueFd MakeCopyFile(uint64_t* most_bytes);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_LOCAL_FILE_H_
