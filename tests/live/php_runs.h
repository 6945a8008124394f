// PHP programs for live tests: the interpreters of this machine, and what one says of its own
// stack.
#ifndef STACKRAY_TESTS_LIVE_PHP_RUNS_H_
#define STACKRAY_TESTS_LIVE_PHP_RUNS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/target_program.h"

namespace stackray::test {

struct PhpRelease {
  int major, minor;
  bool is_thread_safe = false;
  std::string Name() const;  // "8.4", "8.4 zts".
  std::string Word() const;  // "8_4", "8_4_zts".
  bool HasFibers() const { return major > 8 || (major == 8 && minor >= 1); }
};
// Of 7.3 to 8.6 those that are here, oldest first; and Debian 12's, whose tests are skipped by name
// where it is missing.
std::vector<PhpRelease> PhpReleases();

// The command that runs this version: what the environment variable STACKRAY_PHP_<major>_<minor>
// says (…_ZTS for a thread-safe build), words apart by spaces (with `chroot ROOT`, this tree and
// /tmp have to be mounted inside of it), else /usr/bin/php<major>.<minor>.
// Empty: there is none.
std::vector<std::string> FindPhp(const PhpRelease& release);

// Options that switch the JIT on: "" (off), "function", "tracing".
std::vector<std::string> JitOptions(const std::string& kind);

struct PhpFrame {
  std::string function;  // As in a profile; `include` without its file.
  std::string file;      // Empty for an internal function.
  int64_t line = 0;
  friend bool operator==(const PhpFrame&, const PhpFrame&) = default;
};

// A run of tests/live/programs/php/many_shapes.php.
class PhpRun {
 public:
  // `kind`: "", "deep", "fibers" or "threads" (of a thread-safe build that has lib/libphp.so beside
  // its bin/php). nullptr: it did not get as far as its first frames in 20 s.
  static std::unique_ptr<PhpRun> Start(const PhpRelease& release,
                                       const std::vector<std::string>& interpreter,
                                       const std::vector<std::string>& options,
                                       const std::string& kind);
  ~PhpRun();

  uint32_t pid() const { return program_.pid(); }
  // A thread's stack by PHP's own debug_backtrace(), innermost first, where a stopped process goes
  // on. nullopt: no answer (the copy of the process that was to give it was caught at a moment when
  // it could not: an exception on its way).
  std::optional<std::vector<PhpFrame>> ContinueAndAsk(uint32_t tid);

 private:
  PhpRun(TargetProgram program, std::string answers)
      : program_(std::move(program)), answers_(std::move(answers)) {}

  TargetProgram program_;
  std::string answers_;  // The file.
};

// A profile's function as PhpFrame has it.
std::string PlainPhpName(const std::string& function);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_PHP_RUNS_H_
