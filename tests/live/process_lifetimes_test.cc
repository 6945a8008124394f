// The table of processes over time: what was there before the start, what is lost and found again,
// and where a process runs. /proc, read by this test while the processes live, is the oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "kernel/cgroup_path.h"
#include "kernel/process_info.h"
#include "kernel/process_iterator.h"
#include "kernel/wall_clock.h"
#include "tests/live/process_run.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr int kTimeoutMs = 20'000;

struct Listed {
  std::string command, path;
  CgroupFacts cgroup;
  uint64_t start_time_ns = 0;
  bool is_kernel_thread = false;
};

absl::StatusOr<std::map<uint32_t, Listed>> List(ProcessIterator& iterator) {
  std::map<uint32_t, Listed> all;
  absl::Status status = iterator.Read([&](std::span<const uint8_t> bytes) {
    const absl::StatusOr<Record> record = DecodeRecord(bytes);
    ASSERT_TRUE(record.ok()) << record.status();
    const ProcessEvent& event = std::get<ProcessEvent>(*record);
    const process_record& fixed = *event.record;
    all[fixed.process.pid] = {
        .command = std::string(CommandText(fixed.leader_command)),
        .path = PathOf(event.executable),
        .cgroup = ChooseCgroup(event.cgroup.empty() ? "/" : PathOf(event.cgroup),
                               PathOf(event.cgroup_v1)),
        .start_time_ns = fixed.process.start_time_ns,
        .is_kernel_thread = (fixed.flags & PROCESS_KERNEL_THREAD) != 0};
  });
  if (!status.ok()) return status;
  return all;
}

// By /proc, in ticks of 10 ms: rounded up, so that what was there is never taken for younger.
uint64_t StartTimeOf(uint32_t pid) {
  const std::string stat = ReadText(fmt::format("/proc/{}/stat", pid));
  const size_t close = stat.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream fields(stat.substr(close + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10) * 10'000'000 + 10'000'000;
}

double CpuMs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Children that wait for a signal, ended with this.
class Sleepers {
 public:
  Sleepers(int count, const std::string& program) {
    for (int i = 0; i < count; ++i) pids_.push_back(StartProgram({program, "1000"}));
  }
  ~Sleepers() { End(); }
  void End() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) Reap(pid);
    pids_.clear();
  }
  const std::vector<pid_t>& pids() const { return pids_; }

 private:
  std::vector<pid_t> pids_;
};

TEST(ProcessIterator, SaysWhatProcSays) {
  absl::StatusOr<std::unique_ptr<ProcessIterator>> iterator = ProcessIterator::Create();
  if (!iterator.ok()) GTEST_SKIP() << iterator.status();
  const TemporaryDirectory directory;
  const std::string odd = directory.File("a name; with\xff bytes");
  std::filesystem::copy_file("/bin/sleep", odd);
  Sleepers sleepers(20, "/bin/sleep"), odd_ones(1, odd);
  const pid_t zombie = ForkBurning(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT);
  const pid_t headless = StartProgram({ProgramPath("process_cases"), "leader", "60000"});
  while (StatusLine(headless, "State").find('Z') == std::string::npos) usleep(1000);
  for (const pid_t pid : {sleepers.pids().back(), odd_ones.pids().back()})
    while (ReadText(fmt::format("/proc/{}/comm", pid)) == OwnCommand()) usleep(1000);
  std::filesystem::remove(odd);  // Its path stays what it was.

  const uint64_t listed_at_ns = BootTimeNs();
  const absl::StatusOr<std::map<uint32_t, Listed>> all = List(**iterator);
  ASSERT_TRUE(all.ok()) << all.status();
  int compared = 0, kernel_threads = 0;
  for (const auto& [pid, listed] : *all) {
    const ProcessId id{.pid = pid, .start_time_ns = listed.start_time_ns};
    const std::string comm = ReadText(fmt::format("/proc/{}/comm", pid));
    const std::optional<ProcProcess> proc = ReadProcProcess(id);
    if (!proc || comm != listed.command || pid == static_cast<uint32_t>(headless)) continue;
    ++compared;
    kernel_threads += listed.is_kernel_thread;
    EXPECT_EQ(listed.path, proc->executable_path) << pid;
    EXPECT_EQ(listed.cgroup.path, ReadProcCgroup(proc->cgroup_text).path) << proc->cgroup_text;
    EXPECT_EQ(listed.is_kernel_thread, StatusLine(static_cast<pid_t>(pid), "VmSize").empty())
        << pid;
  }
  EXPECT_EQ(all->at(static_cast<uint32_t>(odd_ones.pids()[0])).path, odd);
  EXPECT_EQ(all->at(static_cast<uint32_t>(headless)).command, "leader-gone");
  EXPECT_FALSE(all->contains(static_cast<uint32_t>(zombie)));
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    const auto pid = static_cast<uint32_t>(std::atoi(name.c_str()));
    if (pid == 0 || !HasExecutable(pid) || all->contains(pid)) continue;
    // Born since, or ended.
    EXPECT_TRUE(!HasExecutable(pid) || StartTimeOf(pid) > listed_at_ns) << name;
  }
  Measured(fmt::format("iterator: {} processes, {} compared with /proc, {} of them kernel threads",
                       all->size(), compared, kernel_threads));
  EXPECT_GT(compared, 20);
  kill(headless, SIGKILL);
  Reap(headless);
  Reap(zombie);
}

TEST(ProcessIterator, CostsLittleAtTheStart) {
  Sleepers sleepers(300, "/bin/sleep");
  const double before = CpuMs();
  absl::StatusOr<std::unique_ptr<ProcessIterator>> iterator = ProcessIterator::Create();
  if (!iterator.ok()) GTEST_SKIP() << iterator.status();
  const double created = CpuMs();
  size_t bytes = 0, count = 0;
  ASSERT_TRUE((*iterator)->Read([&](auto record) { bytes += record.size(), ++count; }).ok());
  const double read = CpuMs();
  Measured(fmt::format("iterator: loaded in {:.1f} ms of CPU, {} processes in {:.2f} ms, {} bytes",
                       created - before, count, read - created, bytes));
  EXPECT_GE(count, 300u);
}

// The exits of many processes and the birth of one are lost; the list tells of both.
TEST(ProcessLifetimes, LostEventsAreMadeUpFor) {
  absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(4999, 16 << 10);
  if (!run.ok()) GTEST_SKIP() << run.status();
  SamplingSession& session = (*run)->session();
  Sleepers sleepers(150, "/bin/sleep");
  session.Turn(0);
  const size_t with_sleepers = session.loop().processes();
  const auto lost = [&] { return session.sampler().Counters().value[COUNT_EVENT_RING_FULL]; };
  // Nobody reads the ring until it is full.
  for (int i = 0; i < 2'000 && lost() == 0; ++i) Reap(ForkBurning(2));
  ASSERT_GT(lost(), 0u);
  const pid_t born = StartProgram({ProgramPath("process_cases"), "burn", "60000"});
  sleepers.End();
  const uint64_t lost_events = lost();
  const auto is_reconciled = [&] { return session.loop().processes() + 140 < with_sleepers; };
  EXPECT_TRUE((*run)->Until(kTimeoutMs, is_reconciled)) << session.loop().processes();
  const uint64_t enough = session.loop().counts().samples + 20;
  EXPECT_TRUE((*run)->Until(kTimeoutMs, [&] { return session.loop().counts().samples >= enough; }));
  (*run)->Seal();
  const std::vector<SeenProcess> seen = (*run)->Of(born);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().path, ProgramPath("process_cases"));
  Measured(fmt::format("{} events lost: {} processes known before, {} after the list", lost_events,
                       with_sleepers, session.loop().processes()));
  kill(born, SIGKILL);
  Reap(born);
}

// 1,000 processes come and go; the table does not remember them.
TEST(ProcessLifetimes, TheTableDoesNotGrow) {
  absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(99);
  if (!run.ok()) GTEST_SKIP() << run.status();
  SamplingSession& session = (*run)->session();
  session.Turn(0);
  const size_t before = session.loop().processes();
  size_t peak = 0;
  for (int i = 0; i < 1'000; ++i) {
    Reap(ForkBurning(0));
    if (i % 100 != 0) continue;
    (*run)->Seal();
    peak = std::max(peak, session.loop().processes());
  }
  // What ended goes a second later, by the records' time: a last process tells the time.
  usleep(1'100'000);
  Reap(ForkBurning(0));
  (*run)->Seal();
  Measured(fmt::format("1,000 processes: {} in the table before, {} at most, {} after", before,
                       peak, session.loop().processes()));
  EXPECT_LE(session.loop().processes(), before + 2);
}

TEST(ProcessLifetimes, TheEnvironmentNamesTheService) {
  absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(999);
  if (!run.ok()) GTEST_SKIP() << run.status();
  const pid_t child = StartProgram(
      {ProgramPath("process_cases"), "burn", "60000"},
      {"OTEL_SERVICE_NAME=checkout", "SECRET=never-to-be-seen",
       "OTEL_RESOURCE_ATTRIBUTES=service.name=other,service.version=1%2C5,deployment=caf%C3%A9"});
  SamplingSession& session = (*run)->session();
  EXPECT_TRUE((*run)->Until(kTimeoutMs, [&] { return session.loop().counts().samples > 50; }));
  (*run)->Seal();
  kill(child, SIGKILL);
  Reap(child);
  const std::vector<SeenProcess> seen = (*run)->Of(child);
  const auto in_its_image = std::find_if(seen.begin(), seen.end(), [](const SeenProcess& process) {
    return process.command == "process_cases";
  });
  ASSERT_NE(in_its_image, seen.end());
  EXPECT_EQ(in_its_image->service_name, "checkout");
  EXPECT_EQ(in_its_image->resource.Find("service.version"), "1,5");
  EXPECT_EQ(in_its_image->resource.Find("deployment"), "caf\u00e9");
  for (const auto& [key, value] : in_its_image->resource.attributes)
    EXPECT_EQ(value.find("never-to-be-seen"), std::string::npos) << key;
}

// Mount points of cgroup v2 and of one v1 controller that has no domain of its own; "" where
// missing.
std::string CgroupMount(const std::string& type, const std::string& option) {
  std::ifstream mounts("/proc/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device, at, its_type, options;
    fields >> device >> at >> its_type >> options;
    if (its_type == type && ("," + options + ",").find("," + option + ",") != std::string::npos)
      return at;
  }
  return "";
}

class CgroupOfProcess : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// In the container from before its exec on, and another that is moved in while it runs.
TEST_P(CgroupOfProcess, NamesItsContainer) {
  const std::string mount = CgroupMount(GetParam().first, GetParam().second);
  if (mount.empty()) GTEST_SKIP() << "no such hierarchy here";
  const std::string id = fmt::format("{:064x}", getpid());
  // Deep enough to be the deepest of v1's hierarchies wherever the test itself was put.
  const std::string parent = fmt::format("{}/stackray_test_{}.slice", mount, getpid()),
                    deep = parent + "/a/b", scope = fmt::format("{}/docker-{}.scope", deep, id);
  std::error_code error;
  if (!std::filesystem::create_directories(scope, error))
    GTEST_SKIP() << "no cgroup can be made in " << mount;
  const auto move = [&](pid_t pid) { std::ofstream(scope + "/cgroup.procs") << pid << std::flush; };
  absl::StatusOr<std::unique_ptr<ProcessRun>> run = ProcessRun::Start(999);
  if (run.ok()) {
    const std::vector<std::string> program = {ProgramPath("process_cases"), "burn", "40"};
    const pid_t born = ForkBurning(0, [&] {
      move(getpid());
      Exec(program);
    });
    Reap(born);
    const pid_t moved = ForkBurning(60'000);
    SamplingSession& session = (*run)->session();
    const auto more_samples = [&] {
      const uint64_t enough = session.loop().counts().samples + 50;
      EXPECT_TRUE(
          (*run)->Until(kTimeoutMs, [&] { return session.loop().counts().samples > enough; }));
      (*run)->Seal();
    };
    more_samples();
    move(moved);
    more_samples();
    more_samples();
    kill(moved, SIGKILL);
    Reap(moved);
    for (const SeenProcess& process : (*run)->Of(born)) {
      if (process.command != "process_cases") continue;
      EXPECT_EQ(process.container_id, id);
      EXPECT_EQ(process.resource.Find("process.linux.cgroup"), scope.substr(mount.size()));
    }
    const std::vector<SeenProcess> seen = (*run)->Of(moved);
    ASSERT_GE(seen.size(), 2u);
    EXPECT_EQ(seen.front().container_id, "");
    EXPECT_EQ(seen.back().container_id, id);
  }
  for (int i = 0; i < 100 && rmdir(scope.c_str()) != 0; ++i) usleep(10'000);
  for (const std::string& empty : {deep, parent + "/a", parent}) rmdir(empty.c_str());
  if (!run.ok()) GTEST_SKIP() << run.status();
}

INSTANTIATE_TEST_SUITE_P(Hierarchies, CgroupOfProcess,
                         testing::Values(std::pair{"cgroup2", "rw"}, std::pair{"cgroup", "pids"}),
                         [](const auto& tested) { return std::string(tested.param.first); });

}  // namespace
}  // namespace stackray::test
