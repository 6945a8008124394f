#include <fmt/format.h>

#include "agent/doctor/checks.h"

namespace stackray::doctor {

Findings CheckAgentSettings(const AgentSettingsFacts& settings) {
  if (!settings.error.empty()) {
    return {Warning("settings", settings.error, "an agent started here ends at once",
                    "mend it, then try: stackray agent --check-config")};
  }
  Findings findings;
  for (const std::string& warning : settings.warnings)
    findings.push_back(
        Warning("settings", warning, "what it says has no effect",
                "take it away, or mend it; stackray agent --check-config shows what holds"));
  for (const ReceiverFact& receiver : settings.receivers) {
    const std::string where = fmt::format("the agent sends to {}", receiver.address);
    findings.push_back(
        receiver.problem.empty()
            ? Good("receiver", where + ", which answers")
            : Warning("receiver", fmt::format("{}, which fails: {}", where, receiver.problem),
                      "batches wait, and are lost when that takes too long",
                      "see what the message asks for; docs/receivers.md has recipes"));
  }
  if (!settings.budgets.empty())
    findings.push_back(
        Good("budgets", fmt::format("the agent keeps to {}, and does without before it uses more",
                                    settings.budgets)));
  if (settings.receivers.empty())
    findings.push_back(Good(
        "receiver", "no receiver is configured: the agent keeps a local history and its page"));
  return findings;
}

}  // namespace stackray::doctor
