// What the batches say of a storm's processes: how many samples, how complete, how well named, and
// each kind of what is missing.
#ifndef STACKRAY_TESTS_LIVE_STORMS_STORM_REPORT_H_
#define STACKRAY_TESTS_LIVE_STORMS_STORM_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {

// Of one command, or of all together.
struct StormClass {
  int64_t samples = 0;
  int64_t with_user_stack = 0;  // The others are inside exec, or past the end of the address space.
  int64_t complete = 0;         // No marker: the walk ended for a terminal reason.
  int64_t to_entry = 0;  // Of these: the root is _start, or the code at a file's entry point.
  int64_t with_executable = 0;  // The process's executable is known, and is the program's file.
  int64_t unopened = 0;         // Samples with a frame of a file that nobody could open.

  void Add(const StormClass& other);
};

class StormReport {
 public:
  // `commands` are also the base names of the programs' files.
  explicit StormReport(std::vector<std::string> commands) : commands_(std::move(commands)) {}

  void Add(const DecodedBatch& batch);
  // Every batch of an .otlp file. Errors: those of reading and decoding.
  absl::Status AddFile(const std::string& path);

  const std::map<std::string, StormClass>& classes() const { return classes_; }
  StormClass sum() const;
  // "COMMAND: MARKER above ROOT, N frames, leaf LEAF" → samples: stacks that are not complete.
  const std::map<std::string, int64_t>& cut() const { return cut_; }
  // Roots of complete stacks that are no entry point, and leaves of unopened files.
  const std::map<std::string, int64_t>& other_roots() const { return other_roots_; }
  const std::map<std::string, int64_t>& unopened() const { return unopened_; }
  int64_t lost() const { return lost_; }  // Samples that markers say were lost, of anybody.

 private:
  void AddSample(const DecodedBatch& batch, const DecodedSample& sample);
  bool IsEntry(const DecodedFrame& frame);

  const std::vector<std::string> commands_;
  std::map<std::string, StormClass> classes_;
  std::map<std::string, int64_t> cut_, other_roots_, unopened_;
  std::map<std::string, uint64_t> entries_;  // By path; 0: not to be read.
  int64_t lost_ = 0;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_STORMS_STORM_REPORT_H_
