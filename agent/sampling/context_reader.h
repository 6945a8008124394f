// The context that a process publishes (process_context.h), found in its memory and followed as it
// changes.
//
// Costs: nothing for what has not run for a second, 2 ms programs among them. Then /proc/PID/maps
//        is read once (10 to 20 µs for a small process, 0.12 µs a mapping, 512 KiB of text at most)
//        and, while nothing is found, again each second, later when an eighth of its age has
//        passed, at last every 256 s; all processes together 512 KiB of text a second (4 MiB at
//        once, half of it for first looks), what is over that comes later. A context that was found
//        costs one read of 32 bytes each time.
// Input: hostile (process_context.h). A process can slow a reader of its memory down (a page behind
//        its own file system); that holds for every look at a process, its names in interpreters'
//        code among them.
// Memory: 8 MiB for all contexts together; one that does not fit is not taken.
// Threads: one at a time.
#ifndef STACKRAY_AGENT_SAMPLING_CONTEXT_READER_H_
#define STACKRAY_AGENT_SAMPLING_CONTEXT_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/sampling/process_context.h"
#include "interpreters/process_memory.h"
#include "profile/process.h"

namespace stackray {

// One look at the place of a header.
struct ContextReading {
  enum class Outcome {
    kRead,      // Whole, and not changed meanwhile.
    kSame,      // As it was at `known_published_at_ns`.
    kBusy,      // Being written each time it was looked at.
    kUnusable,  // Too large, outside of the process's memory, or damaged.
    kNone,      // There is no header here (any more).
    kGone,      // Nor a process.
  };
  Outcome outcome = Outcome::kNone;
  uint64_t published_at_ns = 0;  // kRead and kUnusable.
  ProcessContext context;        // kRead.
};
ContextReading ReadContext(ProcessMemory& memory, uint64_t address, uint64_t known_published_at_ns);

// What is known of one program image's context. At first: nothing.
struct ContextWatch {
  std::shared_ptr<const ProcessContext> context;  // nullptr: none that can be used.
  uint64_t address = 0;                           // Of its header; 0: not found.
  uint64_t published_at_ns = 0;                   // Of what `context` was made of.
  uint64_t next_look_ns = 0;                      // For a mapping; not before.
  uint32_t least_wait_s = 1;                      // From one look to the next.
  // One of its mappings was of a library that keeps thread contexts and publishes nothing
  // (custom-labels, Elastic's agent for Java).
  bool has_context_library = false;
};

class ContextReader {
 public:
  // Brings `watch` up to date. `since_ns`: when the image began to run; both times CLOCK_BOOTTIME.
  // A process that is gone keeps what it has. What stands under the pid by now is told by its start
  // time.
  void Follow(const ProcessId& id, uint64_t since_ns, uint64_t now_ns, ContextWatch& watch);

  uint64_t looks() const { return looks_; }            // At mappings.
  uint64_t text_bytes() const { return text_bytes_; }  // Of mappings.
  size_t held_bytes() const { return *held_bytes_; }   // By contexts.

 private:
  bool Take(const ProcessId& id, const ContextReading& reading, ContextWatch& watch);
  void Look(const ProcessId& id, ContextWatch& watch);
  bool FindMappings(uint32_t pid, std::vector<uint64_t>* addresses, bool* has_library);
  bool MayLook(const ContextWatch& watch, uint64_t now_ns);

  int64_t text_budget_bytes_ = kMostTextAtOnce;
  uint64_t budget_time_ns_ = 0;
  uint64_t looks_ = 0, text_bytes_ = 0;
  std::shared_ptr<size_t> held_bytes_ = std::make_shared<size_t>(0);

  static constexpr int64_t kMostTextAtOnce = 4 << 20;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_CONTEXT_READER_H_
