// A sampling session inside the test, and what it saw, decoded from the sealed batches: the same
// bytes that a receiver gets. Why a stack ended is in the session's counts and in its marker.
#ifndef STACKRAY_TESTS_LIVE_SAMPLED_RUN_H_
#define STACKRAY_TESTS_LIVE_SAMPLED_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/sampling/sampling_session.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {

struct SeenStack {
  std::string command;  // Of the process.
  int64_t pid = 0;
  std::vector<DecodedFrame> kernel;  // Leaf first.
  std::vector<DecodedFrame> user;    // Leaf first, markers left out.
  std::string marker;                // "[truncated: …]", "[unknown jit]"; empty: none.
  int64_t count = 0;
  int batch = 0;  // In the order of their sealing.

  // The leaf-first names; "" for a frame without one.
  std::vector<std::string> UserNames() const;
  bool Calls(const std::string& caller, const std::string& callee) const;  // Neighbours.
  bool Has(const std::string& function) const;
};

class SampledRun {
 public:
  // Samples `pids` and what they start. Errors: as SamplingSession::Create.
  static absl::StatusOr<std::unique_ptr<SampledRun>> Start(double frequency_hz,
                                                           const std::vector<uint32_t>& pids,
                                                           bool async_parents = false);
  ~SampledRun();

  // Takes samples until there are `samples` of them in all, or `timeout_ms` have passed.
  void Run(int timeout_ms, uint64_t samples = ~0ULL);
  void Stop();

  SamplingSession& session() { return *session_; }
  const std::vector<SeenStack>& stacks() const { return stacks_; }
  // Samples that have a user stack, and those of them whose end is terminal.
  uint64_t with_user_stack();
  uint64_t complete();
  double complete_percent();
  // "undefined_return_address 12, missing_page 1": for the output of a test.
  std::string Ends();
  // Where the complete stacks begin: "_start 12, clone3 3". Unnamed roots as FILE+0xADDRESS.
  std::string Roots() const;
  // One text a kind of cut stack: "3 times [truncated: …] above FILE+0xADDRESS NAME, 12 frames".
  std::vector<std::string> CutStacks() const;
  // Mean number of user frames of the samples that have any.
  double mean_depth() const;

 private:
  SampledRun() = default;
  void Keep(const DecodedBatch& batch);

  std::unique_ptr<SamplingSession> session_;
  std::vector<SeenStack> stacks_;
  int batches_ = 0;
  bool stopped_ = false;
};

// A line of numbers that the test's output and reports show.
void Measured(const std::string& text);

// How long a test under load runs, and what it asks for. A few hundred samples tell no more than
// per cents; a long proof, with STACKRAY_LOAD_SAMPLES of them, asks for what users are told.
struct LoadBounds {
  uint64_t samples = 0;
  double least_whole = 0.99;  // Of the samples with a user stack.
  double most_stale = 0.01;   // Of the runtime's frames.
};
LoadBounds LoadBoundsFor(uint64_t usual_samples);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_SAMPLED_RUN_H_
