#include "tests/live/asked_program.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kernel/wall_clock.h"

namespace stackray::test {
namespace {

constexpr uint64_t kStartTimeoutNs = 20'000'000'000;

std::string ReadFrom(const std::string& path, size_t at) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(at));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string MakeAnswerFile() {
  char path[] = "/tmp/stackray-answers-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return "";
  fchmod(fd, 0666);
  close(fd);
  return path;
}

bool Catches(uint32_t pid, int signal) {
  const std::string text = ReadFrom(fmt::format("/proc/{}/status", pid), 0);
  const size_t at = text.find("SigCgt:");
  return at != std::string::npos &&
         (std::strtoull(text.c_str() + at + 7, nullptr, 16) >> (signal - 1) & 1) != 0;
}

bool WaitUntilItCatches(uint32_t pid, int signal) {
  for (const uint64_t end = BootTimeNs() + kStartTimeoutNs; BootTimeNs() < end; usleep(10'000))
    if (Catches(pid, signal)) return true;
  return false;
}

std::optional<std::string> AskBySignal(
    uint32_t pid, uint32_t tid, int signal, const std::string& answers, uint64_t timeout_ns,
    const std::function<bool(const std::string& text)>& is_whole) {
  const size_t before = ReadFrom(answers, 0).size();
  const auto process = static_cast<pid_t>(pid);
  if (syscall(SYS_tgkill, process, static_cast<pid_t>(tid), signal) != 0) return std::nullopt;
  const uint64_t end = BootTimeNs() + timeout_ns;
  for (;;) {
    // Again and again: a stop signal that arrives behind SIGCONT would keep it waiting for ever.
    kill(process, SIGCONT);
    std::string text = ReadFrom(answers, before);
    if (is_whole(text)) return text;
    if (BootTimeNs() > end) return std::nullopt;
    usleep(1000);
  }
}

}  // namespace stackray::test
