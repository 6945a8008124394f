// The stacks of all threads of a process at one moment, without stopping it
// (SamplingSession::Dump()).
#ifndef STACKRAY_AGENT_SAMPLING_PROCESS_DUMP_H_
#define STACKRAY_AGENT_SAMPLING_PROCESS_DUMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "reporter/batch.h"

namespace stackray {

struct DumpedThread {
  enum class How {
    kRead,     // It was on no CPU, and has not run while its stack was read.
    kSampled,  // It was running: its stack is that of a tick.
    kLast,     // A signal has ended it: its stack is the last one that it had.
    kMissing,  // It ran each time that it was looked at, and no tick met it; or it has ended.
  };
  uint32_t tid = 0;
  std::string name;
  uint32_t state = 0;  // task_struct.__state.
  How how = How::kMissing;
};

struct ProcessDump {
  uint32_t pid = 0;
  std::string command;
  int64_t time_unix_ns = 0;
  std::vector<DumpedThread> threads;  // Ascending by tid.
  // The stacks: one sample a thread that is kRead, which its thread.id names.
  std::vector<SealedBatchPtr> read;
  // Of threads that are kSampled or kLast: the newest of a thread is its stack.
  std::vector<SealedBatchPtr> sampled;
};

struct DumpOptions {
  int rounds = 5;  // In which threads that ran meanwhile are read again.
  // How long a tick of running threads is waited for.
  absl::Duration ticks = absl::Milliseconds(250);
  double tick_hz = 499;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_PROCESS_DUMP_H_
