#include "agent/privileges/collector_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

#include "agent/privileges/collector_family.h"
#include "agent/privileges/process_user.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostGroups = 64;
constexpr int kLookMs = 20;
constexpr int kLowestPriority = 19, kLastOomScore = 1000;
constexpr int kIoprioWhoProcess = 1, kIoprioIdle = 3 << 13;  // include/uapi/linux/ioprio.h.
constexpr rlim_t kMostFiles = 256;
constexpr char kPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// What has to be opened before the process is another one.
struct Target {
  ProcessUser user;
  UniqueFd mounts, pids, root;
};

UniqueFd OpenOf(uint32_t pid, const char* what, int flags) {
  return UniqueFd(open(fmt::format("/proc/{}/{}", pid, what).c_str(), flags | O_CLOEXEC));
}

bool IsSameNamespace(uint32_t pid, const char* which) {
  struct stat own, theirs;
  return stat(fmt::format("/proc/self/ns/{}", which).c_str(), &own) == 0 &&
         stat(fmt::format("/proc/{}/ns/{}", pid, which).c_str(), &theirs) == 0 &&
         own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino;
}

std::string CommandOf(uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::string command;
  std::getline(file, command);
  return command;
}

std::optional<Target> OpenTarget(const CollectorEntry& collector, uint32_t pid,
                                 CollectorReply& reply) {
  std::optional<ProcessUser> user = ReadProcessUser(pid, kMostGroups);
  Target target{.mounts = OpenOf(pid, "ns/mnt", O_RDONLY),
                .pids = OpenOf(pid, "ns/pid", O_RDONLY),
                .root = OpenOf(pid, "root", O_PATH | O_DIRECTORY)};
  reply = {.end = CollectorEnd::kNotStarted, .code = errno == 0 ? ESRCH : errno};
  if (!user || !target.mounts.valid() || !target.pids.valid() || !target.root.valid())
    return std::nullopt;
  if (!collector.command.empty() && CommandOf(pid) != collector.command) {
    reply.end = CollectorEnd::kOtherCommand;
    return std::nullopt;
  }
  if (!IsSameNamespace(pid, "user")) {
    reply.end = CollectorEnd::kUserNamespace;
    return std::nullopt;
  }
  target.user = *std::move(user);
  return target;
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

// no_new_privs is set already, so an exec gives none back, not to root either.
bool DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

bool BecomeTarget(const Target& target) {
  const std::vector<gid_t> groups(target.user.groups.begin(), target.user.groups.end());
  return setns(target.mounts.get(), CLONE_NEWNS) == 0 && fchdir(target.root.get()) == 0 &&
         chroot(".") == 0 && setgroups(groups.size(), groups.data()) == 0 &&
         setresgid(target.user.gid, target.user.gid, target.user.gid) == 0 &&
         setresuid(target.user.uid, target.user.uid, target.user.uid) == 0 && DropCapabilities() &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// In the child. Writes errno to `problem`, which an exec closes.
[[noreturn]] void Execute(const CollectorEntry& collector, const Target& target, int output,
                          int problem) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  GiveWay(collector);
  setsid();
  const std::string number = fmt::format("{}", target.user.inner_pid);
  std::vector<std::string> words;
  for (std::string word : collector.exec) {
    for (size_t at; (at = word.find("{pid}")) != std::string::npos;) word.replace(at, 5, number);
    words.push_back(std::move(word));
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const environment[] = {const_cast<char*>(kPath), const_cast<char*>("LANG=C.UTF-8"),
                               nullptr};
  if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
      BecomeTarget(target)) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // A change of the user has taken it back.
    execvpe(arguments[0], arguments.data(), environment);
  }
  const int error = errno;
  (void)!write(problem, &error, sizeof(error));
  _exit(127);
}

// Copies what comes until the command has ended, and says how it has.
class Watch {
 public:
  Watch(const CollectorEntry& collector, const CollectorFamily& family, pid_t child, int from,
        int to)
      : collector_(collector),
        family_(family),
        child_(child),
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
  bool HasEnded(CollectorReply& reply) {
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) == child_) {
      reply.end = WIFSIGNALED(status) ? CollectorEnd::kSignal : CollectorEnd::kExited;
      reply.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
      return true;
    }
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
  const pid_t child_;
  const int from_, to_;
  const Clock::time_point end_;
  uint64_t bytes_ = 0;
};

struct Pipe {
  UniqueFd read, write;
};
std::optional<Pipe> MakePipe(int flags) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | flags) != 0) return std::nullopt;
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

UniqueFd RunCollector(const CollectorEntry& collector, uint32_t pid, CollectorReply& reply) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  errno = 0;
  std::optional<Target> target = OpenTarget(collector, pid, reply);
  if (!target) return UniqueFd();
  const CollectorFamily family(pid);
  UniqueFd output(memfd_create("stackray-collector", MFD_CLOEXEC));
  std::optional<Pipe> text = MakePipe(0), problem = MakePipe(0);
  const bool is_ready =
      output.valid() && text && problem && setns(target->pids.get(), CLONE_NEWPID) == 0;
  const pid_t child = is_ready ? fork() : -1;
  if (child == 0) Execute(collector, *target, text->write.get(), problem->write.get());
  if (child < 0) {
    reply = {.end = CollectorEnd::kNotStarted, .code = errno};
    return UniqueFd();
  }
  text->write.reset();
  problem->write.reset();
  // A file system that does not answer holds an exec up.
  int error = ETIMEDOUT;
  pollfd started = {problem->read.get(), POLLIN, 0};
  if (poll(&started, 1, static_cast<int>(collector.timeout_ms)) <= 0 ||
      read(problem->read.get(), &error, sizeof(error)) == sizeof(error)) {
    family.KillAll();
    reply = {.end = CollectorEnd::kNotStarted, .code = error};
    return UniqueFd();
  }
  fcntl(text->read.get(), F_SETFL, O_NONBLOCK);
  reply = Watch(collector, family, child, text->read.get(), output.get()).Run();
  return output;
}

}  // namespace stackray
