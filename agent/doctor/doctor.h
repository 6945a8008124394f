// `stackray doctor`: examines a host and says what it allows, what is missing, what each lack
// costs and how to mend it.
#ifndef STACKRAY_AGENT_DOCTOR_DOCTOR_H_
#define STACKRAY_AGENT_DOCTOR_DOCTOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/doctor/finding.h"
#include "agent/doctor/host_probe.h"

namespace stackray {

struct ReceiverFact {
  std::string address;  // "http://collector:4317 (OTEL_EXPORTER_OTLP_ENDPOINT)".
  std::string problem;  // Why it cannot be reached; empty: it answers.
};

// What the agent would do with the settings it finds here (file, variables, defaults).
struct AgentSettingsFacts {
  std::string error;  // Why it would not start; empty: it would.
  std::vector<ReceiverFact> receivers;
  std::vector<std::string> warnings;  // What is given and not used.
  std::string budgets;  // "memory 256MiB, BPF memory 128MiB, CPU 50%"; empty: not known.
};

struct DoctorOptions {
  std::string state_directory = "/var/lib/stackray";
  uint16_t page_port = 7171;
  int sample_rate_hz = 99;
  AgentSettingsFacts settings;
};

// All checks, in the order a person mends them: kernel, privileges, sampling, names, surroundings.
// Takes below a second on a live host. Never fails: what cannot be found out is a finding too.
// Threads: one. Keeps nothing of `host`.
Findings Examine(const HostProbe& host, const DoctorOptions& options = {});

// For an optional program that the kernel refused when the agent loaded it. `costs` says what is
// lost without it; `verifier_log` may be empty.
Finding ProgramRefused(std::string_view program, std::string_view costs, const absl::Status& why,
                       std::string_view verifier_log);

bool SamplingPossible(const Findings& findings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DOCTOR_DOCTOR_H_
