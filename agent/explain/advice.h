// Why stacks or names of a process are not whole, and what would help: from facts and samples to
// sentences. Threads: functions without state.
#ifndef STACKRAY_AGENT_EXPLAIN_ADVICE_H_
#define STACKRAY_AGENT_EXPLAIN_ADVICE_H_

#include <string>
#include <vector>

#include "agent/explain/explanation.h"

namespace stackray {

struct Advice {
  int64_t weight = 0;   // Frames that are concerned, or stacks:
  bool is_cut = false;  // Stacks that end early.
  std::string reason;
  std::vector<std::string> helps;  // Any one of them.
};

// Cut stacks first, then the weightiest; what concerns less than one stack or frame in a thousand
// is left out.
std::vector<Advice> AdviceFor(const Explanation& explanation);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_ADVICE_H_
