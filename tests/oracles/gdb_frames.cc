#include "tests/oracles/gdb_frames.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace stackray::test {
namespace {

[[noreturn]] void BecomeGdb(int in, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in, 0);
  dup2(out, 1);
  const int null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, 2);
  execlp("gdb", "gdb", "-q", "-nx", "-batch", "-x",
         STACKRAY_SOURCE_DIR "/tests/oracles/gdb_frames.py", nullptr);
  _exit(127);
}

}  // namespace

std::unique_ptr<GdbFrames> GdbFrames::Start() {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return nullptr;
  const pid_t pid = fork();
  if (pid == 0) BecomeGdb(to[0], from[1]);
  close(to[0]);
  close(from[1]);
  if (pid < 0) return nullptr;
  return std::unique_ptr<GdbFrames>(new GdbFrames(pid, fdopen(to[1], "w"), fdopen(from[0], "r")));
}

GdbFrames::~GdbFrames() {
  fclose(to_);  // It reads the end of its input and leaves.
  waitpid(gdb_, nullptr, 0);
  fclose(from_);
}

std::vector<GdbFrame> GdbFrames::Ask(uint32_t pid, uint32_t tid) {
  std::vector<GdbFrame> frames;
  error_.clear();
  fprintf(to_, "%u %u\n", pid, tid);
  fflush(to_);
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), from_) != nullptr) {
    const std::string line(buffer);
    if (line == "end\n") return error_.empty() ? frames : std::vector<GdbFrame>();
    if (line.starts_with("error ")) error_ = line;
    const bool in_library = line.starts_with("library ");
    if (!in_library && !line.starts_with("program ")) continue;  // A remark of gdb's.
    const size_t name = line.find(' ', 8);
    if (name == std::string::npos) continue;
    frames.push_back({.pc = std::stoull(line.substr(8, name - 8), nullptr, 16),
                      .in_library = in_library,
                      .name = line.substr(name + 1, line.size() - name - 2)});
  }
  error_ = "gdb has ended";
  return {};
}

}  // namespace stackray::test
