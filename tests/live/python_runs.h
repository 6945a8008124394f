// Python programs for live tests: the interpreters of this machine, and what one says of its own
// stack.
#ifndef STACKRAY_TESTS_LIVE_PYTHON_RUNS_H_
#define STACKRAY_TESTS_LIVE_PYTHON_RUNS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/target_program.h"

namespace stackray::test {

// The minor versions of Python 3 that are tried, oldest first.
inline constexpr int kOldestPython = 6, kNewestPython = 15;

struct PythonVersion {
  int minor = 0;
  bool is_free_threaded = false;
  std::string Name() const;  // "3.13t".
  std::string Word() const;  // "3_13t", as names of tests may be.
};

// All of them, free-threaded ones behind the others of their version.
std::vector<PythonVersion> PythonVersions();

// The command that runs it: what the environment variable STACKRAY_PYTHON_3_<minor> says
// (…_<minor>T: free-threaded), words apart by spaces, else a program (no script) in /usr/bin,
// /usr/local/bin or a version of pyenv. Empty: there is none.
std::vector<std::string> FindPython(const PythonVersion& version);

// Does it have a JIT that the environment can switch on?
bool HasJit(const std::vector<std::string>& interpreter);

struct PythonFrame {
  std::string function;  // Without its class.
  std::string file;
  int64_t line = 0;
  friend bool operator==(const PythonFrame&, const PythonFrame&) = default;
};

// A run of tests/live/programs/python/many_shapes.py.
class PythonRun {
 public:
  // `kind`: "", "threads", "deep"; or "jit", for which the environment has to switch the JIT on.
  // nullopt: it did not get as far as its first frames in 20 s.
  static std::unique_ptr<PythonRun> Start(const std::vector<std::string>& interpreter,
                                          const std::string& kind);
  ~PythonRun();

  uint32_t pid() const { return program_.pid(); }
  // The stack of thread `tid` by Python's own faulthandler, innermost first, where a stopped
  // process goes on: the signal is waiting when it continues, so its handler sees the stack that
  // was stopped. At most 100 frames; none where it lost its way in a frame that was just being made
  // (3.15). nullopt: no answer in 10 s.
  std::optional<std::vector<PythonFrame>> ContinueAndAsk(uint32_t tid);

 private:
  PythonRun(TargetProgram program, std::string dump_file)
      : program_(std::move(program)), dump_file_(std::move(dump_file)) {}

  TargetProgram program_;
  std::string dump_file_;
};

// The last component of a qualified name.
std::string PlainName(const std::string& qualified);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_PYTHON_RUNS_H_
