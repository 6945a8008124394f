// Captures beside a session's own profile: each has its own targets, rate, types and counts.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "agent/sampling/sampling_session.h"
#include "kernel/wall_clock.h"
#include "reporter/proto/profiles_service.pb.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {
namespace {

using opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;

constexpr int kTurnMs = 20;
constexpr uint64_t kNsPerMs = 1'000'000;

// A process that spins, alone or as another user.
class Spinner {
 public:
  explicit Spinner(uid_t uid = 0) : pid_(fork()) {
    if (pid_ != 0) return;
    if (uid != 0 && setresuid(uid, uid, uid) != 0) _exit(1);
    for (volatile uint64_t i = 0;; i = i + 1) continue;
  }
  ~Spinner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // As the kernel has counted it so far.
  double CpuSeconds() const {
    std::ifstream file(fmt::format("/proc/{}/schedstat", pid_));
    double ns = 0;
    file >> ns;
    return ns / 1e9;
  }

 private:
  const pid_t pid_;
};

// What the batches of one capture hold.
struct Held {
  std::map<int64_t, uint64_t> on_cpu;  // Samples by process.
  std::set<std::string> types;
  uint64_t samples = 0, lost = 0;
  std::string capture_name, service_name;

  void Take(const SealedBatchPtr& batch) {
    samples += batch->samples - batch->lost_samples;
    lost += batch->lost_samples;
    ExportProfilesServiceRequest request;
    ASSERT_TRUE(request.ParseFromString(batch->bytes));
    const auto& strings = request.dictionary().string_table();
    for (const auto& resource : request.resource_profiles()) {
      int64_t pid = 0;
      for (const auto& attribute : resource.resource().attributes()) {
        if (attribute.key() == "process.pid") pid = attribute.value().int_value();
        if (attribute.key() == "stackray.capture.name")
          capture_name = attribute.value().string_value();
        if (attribute.key() == "service.name" && pid != 0)
          service_name = attribute.value().string_value();
      }
      for (const auto& profile : resource.scope_profiles(0).profiles()) {
        const std::string& type = strings.at(profile.sample_type().type_strindex());
        types.insert(type);
        if (type != "samples") continue;
        for (const auto& sample : profile.samples())
          on_cpu[pid] +=
              static_cast<uint64_t>(sample.timestamps_unix_nano_size() != 0
                                        ? sample.timestamps_unix_nano_size()
                                        : (sample.values_size() != 0 ? sample.values(0) : 0));
      }
    }
  }
};

class Captures : public testing::Test {
 protected:
  void StartSession(double frequency_hz, uint32_t target_pids = 1024) {
    SessionSettings settings;
    settings.sampler.frequency_hz = frequency_hz;
    settings.sampler.target_pids = target_pids;
    settings.loop.batch.frequency_hz = frequency_hz;
    absl::StatusOr<std::unique_ptr<SamplingSession>> session = SamplingSession::Create(
        std::move(settings), [this](const SealedBatchPtr& batch) { own_.Take(batch); });
    if (absl::IsFailedPrecondition(session.status())) GTEST_SKIP() << session.status().message();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    session_->sampler().targets().AddHost(0);
    ASSERT_TRUE(session_->Start().ok());
  }
  int StartCapture(const CaptureOptions& options, Held* held) {
    const absl::StatusOr<int> number =
        session_->StartCapture(options, [held](const SealedBatchPtr& batch) { held->Take(batch); });
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(0);
  }
  void RunFor(uint64_t ms) {
    const uint64_t end = BootTimeNs() + ms * kNsPerMs;
    while (BootTimeNs() < end) session_->Turn(kTurnMs);
  }

  Held own_;
  std::unique_ptr<SamplingSession> session_;
};

TargetSettings OfPid(uint32_t pid) { return {.kind = TargetKind::kPids, .pids = {pid}}; }

// A cgroup of the test's own in one of the host's hierarchies; "" where none can be made.
class Cgroup {
 public:
  explicit Cgroup(const std::string& name) {
    for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                                    "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids"}) {
      if (!std::filesystem::exists(mount + "/cgroup.procs")) continue;
      const std::string path = fmt::format("{}/stackray_{}_{}", mount, name, getpid());
      std::error_code error;
      if (std::filesystem::create_directory(path, error)) mount_ = mount, path_ = path;
      if (!path_.empty()) return;
    }
  }
  // Who is still in it goes to the root.
  ~Cgroup() {
    if (path_.empty()) return;
    std::ifstream file(path_ + "/cgroup.procs");
    for (pid_t pid = 0; file >> pid;) std::ofstream(mount_ + "/cgroup.procs") << pid << std::flush;
    for (int i = 0; i < 100 && rmdir(path_.c_str()) != 0; ++i) usleep(10'000);
  }
  Cgroup(const Cgroup&) = delete;
  const std::string& path() const { return path_; }
  void Add(uint32_t pid) const { std::ofstream(path_ + "/cgroup.procs") << pid << std::flush; }
  void Remove(uint32_t pid) const { std::ofstream(mount_ + "/cgroup.procs") << pid << std::flush; }

 private:
  std::string mount_, path_;
};

// A program that spins, with its own environment.
class SpinningProgram {
 public:
  explicit SpinningProgram(const std::string& environment) : pid_(fork()) {
    if (pid_ != 0) return;
    std::string variable = environment;
    const char* const arguments[] = {"/bin/sh", "-c", "while :; do :; done", nullptr};
    char* const variables[] = {variable.data(), nullptr};
    execve(arguments[0], const_cast<char* const*>(arguments), variables);
    _exit(1);
  }
  ~SpinningProgram() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  SpinningProgram(const SpinningProgram&) = delete;
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  const pid_t pid_;
};

// Samples of a process that ran for `seconds`, within 2 % or three standard deviations.
void ExpectSamples(uint64_t samples, double seconds, double hz, const std::string& what) {
  const double expected = seconds * hz;
  Measured(fmt::format("{}: {} samples of {:.0f} expected", what, samples, expected));
  EXPECT_NEAR(static_cast<double>(samples), expected,
              std::max(0.02 * expected, 3 * std::sqrt(expected)) + 1)
      << what;
}

void ExpectWhole(const CaptureCounts& counts, const Held& held) {
  EXPECT_EQ(counts.in_flight, 0u);
  EXPECT_EQ(counts.produced, held.samples + counts.lost());
  EXPECT_EQ(held.lost, counts.lost());
}

TEST_F(Captures, EachHasItsOwnTargetsRateAndCounts) {
  StartSession(97);
  if (IsSkipped()) return;
  const Spinner wanted, user(12345), stranger;
  Held of_pid, of_user, of_none;
  const int pid_capture =
      StartCapture({.name = "one", .targets = {OfPid(wanted.pid())}, .frequency_hz = 499}, &of_pid);
  const int user_capture = StartCapture(
      {.name = "two", .targets = {{.kind = TargetKind::kUser, .uid = 12345}}, .frequency_hz = 211},
      &of_user);
  const int none =
      StartCapture({.name = "none",
                    .targets = {{.kind = TargetKind::kCommandName, .command_name = "no-such-name"}},
                    .frequency_hz = 499},
                   &of_none);
  const double wanted_before = wanted.CpuSeconds(), user_before = user.CpuSeconds();
  RunFor(2500);
  const double wanted_ran = wanted.CpuSeconds() - wanted_before;
  const double user_ran = user.CpuSeconds() - user_before;
  const CaptureCounts pid_counts = session_->EndCapture(pid_capture);
  const CaptureCounts user_counts = session_->EndCapture(user_capture);
  const CaptureCounts no_counts = session_->EndCapture(none);
  session_->Stop();
  ExpectSamples(of_pid.on_cpu[wanted.pid()], wanted_ran, 499, "process");
  ExpectSamples(of_user.on_cpu[user.pid()], user_ran, 211, "user");
  EXPECT_EQ(of_pid.on_cpu.size(), 1u);
  EXPECT_EQ(of_user.on_cpu.size(), 1u);
  EXPECT_EQ(of_none.samples, 0u);
  EXPECT_EQ(of_pid.capture_name, "one");
  EXPECT_EQ(own_.capture_name, "");
  EXPECT_EQ(own_.on_cpu.count(stranger.pid()), 1u);
  ExpectWhole(pid_counts, of_pid);
  ExpectWhole(user_counts, of_user);
  ExpectWhole(no_counts, of_none);
}

// The session's own profile has the samples that it would have without captures.
TEST_F(Captures, LeaveTheOwnProfileAsItIs) {
  StartSession(211);
  if (IsSkipped()) return;
  const Spinner spinner;
  Held held;
  const double before = spinner.CpuSeconds();
  const int capture = StartCapture(
      {.name = "all", .targets = {{.kind = TargetKind::kWholeHost}}, .frequency_hz = 997}, &held);
  RunFor(2000);
  session_->EndCapture(capture);
  session_->Seal();
  const double ran = spinner.CpuSeconds() - before;
  session_->Stop();
  ExpectSamples(own_.on_cpu[spinner.pid()], ran, 211, "own profile");
  const SessionCounts counts = session_->Counts();
  EXPECT_EQ(counts.produced, own_.samples + counts.lost());
}

TEST_F(Captures, DescendantsAreInFromTheirFork) {
  StartSession(1);
  if (IsSkipped()) return;
  Held held;
  const int capture = StartCapture(
      {.name = "tree", .targets = {OfPid(static_cast<uint32_t>(getpid()))}, .frequency_hz = 997},
      &held);
  double ran = 0;
  {
    const Spinner child;
    RunFor(1000);
    ran = child.CpuSeconds();
    session_->EndCapture(capture);
    ExpectSamples(held.on_cpu[child.pid()], ran, 997, "child");
  }
  session_->Stop();
}

// What a css_set wants is remembered; a move makes that forgotten.
TEST_F(Captures, MovesBetweenCgroupsAreFollowed) {
  const Cgroup cgroup("moves");
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
  StartSession(1);
  if (IsSkipped()) return;
  const Spinner moved, stranger;
  Held held;
  const int capture =
      StartCapture({.name = "cgroup",
                    .targets = {{.kind = TargetKind::kCgroup, .cgroup_path = cgroup.path()}},
                    .frequency_hz = 499},
                   &held);
  RunFor(300);
  EXPECT_EQ(session_->captures().Counts(capture).produced, 0u);
  double ran = 0;
  for (int i = 0; i < 3; ++i) {
    const double before = moved.CpuSeconds();
    cgroup.Add(moved.pid());
    RunFor(400);
    cgroup.Remove(moved.pid());
    ran += moved.CpuSeconds() - before;
    const uint64_t produced = session_->captures().Counts(capture).produced;
    RunFor(200);
    EXPECT_LE(session_->captures().Counts(capture).produced, produced + 2);
  }
  const CaptureCounts counts = session_->EndCapture(capture);
  session_->Stop();
  ExpectSamples(held.on_cpu[moved.pid()], ran, 499, "moved");
  EXPECT_FALSE(held.on_cpu.contains(stranger.pid()));
  ExpectWhole(counts, held);
}

// Programs that begin later are in by their command's name at once, and by their service's name
// within a second of it being known.
TEST_F(Captures, ServicesAndCommandsThatBeginLater) {
  StartSession(97);
  if (IsSkipped()) return;
  Held by_service, by_command;
  const std::vector<int> captures = {
      StartCapture({.name = "service",
                    .targets = {{.kind = TargetKind::kService, .service_name = "orders-test"}},
                    .frequency_hz = 199},
                   &by_service),
      StartCapture({.name = "command",
                    .targets = {{.kind = TargetKind::kCommandName, .command_name = "sh"}},
                    .frequency_hz = 199},
                   &by_command)};
  const SpinningProgram service("OTEL_SERVICE_NAME=orders-test"), other("OTEL_SERVICE_NAME=else");
  RunFor(2500);
  std::vector<CaptureCounts> counts;
  for (const int capture : captures) counts.push_back(session_->EndCapture(capture));
  session_->Stop();
  EXPECT_GT(by_service.on_cpu[service.pid()], 20u);
  EXPECT_FALSE(by_service.on_cpu.contains(other.pid()));
  EXPECT_GT(by_command.on_cpu[service.pid()], 40u);
  EXPECT_GT(by_command.on_cpu[other.pid()], 40u);
  ExpectWhole(counts[0], by_service);
  ExpectWhole(counts[1], by_command);
}

// One of a process with its waits, one of a cgroup and one of a user, beside the own profile. As a
// proof for STACKRAY_CAPTURE_SECONDS.
TEST_F(Captures, ThreeBesideTheOwnProfile) {
  const Cgroup cgroup("three");
  if (cgroup.path().empty()) GTEST_SKIP() << "no cgroup can be made here";
  const char* const seconds = std::getenv("STACKRAY_CAPTURE_SECONDS");
  StartSession(97);
  if (IsSkipped()) return;
  const Spinner process, in_cgroup, user(12345), stranger;
  cgroup.Add(in_cgroup.pid());
  Held of_process, of_cgroup, of_user;
  const std::vector<int> captures = {
      StartCapture({.name = "process",
                    .targets = {OfPid(process.pid())},
                    .types = {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu},
                    .frequency_hz = 499},
                   &of_process),
      StartCapture({.name = "cgroup",
                    .targets = {{.kind = TargetKind::kCgroup, .cgroup_path = cgroup.path()}},
                    .frequency_hz = 997},
                   &of_cgroup),
      StartCapture({.name = "user",
                    .targets = {{.kind = TargetKind::kUser, .uid = 12345}},
                    .frequency_hz = 99},
                   &of_user)};
  const auto ran = [&] {
    return std::array{process.CpuSeconds(), in_cgroup.CpuSeconds(), user.CpuSeconds(),
                      stranger.CpuSeconds()};
  };
  const auto before = ran();
  session_->Seal();
  own_ = {};
  RunFor(seconds != nullptr ? static_cast<uint64_t>(std::atoi(seconds)) * 1000 : 2000);
  auto after = ran();
  session_->Seal();
  const Held own = own_;
  std::vector<CaptureCounts> counts;
  for (const int capture : captures) counts.push_back(session_->EndCapture(capture));
  session_->Stop();
  for (size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
  ExpectSamples(of_process.on_cpu[process.pid()], after[0], 499, "process");
  ExpectSamples(of_cgroup.on_cpu[in_cgroup.pid()], after[1], 997, "cgroup");
  ExpectSamples(of_user.on_cpu[user.pid()], after[2], 99, "user");
  for (Held* const held : {&of_process, &of_cgroup, &of_user}) {
    held->on_cpu.erase(0);  // Markers of the host.
    EXPECT_EQ(held->on_cpu.size(), 1u);
  }
  const std::array pids = {process.pid(), in_cgroup.pid(), user.pid(), stranger.pid()};
  for (size_t i = 0; i < pids.size(); ++i) {
    const auto found = own.on_cpu.find(pids[i]);
    ExpectSamples(found == own.on_cpu.end() ? 0 : found->second, after[i], 97, "own profile");
  }
  ExpectWhole(counts[0], of_process);
  ExpectWhole(counts[1], of_cgroup);
  ExpectWhole(counts[2], of_user);
}

TEST_F(Captures, WaitsOfACaptureAreItsOwn) {
  StartSession(97);
  if (IsSkipped()) return;
  const Spinner spinner, rival;
  Held held;
  const int capture = StartCapture({.name = "waits",
                                    .targets = {OfPid(spinner.pid())},
                                    .types = {SampleOrigin::kCpuClock, SampleOrigin::kOffCpu},
                                    .frequency_hz = 499},
                                   &held);
  RunFor(1500);
  const CaptureCounts counts = session_->EndCapture(capture);
  session_->Stop();
  EXPECT_TRUE(held.types.contains("off_cpu") || held.types.contains("samples"));
  EXPECT_FALSE(own_.types.contains("off_cpu"));
  ExpectWhole(counts, held);
}

TEST_F(Captures, AtTheirBudgetTheRestIsCountedAndNothingElseSuffers) {
  StartSession(211);
  if (IsSkipped()) return;
  session_->sampler().SetCaptureBudget(100);
  const Spinner spinner;
  Held held;
  const double before = spinner.CpuSeconds();
  const int capture = StartCapture(
      {.name = "greedy", .targets = {{.kind = TargetKind::kWholeHost}}, .frequency_hz = 4999},
      &held);
  const uint64_t start = BootTimeNs();
  RunFor(2000);
  const double seconds = static_cast<double>(BootTimeNs() - start) / 1e9;
  const CaptureCounts counts = session_->EndCapture(capture);
  session_->Seal();
  const double ran = spinner.CpuSeconds() - before;
  session_->Stop();
  const double cpus = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GT(counts.over_budget, counts.produced / 2);
  // The bound, and what may come at once at the start (100 ms of it) on each CPU.
  EXPECT_LE(static_cast<double>(held.samples), cpus * 100 * (seconds + 0.3));
  ExpectWhole(counts, held);
  ExpectSamples(own_.on_cpu[spinner.pid()], ran, 211, "own profile");
}

TEST_F(Captures, ChangedRatesKeepTheirWeight) {
  StartSession(1);
  if (IsSkipped()) return;
  const Spinner spinner;
  Held held;
  const int capture = StartCapture(
      {.name = "changing", .targets = {OfPid(spinner.pid())}, .frequency_hz = 997}, &held);
  const double before = spinner.CpuSeconds();
  RunFor(1000);
  const double first = spinner.CpuSeconds() - before;
  ASSERT_TRUE(session_->captures().SetFrequency(capture, 97).ok());
  RunFor(1500);
  const double second = spinner.CpuSeconds() - before - first;
  const CaptureCounts counts = session_->EndCapture(capture);
  session_->Stop();
  ExpectSamples(held.on_cpu[spinner.pid()], 1, first * 997 + second * 97, "both rates");
  ExpectWhole(counts, held);
}

TEST_F(Captures, FifteenRunAndOneMoreIsRefused) {
  StartSession(1);
  if (IsSkipped()) return;
  std::vector<Held> held(16);
  std::vector<int> numbers;
  const CaptureOptions options{
      .name = "x", .targets = {{.kind = TargetKind::kWholeHost}}, .frequency_hz = 11};
  for (size_t i = 0; i < 15; ++i) numbers.push_back(StartCapture(options, &held[i]));
  const absl::StatusOr<int> refused = session_->StartCapture(options, [](const SealedBatchPtr&) {});
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  for (const int number : numbers) session_->EndCapture(number);
  EXPECT_TRUE(session_->captures().empty());
  // Fourteen rates have a clock each; one more does not.
  numbers.clear();
  for (int i = 0; i < 14; ++i) {
    CaptureOptions other = options;
    other.frequency_hz = 11 + i;
    numbers.push_back(StartCapture(other, &held[static_cast<size_t>(i)]));
  }
  CaptureOptions fifteenth = options;
  fifteenth.frequency_hz = 97;
  EXPECT_TRUE(absl::IsResourceExhausted(
      session_->StartCapture(fifteenth, [](const SealedBatchPtr&) {}).status()));
  for (const int number : numbers) session_->EndCapture(number);
  session_->Stop();
}

}  // namespace
}  // namespace stackray::test
