#include "agent/privileges/sampling_needs.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "agent/privileges/capability_drop.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr int kStrictestOfLinux = 2;  // Above: a distribution's own level.

int PerfEventParanoid() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  int level = 0;
  return file >> level ? level : 0;
}

// A counter of a whole CPU, as the sampler opens them.
bool IsCounterRefused() {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = 19;
  attr.disabled = 1;
  const int cpu = std::max(sched_getcpu(), 0);
  const UniqueFd fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  return !fd.valid() && (errno == EACCES || errno == EPERM);
}

bool MayWrite(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 || errno != EACCES;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

CapabilitySet NeedsOfThisHost() {
  if (PerfEventParanoid() <= kStrictestOfLinux || !LowerEffective(kSamplingNeeds).ok())
    return kSamplingNeeds;
  return IsCounterRefused() ? kSamplingNeeds.With(Capability::kSysAdmin) : kSamplingNeeds;
}

CapabilitySet NeedsOfOutputs(std::span<const std::string> paths, CapabilitySet others) {
  if (paths.empty() || !LowerEffective(others).ok()) return {};
  const bool writable = std::ranges::all_of(
      paths, [](const std::string& path) { return MayWrite(path) && MayWrite(FolderOf(path)); });
  return writable ? CapabilitySet() : CapabilitySet{Capability::kDacOverride, Capability::kFowner};
}

}  // namespace stackray
