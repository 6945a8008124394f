// Perl programs for live tests: the interpreters of this machine, and what one says of its own
// stack.
#ifndef STACKRAY_TESTS_LIVE_PERL_RUNS_H_
#define STACKRAY_TESTS_LIVE_PERL_RUNS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/target_program.h"

namespace stackray::test {

// Of 5.28 to 5.42 the minor versions that are here, oldest first; and Debian 12's, whose tests are
// skipped by name where it is missing.
std::vector<int> PerlReleases();

// The command that runs 5.MINOR: what the environment variable STACKRAY_PERL_5_<minor> says, words
// apart by spaces (with `chroot ROOT`, this tree and /tmp have to be mounted inside of it), else
// /usr/bin/perl if it is of this version. Empty: there is none.
std::vector<std::string> FindPerl(int minor);

struct PerlFrame {
  std::string function;  // As in a profile; `require` without its file.
  std::string file;      // "(eval)" without its number.
  int64_t line = 0;
  friend bool operator==(const PerlFrame&, const PerlFrame&) = default;
};

// A run of tests/live/programs/perl/many_shapes.pl.
class PerlRun {
 public:
  // `kind`: "", "deep" or "threads". nullptr: it did not get as far as its first frames in 20 s.
  static std::unique_ptr<PerlRun> Start(const std::vector<std::string>& interpreter,
                                        const std::string& kind);
  ~PerlRun();

  uint32_t pid() const { return program_.pid(); }
  // The stack of a thread by Perl's own caller(), innermost first, where the stopped process goes
  // on. nullopt: no answer (the copy of the process that was to give it was caught at a moment when
  // it could not).
  std::optional<std::vector<PerlFrame>> ContinueAndAsk(uint32_t tid);

 private:
  PerlRun(TargetProgram program, std::string answers)
      : program_(std::move(program)), answers_(std::move(answers)) {}

  TargetProgram program_;
  std::string answers_;  // The file.
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_PERL_RUNS_H_
