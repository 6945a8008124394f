// A kernel whose code changes while it is sampled: modules and BPF programs come, go, and their
// addresses are used again. Its /proc files are real files of the test; what it reports goes to
// any number of readers.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_CHANGING_KERNEL_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_CHANGING_KERNEL_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernel/code_events.h"
#include "tests/agent/sampling/loop_bench.h"
#include "tests/agent/sampling/sampled_world.h"

namespace stackray::test {

class ChangingKernel {
 public:
  struct Counts {
    uint64_t loads = 0, unloads = 0, programs = 0;
  };

  // Begins as `world`, whose files it rewrites. `clock` outlives this and every reader.
  ChangingKernel(const KernelWorld& world, const TestClock* clock);

  // What is reported from now on. Outlives this if it likes.
  std::unique_ptr<CodeEvents> NewReader();

  // Perhaps loads or unloads a module, or registers or unregisters a program.
  void MaybeChange(std::mt19937_64& random);
  // Inside of code that is there now.
  uint64_t AnyAddress(std::mt19937_64& random) const;
  const Counts& counts() const { return counts_; }

 private:
  struct Piece {
    uint64_t start = 0;
    std::string name;  // Empty: nothing is there.
  };
  struct Shared {
    std::deque<CodeEvent> waiting;
    std::map<uint64_t, uint32_t> program_sizes;
  };
  class Reader;

  void ChangeModule(std::mt19937_64& random);
  void ChangeProgram(std::mt19937_64& random);
  void Report(const CodeEvent& event);
  void WriteFiles() const;

  const KernelWorld world_;
  const std::string fixed_symbols_;
  const TestClock* const clock_;
  std::array<Piece, 6> modules_;
  std::array<Piece, 24> programs_;
  std::vector<std::shared_ptr<Shared>> readers_;
  uint64_t next_module_change_ns_ = 0;
  int names_ = 0;
  Counts counts_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_CHANGING_KERNEL_H_
