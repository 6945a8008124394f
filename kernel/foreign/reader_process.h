// The processes that read what belongs to others.
//
// A parent ("stackray-files") is forked before the agent has threads, memory and open files, and
// forks a reader whenever it is told to. A reader that waits for ever on a hostile file system
// cannot be ended, not even by SIGKILL: the kernel waits for the answer to a request of FUSE that
// its server has taken. So a reader holds nothing that anybody could miss: no lock, no socket but
// its own, no large memory; and it is no thread of the agent, whose end would wait for it.
#ifndef STACKRAY_KERNEL_FOREIGN_READER_PROCESS_H_
#define STACKRAY_KERNEL_FOREIGN_READER_PROCESS_H_

#include <sys/types.h>

#include <array>
#include <functional>

#include "absl/status/statusor.h"
#include "kernel/foreign/reader_shared.h"
#include "kernel/unique_fd.h"

namespace stackray {

// From the agent to the readers' parent.
struct ReaderOrder {
  enum Kind : uint32_t { kStart, kEnd } kind;
  uint32_t slot;
};

struct ReaderParent {
  pid_t pid = -1;
  UniqueFd orders;                             // Closing it ends the parent and all readers.
  std::array<UniqueFd, kMostReaders> sockets;  // The agent's end of each slot's.
};

// What gives up rights: first in the parent, which forks, and then in each reader.
struct ReaderLimits {
  std::function<void()> parent = [] {}, reader = [] {};
};

// Must be called before there are other threads. Errors: ResourceExhausted (no sockets, no
// process).
absl::StatusOr<ReaderParent> ForkReaderParent(ReaderShared* shared, const ReaderLimits& limits);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FOREIGN_READER_PROCESS_H_
