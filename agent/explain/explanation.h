// How well a process is unwound and named, and what would make it better, as text for a terminal.
// Threads: functions without state.
#ifndef STACKRAY_AGENT_EXPLAIN_EXPLANATION_H_
#define STACKRAY_AGENT_EXPLAIN_EXPLANATION_H_

#include <cstdint>
#include <string>

#include "agent/explain/code_facts.h"
#include "agent/explain/sampled_code.h"
#include "agent/settings/settings.h"
#include "interpreters/jit/jit_process.h"

namespace stackray {

struct Explanation {
  uint32_t pid = 0;
  std::string command;
  std::string command_line;    // Arguments with spaces between them.
  std::string perf_map_place;  // Where its perf map would be, as this process sees it.
  double seconds = 0;
  SymbolPolicy symbols = SymbolPolicy::kFull;
  bool asks_debuginfod = false;
  MappedCode code;
  SampledProcess sampled;
  JitCounts jit;  // What its JIT compilers say of their code.
  uint64_t guessed =
      0;  // Samples with a frame that was found by frame pointers where no table says how.
};

// "symbol table, debug information", "exported symbols only", "nothing".
std::string NamingOf(const CodeFacts& facts, SymbolPolicy symbols);

std::string RenderExplanation(const Explanation& explanation);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_EXPLANATION_H_
