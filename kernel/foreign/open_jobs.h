// Jobs that open a process's files for the agent.
#ifndef STACKRAY_KERNEL_FOREIGN_OPEN_JOBS_H_
#define STACKRAY_KERNEL_FOREIGN_OPEN_JOBS_H_

#include <cstdint>

#include "bpf/shared/records.h"
#include "kernel/foreign/foreign_job.h"
#include "kernel/foreign/local_file.h"

namespace stackray {

enum class OpenOutcome : uint32_t {
  kNotFound,  // No such file now.
  kOpened,    // The answer has the file, or its copy.
  kReplaced,  // It is another file by now.
  kRefused,   // To root; the answer's file is its O_PATH descriptor.
  kFailed,    // The job's error says why.
};

// With the path behind it, as the process's root sees it; of kReplaced and kRefused as the kernel
// shows it.
struct OpenReply {
  OpenOutcome outcome = OpenOutcome::kNotFound;
  uint32_t is_deleted = 0;
  AnswerFile file;
};

// The file of a mapping (OpenRangeFile()). With the hint behind the question.
struct RangeFileQuestion {
  code_range range;
  uint64_t most_copy_bytes;
};
void OpenFileOfRange(ForeignJob& job);

// A program's file (OpenProgramFile()). With the path behind the question.
struct ProgramFileQuestion {
  file_key key;
  uint64_t most_copy_bytes;
};
void OpenFileOfProgram(ForeignJob& job);

// The O_PATH descriptor of /proc/PID/NAME, with NAME as the question. Nobody is asked for it.
void FindPlace(ForeignJob& job);

// Whether `path`, as the process sees it, leads to that very file.
struct IsFileQuestion {
  uint64_t device, inode;
};
void IsFileAtPath(ForeignJob& job);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_OPEN_JOBS_H_
