// Finds where each process keeps what its threads work on, and tells BPF.
//
// A process is asked for it when it publishes how its threads say that (process_context.h), when it
// has mapped a library of a convention without such keys, and, for Go's labels and custom-labels,
// by the program that it was started with. What is not found is looked for again after 1, 2, 4 …
// 256 s, and at once when the process publishes something new; what was found is looked for again
// when the loader's slot says something else (a library was closed).
//
// Costs:   a process without any of these: one question to the kernel and one look at its program's
//          file, which are shared by all processes that run it. Others: their executable mappings,
//          a look at each file that is new, and one read of 16 bytes a second.
// Input:   foreign files and memory, so nothing in them is trusted.
// Memory:  some 400 bytes a process, at most kMostProcesses; the file cache's.
// Threads: one (the sample loop's).
#ifndef STACKRAY_AGENT_THREAD_CONTEXT_THREAD_CONTEXTS_H_
#define STACKRAY_AGENT_THREAD_CONTEXT_THREAD_CONTEXTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/sampling/context_reader.h"
#include "agent/thread_context/file_contexts.h"
#include "interpreters/thread_context/tls_place.h"
#include "kernel/context_memory.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"

namespace stackray {

// Kinds of `ThreadSchema::version`; CONTEXT_NONE: one that is not known.
context_kind KindOfSchema(std::string_view version);

// What is known of one process.
struct ThreadContextFinding {
  struct Place {
    context_kind kind;
    std::string file;  // As the process sees its path; may hold any bytes.
    TlsPlace where;
  };
  std::vector<Place> places;  // The strongest first; at most CONTEXT_PLACES.
  ThreadSchema published;     // What the process itself says.
  std::string trouble;        // Why not, or why not more; empty: nothing asks for it.
};

class ThreadContexts {
 public:
  static constexpr size_t kMostProcesses = 16'384;

  // All outlive this.
  ThreadContexts(ContextMemory& memory, ExecutableFiles& files) : memory_(memory), files_(files) {}

  // Call it about once a second for each process that was sampled. `now_ns`: any steady time.
  void Follow(const ProcessId& process, const ContextWatch& watch, uint64_t now_ns);
  // The process has ended, or runs another program.
  void Forget(const ProcessId& process);

  // Names of labels that captures want, by number; an empty one is not in use. Takes effect at
  // once.
  void SetLabelTargets(std::span<const std::string> names);

  // Of the program that a process runs now; nullptr: it was never followed. Valid until the next
  // call of anything else.
  const ThreadContextFinding* FindingOf(uint32_t pid) const;

  struct Counts {
    uint64_t processes = 0;   // That BPF reads.
    uint64_t unresolved = 0;  // Asked for and not found.
    uint64_t no_room = 0;     // Times that BPF's map was full and another process lost its row.
  };
  Counts counts() const;

 private:
  struct Known {
    ThreadContextFinding finding;
    std::shared_ptr<const ProcessContext> context;  // Its keys; nullptr: none.
    uint64_t published_at_ns = 0;
    bool had_library = false;
    bool is_read = false;  // By BPF.
    uint64_t followed_ns = 0, next_scan_ns = 0;
    uint32_t wait_s = 1;
  };

  using Processes = absl::flat_hash_map<ProcessId, Known>;

  void Scan(const ProcessId& process, const ContextWatch& watch, Known* known);
  void Publish(const ProcessId& process, Known* known);
  void SetKeys(const Known& known, process_contexts* row) const;
  Processes::iterator DropOldest();

  ContextMemory& memory_;
  ExecutableFiles& files_;
  FileContextCache cache_;
  Processes known_;
  std::vector<std::string> label_targets_;
  uint64_t no_room_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_THREAD_CONTEXT_THREAD_CONTEXTS_H_
