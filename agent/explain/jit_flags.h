// Which flag of a runtime makes its JIT compiler say the names of its functions.
// Threads: a function without state.
#ifndef STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_
#define STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_

#include <string>
#include <vector>

#include "agent/explain/code_facts.h"

namespace stackray {

// What a process has done to say names already.
struct JitSaid {
  std::string command_line;  // Arguments with spaces between them.
  std::string place;         // Where its perf map would be, as this process sees it.
  bool has_perf_map = false;
  bool is_read = false;     // Names of some code.
  bool is_refused = false;  // A file was there, and did not count.
};

// By the files that the process has mapped, one sentence a runtime. A runtime that says nothing
// whatever its flags has one too; of one whose flag is on already, what is wrong instead. Never
// empty.
std::vector<std::string> WaysToJitNames(const std::vector<CodeFacts>& files, const JitSaid& said);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_
