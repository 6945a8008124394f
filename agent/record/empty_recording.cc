#include "agent/record/empty_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "agent/sampling/targets.h"
#include "agent/settings/suggestion.h"
#include "kernel/process_info.h"
#include "kernel/process_tree.h"

namespace stackray {
namespace {

constexpr size_t kMaxCgroupDirectories = 10'000;
constexpr size_t kMaxNamed = 5;
constexpr double kFewPeriods = 3;
constexpr uint32_t kFasterHz = 999;

std::vector<PresentProcess> Named(std::span<const ListedProcess> processes) {
  std::vector<PresentProcess> named;
  for (const ListedProcess& process : processes)
    named.push_back({process.pid, ReadCommandName(process.pid)});
  return named;
}

void AddMembers(const std::filesystem::path& cgroup, std::vector<PresentProcess>* members) {
  std::ifstream file(cgroup / "cgroup.procs");
  for (uint32_t pid = 0; file >> pid;) members->push_back({pid, ReadCommandName(pid)});
}

std::vector<PresentProcess> MembersOf(const std::string& cgroup) {
  std::vector<PresentProcess> members;
  std::error_code error;
  AddMembers(cgroup, &members);
  std::filesystem::recursive_directory_iterator it(
      cgroup, std::filesystem::directory_options::skip_permission_denied, error);
  for (size_t seen = 0; !error && it != std::filesystem::recursive_directory_iterator() &&
                        seen < kMaxCgroupDirectories;
       it.increment(error), ++seen)
    if (it->is_directory(error)) AddMembers(it->path(), &members);
  return members;
}

// "1234 (postgres), 1240 (postgres) and 7 more".
std::string Listed(const std::vector<PresentProcess>& processes) {
  std::vector<std::string> texts;
  for (const PresentProcess& process : processes) {
    if (texts.size() == kMaxNamed) break;
    texts.push_back(fmt::format("{} ({})", process.pid, process.command));
  }
  const size_t more = processes.size() - texts.size();
  return fmt::format("{}{}", fmt::join(texts, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string Faster(const EmptyRecording& facts) {
  const double period_ms = 1000.0 / facts.frequency_hz;
  const std::string period =
      period_ms < 100 ? fmt::format("{:.3g}", period_ms) : fmt::format("{:.0f}", period_ms);
  const std::string hint =
      facts.frequency_hz < kFasterHz ? fmt::format(". -F {} takes more", kFasterHz) : "";
  return fmt::format("a sample is taken every {} ms of CPU time{}", period, hint);
}

bool WasShort(const EmptyRecording& facts) {
  return facts.seconds * facts.frequency_hz < kFewPeriods;
}

std::string DidNotRun(const EmptyRecording& facts, std::string_view who, bool many) {
  return fmt::format(
      "{} {} not on a CPU at any tick in {:.2f} s: {} for input, a timer, a disk, the network, a "
      "lock or a CPU that others had, and waiting is not sampled.",
      who, many ? "were" : "was", facts.seconds, many ? "they waited" : "it waited");
}

std::string OfCommandName(const EmptyRecording& facts) {
  const std::string& wanted = facts.target.command_name;
  std::vector<PresentProcess> same;
  std::vector<std::string_view> names;
  for (const PresentProcess& process : facts.present) {
    if (process.command == wanted) same.push_back(process);
    names.push_back(process.command);
  }
  if (!same.empty())
    return DidNotRun(facts, fmt::format("process {}", Listed(same)), same.size() > 1);
  return fmt::format(
      "no process is named {}{}. A name is what `ps -eo pid,comm` prints, at most 15 bytes; a "
      "script "
      "has its interpreter's.",
      wanted, DidYouMean(wanted, names));
}

std::string OfPids(const EmptyRecording& facts) {
  const std::string who = DescribeTarget(facts.target);
  if (facts.present.empty() && WasShort(facts))
    return fmt::format("{} ended after {:.0f} ms, and {}.", who, facts.seconds * 1000,
                       Faster(facts));
  std::string text = facts.present.empty()
                         ? DidNotRun(facts, who, true)
                         : DidNotRun(facts, fmt::format("process {}", Listed(facts.present)),
                                     facts.present.size() > 1);
  if (facts.left_out > 0)
    text += fmt::format(" --no-inherit leaves {} of its descendants out.", facts.left_out);
  return text;
}

std::string OfProgram(const EmptyRecording& facts) {
  const std::string& name = facts.target.program.front();
  if (facts.program_ended && WasShort(facts))
    return fmt::format("{} ended after {:.0f} ms, and {}.", name, facts.seconds * 1000,
                       Faster(facts));
  return DidNotRun(facts, name, false);
}

std::string OfCgroup(const EmptyRecording& facts) {
  const std::string who = DescribeTarget(facts.target);
  if (facts.present.empty())
    return fmt::format(
        "no process is in {}: the service or container has ended, or lives in another "
        "cgroup (see /proc/PID/cgroup).",
        who);
  return DidNotRun(facts, fmt::format("process {} in {}", Listed(facts.present), who),
                   facts.present.size() > 1);
}

}  // namespace

EmptyRecording LookAtTarget(const TargetSettings& target, uint32_t frequency_hz, double seconds) {
  EmptyRecording facts{.target = target, .frequency_hz = frequency_hz, .seconds = seconds};
  switch (target.kind) {
    case TargetKind::kCommandName: facts.present = Named(ListLivingProcesses()); break;
    case TargetKind::kCgroup: facts.present = MembersOf(target.cgroup_path); break;
    case TargetKind::kContainer:
      if (const auto cgroup = FindContainerCgroup(target.container_id); cgroup.ok())
        facts.present = MembersOf(*cgroup);
      break;
    case TargetKind::kPids: {
      std::vector<ListedProcess> tree = SelectTree(ListLivingProcesses(), target.pids);
      if (!target.inherit) {
        const size_t all = tree.size();
        std::erase_if(tree, [&](const ListedProcess& process) {
          return std::ranges::find(target.pids, process.pid) == target.pids.end();
        });
        facts.left_out = all - tree.size();
      }
      facts.present = Named(tree);
      break;
    }
    case TargetKind::kWholeHost:
    case TargetKind::kProgram: break;
  }
  return facts;
}

std::string WhyEmpty(const EmptyRecording& facts) {
  if (facts.lost > 0)
    return fmt::format("all {} samples were lost; stackray could not keep up.", facts.lost);
  if (facts.target.kind != TargetKind::kProgram && WasShort(facts) && !facts.program_ended)
    return fmt::format("the recording took {:.0f} ms, and {}. Record longer: -d.",
                       facts.seconds * 1000, Faster(facts));
  switch (facts.target.kind) {
    case TargetKind::kCommandName: return OfCommandName(facts);
    case TargetKind::kPids: return OfPids(facts);
    case TargetKind::kProgram: return OfProgram(facts);
    case TargetKind::kCgroup:
    case TargetKind::kContainer: return OfCgroup(facts);
    case TargetKind::kWholeHost: break;
  }
  return fmt::format("no process of this host was on a CPU at any tick in {:.2f} s, and {}.",
                     facts.seconds, Faster(facts));
}

}  // namespace stackray
