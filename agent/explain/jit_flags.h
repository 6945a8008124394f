// Which flag of a runtime makes its JIT compiler say the names of its functions.
// Threads: a function without state.
#ifndef STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_
#define STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_

#include <string>
#include <vector>

#include "agent/explain/code_facts.h"

namespace stackray {

// By the files that the process has mapped, one sentence a runtime. A runtime that says nothing
// whatever its flags has one too. Never empty.
std::vector<std::string> WaysToJitNames(const std::vector<CodeFacts>& files);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_JIT_FLAGS_H_
