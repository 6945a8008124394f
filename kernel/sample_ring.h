// The ring of samples as its readers see it.
#ifndef STACKRAY_KERNEL_SAMPLE_RING_H_
#define STACKRAY_KERNEL_SAMPLE_RING_H_

#include <cstdint>
#include <functional>
#include <span>

namespace stackray {

// Threads: ReadSamples() one at a time, everything else any.
class SampleRing {
 public:
  // The bytes are valid during the call only.
  using TakeRecord = std::function<void(std::span<const uint8_t>)>;

  virtual ~SampleRing() = default;
  // Waits until the kernel wants the ring to be read, or WakeSampleReader() was called. It does not
  // want that for every sample.
  virtual void WaitForSamples() = 0;
  // Ends that wait, or the next one.
  virtual void WakeSampleReader() = 0;
  // Calls `take` for every record that is there, some thousand at most, and returns how many.
  virtual int ReadSamples(const TakeRecord& take) = 0;
  // Gives room for slices of stacks back (bytes), once their records were read.
  virtual void ReturnRawBudget(uint64_t bytes) = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_SAMPLE_RING_H_
