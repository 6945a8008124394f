// What a dump says of each thread, read from its batches: as text, as JSON, and for reports.
//
// Input:   batches of this agent; names in them are a foreign process's, made printable.
// Threads: plain functions.
#ifndef STACKRAY_AGENT_DUMP_THREAD_STACKS_H_
#define STACKRAY_AGENT_DUMP_THREAD_STACKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sampling/process_dump.h"

namespace stackray {

struct StackFrame {
  std::string type;      // "native", "kernel", "cpython", …; "abort-marker": frames are missing.
  std::string function;  // Empty: no name. A marker's text.
  std::string file;      // Of the source.
  int64_t line = 0;      // 0: not known.
  std::string module;    // The executable's path.
  uint64_t address = 0;  // ELF address in the module.
  bool is_inlined = false;  // Into the next frame.
};

struct ThreadStack {
  DumpedThread thread;
  std::vector<StackFrame> frames;  // Leaf first; empty where it is missing.
};

// In the order of dump.threads.
std::vector<ThreadStack> StacksOf(const ProcessDump& dump);

// "running", "sleeping", "disk sleep", … (fs/proc/array.c's words, of Linux 6.18).
std::string_view ThreadStateWord(uint32_t state);

// A paragraph a thread, the newest call first.
std::string DumpText(const ProcessDump& dump);
// One document; docs/reports.md has its fields.
std::string DumpJson(const ProcessDump& dump);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DUMP_THREAD_STACKS_H_
