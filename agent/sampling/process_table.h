// Who the sampled processes are: read from /proc once, kept as long as a batch can ask. With each, the
// files that its code came from: a sample may be taken out of the ring long after its process ended,
// so what the process was asked for is held until its exit has come out of the ring too.
//
// Memory:  at most `max_processes` entries, those of ended processes first to go; a pointer for each of
//          a process's files.
// Threads: one at a time (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_
#define STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_

#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"

namespace stackray {

class ProcessTable {
 public:
  explicit ProcessTable(size_t max_processes) : max_processes_(max_processes) {}

  // What is known of the process; the first call for it reads /proc. `command` is what its sample says,
  // and what a process that is gone is known by. Valid until the next call.
  const ProcessInfo& Describe(const ProcessId& id, std::string_view command,
                              int64_t wall_offset_ns);

  // Where the files of a described process are held; nullptr: it is not in the table. Valid until the
  // next call of anything else.
  std::vector<ExecutableFilePtr>* FilesOf(const ProcessId& id);

  // Exit was seen: its entry may go once the open batch is sealed.
  void MarkEnded(const ProcessId& id);
  // The open batch is sealed: nobody will ask for what has ended.
  void DropEnded();

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    ProcessId id;
    ProcessInfo info;
    std::vector<ExecutableFilePtr> files;
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  const size_t max_processes_;
  Entries entries_;
  absl::flat_hash_map<ProcessId, Entries::iterator> by_id_;
  std::vector<ProcessId> ended_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_
