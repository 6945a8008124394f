#include "tests/live/process_run.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernel/wall_clock.h"

namespace stackray::test {
namespace {

volatile uint64_t g_sink = 1;
constexpr int kTurnMs = 20;

}  // namespace

extern "C" __attribute__((noinline)) void ChildBurn(double ms) {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  const double start =
      static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  double now = start;
  while (now - start < ms) {
    for (int i = 0; i < 1000; ++i) g_sink = g_sink * 6364136223846793005ULL + (g_sink >> 33);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    now = static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
}

absl::StatusOr<std::unique_ptr<ProcessRun>> ProcessRun::Start(double frequency_hz,
                                                              uint32_t ring_bytes) {
  std::unique_ptr<ProcessRun> run(new ProcessRun());
  SessionSettings settings;
  settings.sampler.frequency_hz = frequency_hz;
  settings.sampler.target_pids = kMostTargetPids;
  settings.sampler.sample_ring_bytes = ring_bytes;
  settings.loop.batch.frequency_hz = frequency_hz;
  ProcessRun* const at = run.get();
  absl::StatusOr<std::unique_ptr<SamplingSession>> session =
      SamplingSession::Create(settings, [at](const SealedBatchPtr& sealed) {
        if (const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed->bytes); batch.ok())
          at->Keep(*batch);
      });
  if (!session.ok()) return session.status();
  run->session_ = *std::move(session);
  const uint32_t self[] = {static_cast<uint32_t>(getpid())};
  if (absl::Status status = run->session_->sampler().targets().AddPids(0, self, true); !status.ok())
    return status;
  if (absl::Status status = run->session_->Start(); !status.ok()) return status;
  return run;
}

ProcessRun::~ProcessRun() {
  if (session_ != nullptr) session_->Stop();
}

void ProcessRun::Seal() {
  session_->Turn(0);
  session_->Seal();
}

bool ProcessRun::Until(int timeout_ms, const std::function<bool()>& done) {
  const uint64_t end = BootTimeNs() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  while (!done()) {
    if (BootTimeNs() > end) return false;
    session_->Turn(kTurnMs);
  }
  return true;
}

void ProcessRun::Keep(const DecodedBatch& batch) {
  const size_t first = seen_.size();
  for (const DecodedResource& resource : batch.resources)
    seen_.push_back({.batch = batches_,
                     .pid = resource.Find("process.pid"),
                     .command = resource.Find("process.command"),
                     .path = resource.Find("process.executable.path"),
                     .name = resource.Find("process.executable.name"),
                     .created = resource.Find("process.creation.time"),
                     .container_id = resource.Find("container.id"),
                     .service_name = resource.Find("service.name"),
                     .resource = resource});
  ++batches_;
  for (const DecodedSample& sample : batch.samples) {
    SeenProcess& process = seen_[first + static_cast<size_t>(sample.resource)];
    process.samples += sample.count;
    process.thread_names.insert(sample.thread_name);
    for (int32_t index : sample.frames)
      for (const DecodedLine& line : batch.frames[static_cast<size_t>(index)].lines)
        process.functions.insert(line.function);
  }
}

std::vector<SeenProcess> ProcessRun::Of(pid_t pid) const {
  std::vector<SeenProcess> processes;
  for (const SeenProcess& process : seen_)
    if (process.pid == std::to_string(pid)) processes.push_back(process);
  return processes;
}

pid_t ForkBurning(double ms, const std::function<void()>& then) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ChildBurn(ms);
  then();
  _exit(0);
}

void Exec(const std::vector<std::string>& argv, const std::vector<std::string>& environment) {
  std::vector<char*> words, variables;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& variable : environment)
    variables.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  words.push_back(nullptr);
  variables.push_back(nullptr);
  execve(words[0], words.data(), variables.data());
}

pid_t StartProgram(const std::vector<std::string>& argv,
                   const std::vector<std::string>& environment) {
  return ForkBurning(0, [&] { Exec(argv, environment); });
}

void Reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::string OwnPath() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
std::string OwnCommand() { return ReadText("/proc/self/comm"); }

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string StatusLine(pid_t pid, const std::string& key) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return line.substr(key.size() + 1);
  return "";
}

}  // namespace stackray::test
