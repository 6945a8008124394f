// A runtime's programs under load, as a receiver sees them: what the load tests of all runtimes
// measure and demand.
#ifndef STACKRAY_TESTS_LIVE_RUNTIME_LOAD_H_
#define STACKRAY_TESTS_LIVE_RUNTIME_LOAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/live/sampled_run.h"

namespace stackray::test {

// What the tests have to know of a runtime.
struct RuntimeTrait {
  std::string frame_type;                           // "cpython", as batches have it.
  std::function<bool(const std::string&)> is_root;  // May it be a thread's outermost function?
  bool all_have_files = false;                      // Each frame has a file, and so a line.
};

// What was seen of one runtime's frames. Counts are samples, or frames of samples.
struct RuntimeFrames {
  int64_t stacks = 0, rooted = 0;  // Samples with such frames; those with a root below them.
  int64_t frames = 0, without_line = 0;
  int64_t stale = 0, unnamed = 0;            // "[stale]"; no name at all, or "[gone]".
  std::map<std::string, int64_t> functions;  // By name, the samples that have it.
  std::map<std::string, int64_t> names;      // By name, the frames of samples.

  int64_t without_name() const { return stale + unnamed; }
  int64_t SamplesOf(const std::string& function) const;
  // Frames with a name that `is_known` does not know.
  int64_t OthersThan(const std::function<bool(const std::string&)>& is_known) const;
};
RuntimeFrames FramesOf(const std::vector<SeenStack>& stacks, const RuntimeTrait& runtime);

// Is it none, a marker of one, or a name?
bool IsNoName(const std::string& function);

// One run of a program under load. `complete` of `all` samples with a user stack were whole; the
// warm-up's are not among them, but its frames are in `seen`.
struct LoadRun {
  uint64_t complete = 0, all = 0;
  RuntimeFrames seen;
  std::string ends;  // As SampledRun::Ends().
};
// Samples what `pid` runs at 499 Hz for a minute at most: `warm_up` samples, which meet files that
// are new, and then until there are `samples` in all. Errors: there is no BPF here.
absl::StatusOr<LoadRun> SampleUnderLoad(uint32_t pid, uint64_t warm_up, uint64_t samples,
                                        const RuntimeTrait& runtime);

// Samples the programs that a shell runs one after the other, five times `command`, until the last
// one has ended. The sampler knows nothing of them before they run. Errors: there is no BPF here.
absl::StatusOr<RuntimeFrames> SampleFiveShortPrograms(const std::vector<std::string>& command,
                                                      const RuntimeTrait& runtime);

// Expects that enough samples came, that they are whole, that their share `rooted` has a root and
// their share `stacks` has frames of the runtime, and that frames have names but for `unnamed`.
struct LoadShares {
  double rooted = 0.99, stacks = 0.95;
  std::optional<double> unnamed;  // None: LoadBounds::most_stale.
};
void ExpectWholeAndNamed(const LoadRun& run, const LoadBounds& bounds, uint64_t warm_up,
                         const LoadShares& shares);

// Expects of code that comes and goes that its frames have names, and none another's: all but a
// tenth of the names are known.
void ExpectNamesOfNewCode(const std::string& version, const RuntimeFrames& seen,
                          const LoadBounds& bounds,
                          const std::function<bool(const std::string&)>& is_known);

// Expects of programs that run three functions for 100 ms each that all three were seen, and that
// at most `most_unnamed` samples have no name. `class_name`: in front of the functions' names.
void ExpectFirstMiddleAndLast(const std::string& version, const RuntimeFrames& seen,
                              const std::string& class_name, int64_t most_unnamed);

// "php 8.2 under load: 599 of 600 whole, …", as a line of measurement.
std::string LoadText(const std::string& version, const LoadRun& run);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_RUNTIME_LOAD_H_
