#include "agent/privileges/collector_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/privileges/collector_cgroups.h"
#include "agent/privileges/collector_family.h"
#include "agent/privileges/collector_target.h"
#include "agent/privileges/sealed_program.h"
#include "agent/privileges/target_entry.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 20;
constexpr int kLowestPriority = 19, kLastOomScore = 1000;
constexpr int kIoprioWhoProcess = 1, kIoprioIdle = 3 << 13;  // include/uapi/linux/ioprio.h.
constexpr rlim_t kMostFiles = 256;
constexpr char kPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int kMostErrno = 4095;

struct Pipe {
  UniqueFd read, write;
};
std::optional<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void SetLimit(int which, rlim_t most) {
  const rlimit limit = {most, most};
  setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

// Only what nobody else wants; the first to go where memory is short.
void GiveWay(const CollectorEntry& collector) {
  setpriority(PRIO_PROCESS, 0, kLowestPriority);
  syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioIdle);
  std::ofstream("/proc/self/oom_score_adj") << kLastOomScore;
  SetLimit(RLIMIT_CORE, 0);
  SetLimit(RLIMIT_NOFILE, kMostFiles);
  SetLimit(RLIMIT_FSIZE, collector.output_bytes);
  SetLimit(RLIMIT_CPU, static_cast<rlim_t>(collector.timeout_ms / 1000 + 1));
}

// The whole of it fits into a pipe, so nobody has to read meanwhile. The other end is closed: what
// the command reads there is the end of a file.
UniqueFd MakeOrder(const CollectorTarget& target) {
  TargetEntryOrder order = {.uid = target.user.uid, .gid = target.user.gid};
  order.group_count =
      static_cast<uint32_t>(std::min<size_t>(target.user.groups.size(), ENTRY_MOST_GROUPS));
  std::copy_n(target.user.groups.begin(), order.group_count, order.groups);
  order.namespace_count = static_cast<uint32_t>(target.namespaces.size());
  std::optional<Pipe> pipe = MakePipe();
  if (!pipe || write(pipe->write.get(), &order, sizeof(order)) != sizeof(order)) return UniqueFd();
  return std::move(pipe->read);
}

// What one run is made of, all of it there before its first process.
struct Launch {
  CollectorTarget target;
  UniqueFd program, order;
  Pipe text, report;
};

// `reply`: why there is none.
std::optional<Launch> MakeLaunch(CollectorTarget target, CollectorReply& reply) {
  UniqueFd program = MakeSealedProgram();
  reply = {.end = CollectorEnd::kNoProgram, .code = errno};
  if (!program.valid()) return std::nullopt;
  UniqueFd order = MakeOrder(target);
  std::optional<Pipe> text = MakePipe(), report = MakePipe();
  reply = {.end = CollectorEnd::kNotStarted, .code = errno};
  if (!order.valid() || !text || !report) return std::nullopt;
  return Launch{.target = std::move(target),
                .program = std::move(program),
                .order = std::move(order),
                .text = *std::move(text),
                .report = *std::move(report)};
}

// {pid} is the process's number in its own PID namespace.
std::vector<std::string> WordsOf(const CollectorEntry& collector, const ProcessUser& user) {
  const std::string number = fmt::format("{}", user.inner_pid);
  std::vector<std::string> words = {"stackray-enter"};
  for (std::string word : collector.exec) {
    for (size_t at; (at = word.find("{pid}")) != std::string::npos;) word.replace(at, 5, number);
    words.push_back(std::move(word));
  }
  return words;
}

// Puts the descriptors where target_entry.c has them, first out of each other's way. Returns the
// program's; -1: errno says why.
int PlaceDescriptors(const Launch& launch) {
  constexpr int kAbove = int{ENTRY_FD_FIRST_NAMESPACE} + int{ENTRY_MOST_NAMESPACES};
  std::vector<int> wanted = {launch.order.get(), launch.text.write.get(), launch.text.write.get(),
                             launch.report.write.get(), launch.target.root.get()};
  for (const UniqueFd& space : launch.target.namespaces) wanted.push_back(space.get());
  for (int& fd : wanted)
    if ((fd = fcntl(fd, F_DUPFD_CLOEXEC, kAbove)) < 0) return -1;
  const int program = fcntl(launch.program.get(), F_DUPFD_CLOEXEC, kAbove);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (dup2(wanted[i], static_cast<int>(i)) < 0) return -1;
  return program;
}

// In the child. What it holds of the agent, its memory too, ends with the exec, before anybody in
// the target's world sees it.
[[noreturn]] void Enter(const CollectorEntry& collector, const Launch& launch) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  setsid();
  std::vector<std::string> words = WordsOf(collector, launch.target.user);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const environment[] = {const_cast<char*>(kPath), const_cast<char*>("LANG=C.UTF-8"),
                               nullptr};
  TargetEntryReport failed = {.event = ENTRY_NOT_STARTED, .value = 0};
  if (launch.target.is_elsewhere && !JoinCgroups(launch.target.cgroups)) {
    failed = {.event = ENTRY_NO_CGROUP, .value = errno};
  } else {
    GiveWay(collector);
    if (const int program = PlaceDescriptors(launch); program >= 0)
      fexecve(program, arguments.data(), environment);
    failed.value = errno;
  }
  (void)!write(launch.report.write.get(), &failed, sizeof(failed));
  _exit(127);
}

// Within the collector's own time: a file system that does not answer holds an exec up.
CollectorReply WaitForStart(const CollectorEntry& collector, int report) {
  TargetEntryReport said = {};
  pollfd wait = {report, POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(collector.timeout_ms)) <= 0)
    return {.end = CollectorEnd::kNotStarted, .code = ETIMEDOUT};
  if (read(report, &said, sizeof(said)) != sizeof(said))
    return {.end = CollectorEnd::kNotStarted, .code = EIO};
  const int32_t code = said.value > 0 && said.value <= kMostErrno ? said.value : EIO;
  if (said.event == ENTRY_STARTED) return {.end = CollectorEnd::kExited};
  return {.end = said.event == ENTRY_NO_CGROUP ? CollectorEnd::kCgroup : CollectorEnd::kNotStarted,
          .code = code};
}

// Copies what comes until the command has ended, and says how it has.
class Watch {
 public:
  // `report` and `from` do not block.
  Watch(const CollectorEntry& collector, const CollectorFamily& family, int report, int from,
        int to)
      : collector_(collector),
        family_(family),
        report_(report),
        from_(from),
        to_(to),
        end_(Clock::now() + std::chrono::milliseconds(collector.timeout_ms)) {}

  CollectorReply Run() {
    CollectorReply reply;
    while (!HasEnded(reply)) {
      pollfd wait = {from_, POLLIN, 0};
      poll(&wait, 1, kLookMs);
      if (wait.revents != 0 && !Copy()) usleep(kLookMs * 1000);  // Its end has not been seen yet.
    }
    family_.KillAll();
    while (bytes_ < collector_.output_bytes && Copy()) continue;  // Of those that are gone.
    reply.bytes = bytes_;
    return reply;
  }

 private:
  // The end of the report: somebody in the target's world has killed who reports.
  bool HasReported(CollectorReply& reply) const {
    TargetEntryReport said = {};
    const ssize_t got = read(report_, &said, sizeof(said));
    if (got < 0) return false;
    const bool has_said = got == sizeof(said) && said.event == ENTRY_ENDED;
    const int status = has_said ? said.value : SIGKILL;
    reply.end = WIFEXITED(status) ? CollectorEnd::kExited : CollectorEnd::kSignal;
    reply.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    return true;
  }

  bool HasEnded(CollectorReply& reply) {
    if (HasReported(reply)) return true;
    if (bytes_ >= collector_.output_bytes) {
      reply.end = CollectorEnd::kOutput;
    } else if (Clock::now() >= end_) {
      reply.end = CollectorEnd::kDeadline;
    } else if (family_.ResidentBytes() > collector_.memory_bytes) {
      reply.end = CollectorEnd::kMemory;
    } else {
      return false;
    }
    return true;
  }

  // False: there is nothing more now.
  bool Copy() {
    char part[1 << 16];
    const uint64_t room = collector_.output_bytes - bytes_;
    const ssize_t got = read(from_, part, std::min<uint64_t>(sizeof(part), room));
    if (got <= 0) return false;
    if (write(to_, part, static_cast<size_t>(got)) != got) return false;
    bytes_ += static_cast<uint64_t>(got);
    return true;
  }

  const CollectorEntry& collector_;
  const CollectorFamily& family_;
  const int report_, from_, to_;
  const Clock::time_point end_;
  uint64_t bytes_ = 0;
};

}  // namespace

UniqueFd RunCollector(const CollectorEntry& collector, uint32_t pid, CollectorReply& reply) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::optional<CollectorTarget> target = OpenCollectorTarget(collector, pid, reply);
  if (!target) return UniqueFd();
  std::optional<Launch> launch = MakeLaunch(*std::move(target), reply);
  if (!launch) return UniqueFd();
  const CollectorFamily family;
  UniqueFd output(memfd_create("stackray-collector", MFD_CLOEXEC));
  const pid_t child = output.valid() ? fork() : -1;
  if (child == 0) Enter(collector, *launch);
  if (child < 0) {
    reply = {.end = CollectorEnd::kNotStarted, .code = errno};
    return UniqueFd();
  }
  const UniqueFd text = std::move(launch->text.read), report = std::move(launch->report.read);
  launch.reset();  // Our writing ends too.
  reply = WaitForStart(collector, report.get());
  if (!WasStarted(reply)) {
    family.KillAll();
    return UniqueFd();
  }
  fcntl(text.get(), F_SETFL, O_NONBLOCK);
  fcntl(report.get(), F_SETFL, O_NONBLOCK);
  reply = Watch(collector, family, report.get(), text.get(), output.get()).Run();
  return output;
}

}  // namespace stackray
