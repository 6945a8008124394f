#include "tests/recorder/stopped_thread.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "tests/recorder/recorded_walk.h"

namespace stackray {
namespace {

constexpr uint8_t kBreakpoint = 0xcc;

absl::Status Failed(const char* what) {
  return absl::InternalError(fmt::format("{}: {}", what, strerror(errno)));
}

int EventOf(int status) { return status >> 16; }

[[noreturn]] void RunChild(int go_fd, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  personality(ADDR_NO_RANDOMIZE);
  char go;
  if (read(go_fd, &go, 1) == 1) execv(arguments[0], arguments.data());
  _exit(127);
}

}  // namespace

StoppedThread::StoppedThread(pid_t pid, pid_t tid, bool started)
    : pid_(pid),
      tid_(tid),
      started_(started),
      stopped_({tid}),
      memory_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC)) {}

StoppedThread::StoppedThread(StoppedThread&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      tid_(other.tid_),
      started_(other.started_),
      attached_(other.attached_),
      pending_signal_(other.pending_signal_),
      stopped_(std::move(other.stopped_)),
      memory_(std::move(other.memory_)) {}

StoppedThread::~StoppedThread() {
  if (pid_ == 0) return;
  if (started_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  } else if (attached_) {
    ptrace(PTRACE_DETACH, tid_, 0, 0);
  } else {
    kill(pid_, SIGCONT);
  }
}

absl::StatusOr<StoppedThread> StoppedThread::Start(const std::vector<std::string>& command) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) return Failed("pipe");
  const UniqueFd reader(go[0]), writer(go[1]);
  const pid_t pid = fork();
  if (pid < 0) return Failed("fork");
  if (pid == 0) RunChild(go[0], command);
  int status = 0;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  if (ptrace(PTRACE_SEIZE, pid, 0, options) != 0 || write(go[1], "g", 1) != 1 ||
      waitpid(pid, &status, __WALL) != pid || EventOf(status) != PTRACE_EVENT_EXEC) {
    kill(pid, SIGKILL);
    return absl::InternalError(fmt::format("cannot start {}", command[0]));
  }
  StoppedThread thread(pid, pid, /*started=*/true);
  if (absl::Status run = thread.RunTo(thread.entry()); !run.ok()) return run;
  return thread;
}

absl::StatusOr<StoppedThread> StoppedThread::Attach(pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/status", tid));
  pid_t pid = 0;
  for (std::string word; pid == 0 && file >> word;)
    if (word == "Tgid:") file >> pid;
  int status = 0;
  if (pid == 0 || ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 ||
      ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || waitpid(tid, &status, __WALL) != tid)
    return Failed("cannot attach");
  return StoppedThread(pid, tid, /*started=*/false);
}

uint64_t StoppedThread::entry() const {
  std::ifstream file(fmt::format("/proc/{}/auxv", pid_), std::ios::binary);
  for (Elf64_auxv_t entry; file.read(reinterpret_cast<char*>(&entry), sizeof(entry));)
    if (entry.a_type == AT_ENTRY) return entry.a_un.a_val;
  return 0;
}

bool StoppedThread::WriteByte(uint64_t address, uint8_t value, uint8_t* old) {
  const auto at = static_cast<off_t>(address);
  return pread(memory_.get(), old, 1, at) == 1 && pwrite(memory_.get(), &value, 1, at) == 1;
}

// Lets every stopped thread go on until one meets a breakpoint (or, if wanted, a signal).
absl::Status StoppedThread::WaitForTrap(bool want_signal) {
  for (;;) {
    for (const pid_t tid : stopped_)
      ptrace(PTRACE_CONT, tid, 0, tid == tid_ ? std::exchange(pending_signal_, 0) : 0);
    stopped_.clear();
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0) return Failed("waitpid");
    if (!WIFSTOPPED(status)) {
      if (tid == pid_) return absl::OutOfRangeError("the program ended");
      continue;
    }
    stopped_.insert(tid);
    if (EventOf(status) != 0) continue;
    tid_ = tid;
    if (WSTOPSIG(status) == SIGTRAP) return absl::OkStatus();
    pending_signal_ = WSTOPSIG(status);
    if (want_signal) return absl::OkStatus();
  }
}

absl::Status StoppedThread::RunTo(uint64_t address) {
  uint8_t code = 0, trap = 0;
  if (!WriteByte(address, kBreakpoint, &code)) return Failed("cannot set a breakpoint");
  absl::Status status = WaitForTrap(/*want_signal=*/false);
  if (!status.ok()) return status;
  user_regs_struct registers;
  if (!WriteByte(address, code, &trap) || ptrace(PTRACE_GETREGS, tid_, 0, &registers) != 0)
    return Failed("cannot take the breakpoint back");
  if (registers.rip != address + 1) return absl::OutOfRangeError("another trap");
  registers.rip = address;
  return ptrace(PTRACE_SETREGS, tid_, 0, &registers) == 0 ? absl::OkStatus() : Failed("set pc");
}

absl::Status StoppedThread::RunToSignal() { return WaitForTrap(/*want_signal=*/true); }

absl::Status StoppedThread::Step() {
  for (;;) {
    int status = 0;
    if (ptrace(PTRACE_SINGLESTEP, tid_, 0, std::exchange(pending_signal_, 0)) != 0 ||
        waitpid(tid_, &status, __WALL) != tid_)
      return Failed("step");
    if (!WIFSTOPPED(status)) return absl::OutOfRangeError("the program ended");
    if (EventOf(status) != 0) continue;
    if (WSTOPSIG(status) == SIGTRAP) return absl::OkStatus();
    pending_signal_ = WSTOPSIG(status);
  }
}

absl::StatusOr<unwind_registers> StoppedThread::Registers() const {
  user_regs_struct r;
  iovec whole = {&r, sizeof(r)};
  if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &whole) != 0) return Failed("registers");
  unwind_registers out = {};
#ifdef STACKRAY_ARM64
  std::memcpy(out.r, r.regs, sizeof(r.regs));
  out.r[UNWIND_SP] = r.sp;
  out.pc = r.pc;
  out.address_mask = kUserAddresses;
#else
  out.pc = r.rip;
  const uint64_t values[UNWIND_REGISTERS] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi,
                                             r.rbp, r.rsp, r.r8,  r.r9,  r.r10, r.r11,
                                             r.r12, r.r13, r.r14, r.r15};
  std::memcpy(out.r, values, sizeof(values));
#endif
  out.known = static_cast<u32>((uint64_t{1} << UNWIND_REGISTERS) - 1);
#ifdef __x86_64__
  // In a system call the pc lies behind the instruction, as a return address does; that instruction
  // leaves it in rcx.
  out.exact_pc = static_cast<int64_t>(r.orig_rax) < 0 || r.rcx != r.rip;
#else
  out.exact_pc = 1;
#endif
  return out;
}

uint64_t StoppedThread::thread_pointer() const {
#ifdef __x86_64__
  user_regs_struct r;
  iovec whole = {&r, sizeof(r)};
  if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &whole) == 0) return r.fs_base;
#endif
  return 0;
}

bool StoppedThread::ReadMemory(uint64_t address, std::span<uint8_t> to) const {
  return address <= INT64_MAX &&
         pread(memory_.get(), to.data(), to.size(), static_cast<off_t>(address)) ==
             static_cast<ssize_t>(to.size());
}

void StoppedThread::Release() {
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), ignored)) {
    const pid_t tid = std::atoi(task.path().filename().c_str());
    if (stopped_.contains(tid) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) continue;
    if (waitpid(tid, nullptr, __WALL) == tid) stopped_.insert(tid);
  }
  syscall(SYS_tgkill, pid_, tid_, SIGSTOP);
  for (const pid_t tid : stopped_) ptrace(PTRACE_DETACH, tid, 0, 0);
  attached_ = false;
}

}  // namespace stackray
