// One answer of `stackray doctor`: a fact about this host, and what follows from it.
#ifndef STACKRAY_AGENT_DOCTOR_FINDING_H_
#define STACKRAY_AGENT_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace stackray {

enum class FindingLevel {
  kGood,      // As it should be.
  kWarning,   // Something is lost; sampling goes on.
  kBlocking,  // No sample can be taken.
};

// Plain values. `cost` and `fix` are empty exactly when the level is kGood.
struct Finding {
  std::string id;  // Stable, for scripts: "btf", "capability.bpf".
  FindingLevel level = FindingLevel::kGood;
  std::string what;    // The fact: "CAP_PERFMON is missing".
  std::string cost;    // What is lost by it.
  std::string fix;     // What a person can do; a command where there is one.
  std::string detail;  // Many lines: the verifier's log. Mostly empty.
};

using Findings = std::vector<Finding>;

inline Finding Good(std::string id, std::string what) {
  return {std::move(id), FindingLevel::kGood, std::move(what), "", "", ""};
}
inline Finding Warning(std::string id, std::string what, std::string cost, std::string fix) {
  return {std::move(id),   FindingLevel::kWarning, std::move(what),
          std::move(cost), std::move(fix),         ""};
}
inline Finding Blocking(std::string id, std::string what, std::string cost, std::string fix) {
  return {std::move(id),   FindingLevel::kBlocking, std::move(what),
          std::move(cost), std::move(fix),          ""};
}

}  // namespace stackray

#endif  // STACKRAY_AGENT_DOCTOR_FINDING_H_
