// A program that a live test samples: started by the test, ended with it.
#ifndef STACKRAY_TESTS_LIVE_TARGET_PROGRAM_H_
#define STACKRAY_TESTS_LIVE_TARGET_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stackray::test {

class TargetProgram {
 public:
  // Starts argv[0] (a path, or a name in PATH) with standard streams at /dev/null. It dies with the
  // test. pid() is 0 when it could not be started.
  static TargetProgram Start(const std::vector<std::string>& argv);
  TargetProgram(TargetProgram&& other) noexcept : pid_(other.pid_) { other.pid_ = 0; }
  TargetProgram& operator=(TargetProgram&&) = delete;
  ~TargetProgram();  // SIGKILL and wait.

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  bool IsStopped() const;
  // Its exit code once it ended; nullopt while it runs.
  std::optional<int> Poll();

 private:
  explicit TargetProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// User and system time of a process, all its threads, those that ended included; seconds.
double CpuSecondsOf(uint32_t pid);

// The file of a program in tests/live/programs.
std::string ProgramPath(const std::string& name);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_TARGET_PROGRAM_H_
