// A program that the test talks with over its standard streams.
#ifndef STACKRAY_TESTS_LIVE_TALKING_PROGRAM_H_
#define STACKRAY_TESTS_LIVE_TALKING_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"

namespace stackray::test {

class TalkingProgram {
 public:
  // argv[0] is a path. pid() is 0 when it could not be started.
  explicit TalkingProgram(const std::vector<std::string>& argv);
  TalkingProgram(const TalkingProgram&) = delete;
  ~TalkingProgram();  // SIGKILL and wait.

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  void Say(const std::string& line);
  // What it has said so far. Does not wait.
  const std::string& Heard();
  // Has it said the line "end"?
  bool HasEnded() { return Heard().ends_with("end\n"); }

 private:
  pid_t pid_ = 0;
  UniqueFd to_, from_;
  std::string heard_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_TALKING_PROGRAM_H_
