#include "tests/live/storms/recorded_storm.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);

bool WaitFor(const std::function<bool()>& condition) {
  const auto end = steady_clock::now() + kPatience;
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

std::string Replaced(std::string text, const std::string& word, const std::string& by) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

// The profiler, and what says that it samples by now.
struct Profiler {
  TargetProgram program;
  std::function<bool()> samples;
};

class Storm {
 public:
  explicit Storm(const StormPlan& plan)
      : plan_(plan), result_{.seen = StormReport(plan.commands)} {}

  absl::Status Run(Profiler* profiler) {
    absl::StatusOr<std::unique_ptr<TickCounter>> counter = TickCounter::Start(plan_.frequency_hz);
    if (!counter.ok()) return counter.status();
    if (!WaitFor([&] { return profiler->samples() || profiler->program.Poll(); }) ||
        profiler->program.pid() == 0)
      return absl::FailedPreconditionError("the profiler does not sample");
    const double cpu_before = CpuSecondsOf(profiler->program.pid());
    const auto begin = steady_clock::now();
    if (absl::Status status = RunCommand(); !status.ok()) return status;
    result_.seconds = duration<double>(steady_clock::now() - begin).count();
    result_.profiler_cpu_s = CpuSecondsOf(profiler->program.pid()) - cpu_before;
    auto counts = (*counter)->Counts();
    if (!counts.ok()) return counts.status();
    CountTicks(*counts);
    kill(static_cast<pid_t>(profiler->program.pid()), SIGINT);
    std::optional<int> code;
    if (!WaitFor([&] { return (code = profiler->program.Poll()).has_value(); }) || *code != 0)
      return absl::InternalError("the profiler did not end well");
    return absl::OkStatus();
  }

  TemporaryDirectory& directory() { return directory_; }
  RecordedStorm& result() { return result_; }

 private:
  void CountTicks(std::map<std::string, ExpectedSamples>& counts) {
    for (const std::string& command : plan_.commands) {
      result_.expected[command] = counts[command];
      result_.storm_ticks += counts[command].samples();
    }
    for (const char* launcher : {"sh", "start_rate"})
      result_.storm_ticks += counts[launcher].samples();
    for (const auto& [command, expected] : counts)
      if (command != "stackray") result_.all_ticks += expected.samples();
  }

  absl::Status RunCommand() {
    const std::string stop = directory_.File("stop"), count = directory_.File("count");
    std::filesystem::permissions(directory_.path(), std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);  // Others see `stop`, too.
    TargetProgram shell = TargetProgram::Start(
        {"sh", "-c", Replaced(Replaced(plan_.command, "STOP", stop), "COUNT", count)});
    std::this_thread::sleep_for(duration<double>(plan_.seconds));
    directory_.Write("stop", "");
    std::optional<int> code;
    if (!WaitFor([&] { return (code = shell.Poll()).has_value(); }) || *code != 0)
      return absl::InternalError("the storm did not end well");
    std::ifstream(count) >> result_.processes;
    return absl::OkStatus();
  }

  const StormPlan& plan_;
  TemporaryDirectory directory_;
  RecordedStorm result_;
};

std::string Stackray() { return std::string(STACKRAY_BINARY_DIR) + "/stackray"; }

}  // namespace

uint64_t RecordedStorm::expected_samples() const {
  uint64_t sum = 0;
  for (const auto& [command, expected_of] : expected) sum += expected_of.samples();
  return sum;
}

double RecordedStorm::seen_percent() const {
  const uint64_t all = expected_samples();
  return all == 0 ? 0 : 100.0 * static_cast<double>(seen.sum().samples) / static_cast<double>(all);
}

double RecordedStorm::share() const {
  return all_ticks == 0 ? 0 : static_cast<double>(storm_ticks) / static_cast<double>(all_ticks);
}

double RecordedStorm::chance_samples() const {
  return share() >= kQuietShare ? 0 : 3 * std::sqrt(2.0 * static_cast<double>(expected_samples()));
}

absl::StatusOr<RecordedStorm> RecordStorm(const StormPlan& plan) {
  Storm storm(plan);
  const std::string file = storm.directory().File("storm.otlp");
  Profiler profiler{TargetProgram::Start({Stackray(), "record", "-a", "-F",
                                          fmt::format("{}", plan.frequency_hz), "-o", file}),
                    [&] {
                      std::error_code error;
                      return std::filesystem::file_size(file, error) > 0 && !error;
                    }};
  if (absl::Status status = storm.Run(&profiler); !status.ok()) return status;
  if (absl::Status status = storm.result().seen.AddFile(file); !status.ok()) return status;
  return std::move(storm.result());
}

absl::StatusOr<RecordedStorm> WatchStorm(const StormPlan& plan) {
  Storm storm(plan);
  const std::string state = storm.directory().File("state");
  Profiler profiler{
      TargetProgram::Start({Stackray(), "agent", "-F", fmt::format("{}", plan.frequency_hz),
                            "--listen", "127.0.0.1:0", "--state-dir", state}),
      [&] {
        uint64_t bytes = 0;
        std::error_code error;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(state, error))
          if (entry.is_regular_file(error)) bytes += entry.file_size(error);
        return bytes > 4096;
      }};
  if (absl::Status status = storm.Run(&profiler); !status.ok()) return status;
  return std::move(storm.result());
}

}  // namespace stackray::test
