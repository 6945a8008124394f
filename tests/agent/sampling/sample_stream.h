// A seeded run of records about a world of real and made-up processes: samples, forks, execs,
// exits, reused pids, damaged records. Real children die while samples of theirs still wait in the
// "ring": those then show only code that the process had been asked for before, because nobody
// could know more.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_SAMPLE_STREAM_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_SAMPLE_STREAM_H_

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/agent/sampling/changing_kernel.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/raw_stack.h"
#include "tests/agent/sampling/record_bytes.h"
#include "tests/agent/sampling/sampled_world.h"

namespace stackray::test {

class SampleStream {
 public:
  struct Counts {
    uint64_t samples = 0, damaged = 0, events = 0, deaths = 0, after_death = 0, raw = 0;
  };

  // Files are made in `directory`, which must be there and empty. With `kernel_changes` the
  // kernel's code comes and goes, too.
  SampleStream(uint64_t seed, const std::string& directory, TestClock* clock,
               bool kernel_changes = false);

  RecordBytes Next();
  const Counts& counts() const { return counts_; }
  const std::set<uint64_t>& sample_times() const { return times_; }
  const std::optional<KernelWorld>& kernel() const { return kernel_; }
  const std::string& stripped_path() const { return mapped_.stripped_path(); }
  // nullptr when the kernel stays as it is.
  ChangingKernel* changing_kernel() { return changing_kernel_.get(); }

 private:
  struct Process {
    process_key key = {};
    std::string command;
    std::vector<code_range> ranges;
    std::set<uint64_t> asked;  // Indices into `ranges` that samples have shown.
    std::unique_ptr<ChildProcess> child;
    int waiting = -1;  // Samples that still come after its death.
  };

  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  bool Chance(uint32_t one_in) { return Below(one_in) == 0; }
  void StartChild();
  void AddMadeUp();
  Process& AnyProcess();
  RecordBytes Sample(Process& process);
  RecordBytes RawSampleOfSelf();
  RecordBytes Damaged();
  RecordBytes Event();
  RecordBytes Exit(std::list<Process>::iterator process);
  std::vector<uint64_t> RangesToShow(Process& process);
  void FillStack(Process& process, SampleParts* parts);
  SampleParts Base(const Process& process);
  uint64_t KernelAddress();

  std::mt19937_64 random_;
  const std::string directory_;
  TestClock* const clock_;
  MappedFiles mapped_;
  std::optional<KernelWorld> kernel_;
  std::unique_ptr<ChangingKernel> changing_kernel_;
  std::list<Process> processes_;  // The first is this test itself and never ends.
  RawStack raw_;
  int children_ = 0;
  uint32_t next_made_up_ = 5'000'000;  // Above the kernel's largest pid.
  std::set<uint64_t> times_;
  Counts counts_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_SAMPLE_STREAM_H_
