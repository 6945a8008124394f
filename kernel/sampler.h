// The sampling programs in the kernel, as an object: load, start, read, stop.
//
// Threads: ReadSamples() one at a time, WaitForSamples() on one thread, ReadMisses() on one thread,
//          everything else on any; the destructor when all of them have returned.
// Errors:  FailedPrecondition with what to do, for a host that cannot sample (no BTF, no rights, a
//          kernel that is refused); Internal for what the kernel refuses unexpectedly.
#ifndef STACKRAY_KERNEL_SAMPLER_H_
#define STACKRAY_KERNEL_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/shared/counters.h"
#include "kernel/capture_targets.h"
#include "kernel/context_memory.h"
#include "kernel/row_memory.h"
#include "kernel/runtime_memory.h"
#include "kernel/sample_ring.h"
#include "kernel/sampler_programs.h"

namespace stackray {

struct SamplerSettings {
  double frequency_hz = 99;
  uint32_t sample_ring_bytes = 4 << 20;  // A power of two, a multiple of the page size.
  uint64_t raw_budget_bytes = 4 << 20;   // Raw stack slices that may wait in the ring.
  uint32_t target_pids = 0;              // Processes that can be targets by their number.
  bool cpu_clock = true;                 // False: no ticks, and frequency_hz means nothing.
  bool off_cpu = false;                  // Waits from the start on.
  uint32_t off_cpu_rate = 200;           // Stacks of waiting threads that a CPU takes a second.
  uint32_t off_cpu_threads = 16384;      // That can be followed at once.
  bool page_faults = false;
  uint64_t page_fault_period = 113;  // Page faults a sample, ClosestPageFaultPeriod() of it.
  context_mode context = CONTEXT_MODE_OFF;
  RuntimeSet refused_runtimes = 0;  // For tests: walks that the verifier is to refuse.
};

class Sampler : public SampleRing {
 public:
  // Loads the programs; nothing runs yet.
  static absl::StatusOr<std::unique_ptr<Sampler>> Create(const SamplerSettings& settings);
  ~Sampler() override;
  // What is not sampled though the settings ask for it, and why.
  const std::vector<std::string>& warnings() const;
  // Runtimes whose walk the kernel's verifier has refused; warnings() say so too.
  RuntimeSet left_out_runtimes() const;

  // Whom each capture samples. Any time; takes effect at the next tick. Start() and StartCapture()
  // look for descendants.
  CaptureTargets& targets();

  // What a capture beside capture 0 is made of.
  struct CaptureSources {
    double frequency_hz = 0;  // 0: no on-CPU samples.
    bool off_cpu = false, page_faults = false;
    bool deadly_signals = false;  // The last stacks of threads that a signal ends.
  };
  // Its samples flow from now on. `capture`: 1 to MAX_CAPTURES - 1, whose targets() are chosen.
  // The first one that wants waits, or last stacks, has their programs loaded, which takes some
  // seconds of CPU.
  // Errors: ResourceExhausted (14 captures of other rates run); as Start(); FailedPrecondition
  // (this kernel refuses these programs).
  absl::Status StartCapture(int capture, const CaptureSources& sources);
  // Another rate, as SetFrequency().
  absl::StatusOr<uint64_t> SetCaptureFrequency(int capture, double frequency_hz);
  // No more samples of it, and no targets.
  void StopCapture(int capture);
  // The most samples that all captures but capture 0 may take together, a second and CPU; 0: any.
  void SetCaptureBudget(double samples_a_second);

  // Opens a clock on every online CPU and lets samples flow. Errors: also ResourceExhausted: the
  // targets have too many descendants.
  absl::Status Start();
  // Follows CPUs that came or went. Cheap; call it once a second.
  absl::Status FollowCpus(std::span<const int> online);
  // Another rate, from each CPU's next tick on. Returns the moment (CLOCK_BOOTTIME) from which on
  // samples are of the new rate; those before it are of the old one. (Where one new period is
  // shorter than this call takes, about 5 us a CPU, the first few of the new rate can lie before
  // it.)
  absl::StatusOr<uint64_t> SetFrequency(double frequency_hz);
  // Another number of stacks of waits a second and CPU, at least one; from the next window of 100
  // ms on. Values stay right, because each wait has its own weight.
  void SetOffCpuRate(uint32_t rate);
  // False: samples take no slices of stacks along any more, and a walk without a table goes on by
  // frame pointers. True: as the settings have it.
  void AllowSlices(bool allow);
  // For tests: the next sample that hits user code also sends its process SIGSTOP, once a call. The
  // process is then stopped at the sampled instruction.
  void StopOnNextSample();
  // No more ticks; records already in the ring stay readable.
  void Stop();

  void WaitForSamples() override;
  void WakeSampleReader() override;
  int ReadSamples(const TakeRecord& take) override;
  void ReturnRawBudget(uint64_t bytes) override;
  // Have the programs of waits been loaded?
  bool FollowsWaits() const;
  // What all threads have waited, and stacks (OffCpuPrograms::ListWaiting()). A thread that has
  // waited for `due_ns` since its last stack is due one. Nothing happens where waits are not
  // sampled. Errors: Internal: the list broke off.
  absl::Status ListWaiting(uint64_t due_ns, const TakeRecord& take);
  // Is the thread known to the programs of waits?
  bool FollowsThread(uint32_t tid) const;
  // When the thread has left its CPU, if it waits now and its stack was taken (CLOCK_BOOTTIME).
  std::optional<uint64_t> WaitsSince(uint32_t tid) const;

  // Calls `take` for every miss that is waiting, after waiting up to `timeout_ms` (-1: without an
  // end) for one. Returns how many.
  int ReadMisses(int timeout_ms, const TakeRecord& take);
  // Ends the wait of ReadMisses(), or of its next call. Any thread.
  void WakeMissReader();

  // Sums over the CPUs.
  counters Counters() const;
  // Where the unwind tables go; lives as long as this.
  RowMemory& row_memory();
  // Where the layouts of interpreters go; lives as long as this.
  RuntimeMemory& runtime_memory();
  // Where processes' thread contexts go; lives as long as this.
  ContextMemory& context_memory();
  // Bytes of all BPF maps, as the kernel accounts them (fdinfo memlock). Cheap.
  uint64_t MapBytes() const;
  // Of these, what does not change while this lives: all but the row memory's chunks.
  uint64_t FixedMapBytes() const;
  // {program, run time ns, runs}: zeros unless kernel.bpf_stats_enabled is 1.
  struct ProgramCost {
    std::string program;
    uint64_t run_time_ns = 0, runs = 0;
    uint32_t verified_instructions = 0;
  };
  std::vector<ProgramCost> ProgramCosts() const;

 private:
  class Impl;
  explicit Sampler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_SAMPLER_H_
