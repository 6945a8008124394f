// Decoded batches written down by hand, and other programs to check their files with.
#ifndef STACKRAY_TESTS_REPORTER_FORMATS_TEST_BATCHES_H_
#define STACKRAY_TESTS_REPORTER_FORMATS_TEST_BATCHES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reporter/decoded_batch.h"

namespace stackray {

inline constexpr int64_t kTestStartNs = 1'790'000'000'000'000'000;  // Whole seconds.
inline constexpr int64_t kMillisecond = 1'000'000;

// Builds one batch of 1 s at 100 Hz that starts at `start_unix_ns`; frame 0 is the empty one.
class TestBatch {
 public:
  explicit TestBatch(int64_t start_unix_ns = kTestStartNs);

  // These return the index of what they add.
  int32_t Process(int64_t pid, std::string_view command, std::string_view executable);
  int32_t Native(std::string_view function, uint64_t address = 0x1000,
                 std::string_view file = "/usr/bin/app");
  int32_t Kernel(std::string_view function, uint64_t address = 0xffffffff81000000);
  int32_t Python(std::string_view function, std::string_view file);
  int32_t Marker(std::string_view name);
  int32_t Nameless(std::string_view mapping, uint64_t address);
  // Functions innermost first; the last one is not inlined.
  int32_t Inlined(const std::vector<std::string>& functions, uint64_t address = 0x2000);
  // `root_first` as a reader writes a stack down. Timestamps are relative to the batch's start.
  void Sample(int32_t process, const std::vector<int32_t>& root_first, int64_t count,
              int64_t tid = 0, std::string_view thread_name = "",
              const std::vector<int64_t>& times_ms = {});

  DecodedBatch batch;

 private:
  int32_t Add(DecodedFrame frame);
};

// Path of `bytes` written to a new file, named by the test and `name`; removed when the program
// ends.
std::string WriteTestFile(std::string_view name, std::string_view bytes);

// Standard output of a shell command; nothing when it fails.
std::optional<std::string> RunTool(const std::string& command);

// Whether the shell finds `program`.
bool HaveTool(const std::string& program);

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_FORMATS_TEST_BATCHES_H_
