#include "agent/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "agent/doctor/checks.h"

namespace stackray {
namespace doctor {

std::string ReadSetting(const HostProbe& host, const std::string& path) {
  constexpr size_t kSettingBytes = 4096;
  absl::StatusOr<std::string> text = host.ReadText(path, kSettingBytes);
  if (!text.ok()) return "";
  absl::StripTrailingAsciiWhitespace(&*text);
  return *std::move(text);
}

}  // namespace doctor

Findings Examine(const HostProbe& host, const DoctorOptions& options) {
  Findings all;
  const auto add = [&all](Findings more) { std::ranges::move(more, std::back_inserter(all)); };
  add(doctor::CheckKernel(host));
  add(doctor::CheckBtf(host));
  add(doctor::CheckCapabilities(host));
  add(doctor::CheckUserNamespace(host));
  add(doctor::CheckLockdown(host));
  add(doctor::CheckPrograms(host));
  add(doctor::CheckClocks(host));
  add(doctor::CheckSampleRate(host, options.sample_rate_hz));
  add(doctor::CheckPidNamespace(host));
  add(doctor::CheckHiddenProcesses(host));
  add(doctor::CheckPriority(host));
  add(doctor::CheckPtraceScope(host));
  add(doctor::CheckKernelSymbols(host));
  add(doctor::CheckControlGroups(host));
  add(doctor::CheckUprobes(host));
  add(doctor::CheckStateDirectory(host, options.state_directory));
  add(doctor::CheckPagePort(host, options.page_port));
  add(doctor::CheckAgentSettings(options.settings));
  add(doctor::CheckHarmlessSettings(host));
  return all;
}

Finding ProgramRefused(std::string_view program, std::string_view costs, const absl::Status& why,
                       std::string_view verifier_log) {
  Finding finding = Warning(
      fmt::format("program.{}", program),
      fmt::format("the kernel refused the program {}: {}", program, std::string(why.message())),
      std::string(costs), "report it with the log below; everything else works without it");
  finding.detail = verifier_log;
  return finding;
}

bool SamplingPossible(const Findings& findings) {
  return std::ranges::none_of(findings,
                              [](const Finding& f) { return f.level == FindingLevel::kBlocking; });
}

}  // namespace stackray
