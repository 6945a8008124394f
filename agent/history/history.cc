#include "agent/history/history.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "agent/history/disk_history.h"
#include "agent/history/memory_history.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

int64_t SteadyNowMs() { return static_cast<int64_t>(BootTimeNs() / 1'000'000); }

}  // namespace

int64_t SystemNowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<OpenedHistory> OpenHistory(HistorySettings settings) {
  if (!settings.steady_ms) settings.steady_ms = settings.now_ms ? settings.now_ms : &SteadyNowMs;
  if (!settings.now_ms) settings.now_ms = &SystemNowMs;
  OpenedHistory opened;
  absl::StatusOr<HistoryDirectory> directory = OpenHistoryDirectory(settings.state_dir);
  if (directory.ok()) {
    opened.history =
        std::make_unique<DiskHistory>(std::move(settings), *std::move(directory), opened.warnings);
    return opened;
  }
  if (absl::IsFailedPrecondition(directory.status())) return directory.status();
  opened.warnings.push_back(
      fmt::format("the history is kept in memory only and ends with this process: {}",
                  std::string(directory.status().message())));
  opened.history = std::make_unique<MemoryHistory>(std::move(settings));
  return opened;
}

}  // namespace stackray
