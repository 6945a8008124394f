#include "agent/privileges/sandbox.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <utility>

#include "agent/privileges/capability_drop.h"
#include "agent/privileges/collector_process.h"
#include "agent/privileges/helper_client.h"
#include "agent/privileges/sampling_needs.h"
#include "agent/privileges/system_call_filter.h"
#include "kernel/foreign/foreign_reads.h"
#include "kernel/foreign/local_file.h"
#include "kernel/refused_files.h"

namespace stackray {
namespace {

// A sanitizer's runtime has a thread from the start, forks and traces: no release does.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// Both live as long as the process, and are set before there are threads.
HelperClient* g_helper = nullptr;
CollectorClient* g_collectors = nullptr;

// Before Linux 5.11 BPF maps count against it, and raising it needs a right that goes.
void RaiseMemlockLimit() {
  const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

std::string StartHelper(const std::string& copy_directory) {
  absl::StatusOr<HelperProcess> process = ForkHelper(copy_directory);
  if (!process.ok())
    return fmt::format("no helper process, so files that only their user may read stay unread: {}",
                       std::string(process.status().message()));
  g_helper = new HelperClient(*std::move(process));
  SetRefusedFiles(g_helper);
  return "";
}

// Whom they read is a question of the same rights as the agent's own.
constexpr CapabilitySet kReadersNeed{Capability::kDacReadSearch, Capability::kSysPtrace,
                                     Capability::kCheckpointRestore};

std::string StartReaders(const SandboxOptions& options) {
  SetCopyDirectory(options.copy_directory.c_str());
  const bool drops = options.mode != SandboxMode::kOff && !kIsSanitized;
  ReaderLimits limits;
  if (drops) {  // Where one of these fails, they have what the agent has then.
    limits.parent = [] { KeepOnly(kReadersNeed).IgnoreError(); };
    limits.reader = [] { LoadSystemCallFilter(CallsOutside::kErrno).status().IgnoreError(); };
  }
  const absl::Status status = StartForeignReaders(limits);
  if (status.ok()) return "";
  return fmt::format("a process whose memory or files do not answer can stop this one: {}",
                     std::string(status.message()));
}

std::string StartCollectors(const std::vector<CollectorEntry>& collectors) {
  if (collectors.empty()) return "";
  absl::StatusOr<HelperProcess> process = ForkCollectors(collectors);
  if (!process.ok())
    return fmt::format("no collectors run: {}", std::string(process.status().message()));
  g_collectors = new CollectorClient(*std::move(process), collectors);
  return "";
}

absl::Status DropCapabilities(const SandboxOptions& options) {
  const CapabilitySet needs = NeedsOfThisHost().Or(options.more);
  return KeepOnly(needs.Or(NeedsOfOutputs(options.output_paths, needs)));
}

// Only one listener can be there, and a container's runtime may have it.
std::string LoadFilter(SandboxMode mode) {
  const bool strict = mode == SandboxMode::kStrict;
  absl::StatusOr<UniqueFd> listener = absl::UnavailableError("");
  if (strict || g_helper != nullptr)
    listener = LoadSystemCallFilter(strict ? CallsOutside::kEnd : CallsOutside::kNotify);
  if (listener.ok()) {
    if (listener->valid()) g_helper->AnswerSystemCalls(*std::move(listener));
    return "";
  }
  const absl::Status silent = LoadSystemCallFilter(CallsOutside::kErrno).status();
  return silent.ok() ? "" : "system calls are not limited: " + std::string(silent.message());
}

}  // namespace

absl::StatusOr<std::vector<std::string>> EnterSandbox(const SandboxOptions& options) {
  std::vector<std::string> warnings;
  const auto warn = [&warnings](std::string text) {
    if (!text.empty()) warnings.push_back(std::move(text));
  };
  RaiseMemlockLimit();
  warn(StartReaders(options));
  warn(StartHelper(options.copy_directory));
  warn(StartCollectors(options.collectors));
  if (options.mode == SandboxMode::kOff || kIsSanitized) return warnings;
  if (absl::Status status = DropCapabilities(options); !status.ok()) return status;
  warn(LoadFilter(options.mode));
  return warnings;
}

const CollectorClient* TheCollectors() { return g_collectors; }

absl::Status SetThreadNice(pid_t tid, int nice) {
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(tid), nice) == 0) return absl::OkStatus();
  if (g_helper == nullptr) return absl::UnavailableError("no helper process");
  return g_helper->SetNice(tid, nice);
}

}  // namespace stackray
