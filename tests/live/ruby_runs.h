// Ruby programs for live tests: the interpreters of this machine, and what one says of its own
// stack.
#ifndef STACKRAY_TESTS_LIVE_RUBY_RUNS_H_
#define STACKRAY_TESTS_LIVE_RUBY_RUNS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/live/target_program.h"

namespace stackray::test {

// Of 2.5 to 4.0 those that are here, oldest first, as "3.1"; and Debian 12's, whose tests are
// skipped by name where it is missing.
std::vector<std::string> RubyVersions();
// "3_1", for names of tests and of environment variables.
std::string RubyTestName(const std::string& version);

// The command that runs this Ruby: what the environment variable STACKRAY_RUBY_<name> says, words
// apart by spaces ("chroot /some/root ruby3.3", a root where this tree, the build and /tmp are at
// the same paths), else a program ruby<version> in /usr/bin or /usr/local/bin. Empty: there is
// none.
std::vector<std::string> FindRuby(const std::string& version);

// Is it run with a JIT? Then nobody knows the line of the innermost frame: compiled code keeps it
// nowhere.
bool HasRubyJit(const std::vector<std::string>& interpreter);

std::string RubyProgram(const std::string& name);  // A file in tests/live/programs/ruby.

struct RubyFrame {
  std::string label;
  std::string file;
  int64_t line = 0;
  friend bool operator==(const RubyFrame&, const RubyFrame&) = default;
};

struct RubyAnswer {
  bool is_collecting = false;  // Then there are no frames.
  std::vector<RubyFrame> frames;
};

// A run of many_shapes.rb with own_backtrace.so.
class RubyRun {
 public:
  // `kind`: as many_shapes.rb has it. nullptr: it did not get as far as its signal handler in 20 s.
  static std::unique_ptr<RubyRun> Start(const std::vector<std::string>& interpreter,
                                        const std::string& kind);
  ~RubyRun();

  uint32_t pid() const { return program_.pid(); }
  // The backtrace of thread `tid` by Ruby itself, innermost first, where a stopped process goes on:
  // the signal is waiting when it continues, so its handler sees the stack that was stopped.
  // nullopt: no answer in 3 s.
  std::optional<RubyAnswer> ContinueAndAsk(uint32_t tid);

 private:
  RubyRun(TargetProgram program, std::string answers)
      : program_(std::move(program)), answers_(std::move(answers)) {}

  TargetProgram program_;
  std::string answers_;  // The file.
};

// The methods of many_shapes.rb by their full names, as Ruby lists them; empty: it did not run.
std::set<std::string> NamesOfShapes(const std::vector<std::string>& interpreter);

// "block in Foo::Bar#name" without "Foo::Bar#".
std::string PlainLabel(const std::string& label);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_RUBY_RUNS_H_
