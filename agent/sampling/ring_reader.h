// The thread that empties the ring of samples whenever the kernel asks for it. The ring has room
// for seconds of samples, but for a few large stacks only (rustc's have 600 KB), and the sample
// loop may be busy for a tenth of a second: it reads the symbols of programs that begin. The thread
// has priority over what is measured (thread_priority.h): on a host with a dozen busy programs for
// each CPU the ring would else be full before its turn came. For that reason the loop leaves the
// reading to it.
//
// Threads: the loop's calls Take(); the reader's own ends with this object.
#ifndef STACKRAY_AGENT_SAMPLING_RING_READER_H_
#define STACKRAY_AGENT_SAMPLING_RING_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/sampling/record_queue.h"
#include "agent/sampling/ring_intake.h"
#include "kernel/sample_ring.h"

namespace stackray {

class RingReader {
 public:
  // Both outlive this. Without Start() the ring is read by Take() alone.
  RingReader(SampleRing& ring, SampleWalk& walk, size_t queue_bytes = RecordQueue::kMaxBytes)
      : ring_(ring), intake_(walk), queue_(queue_bytes) {}
  ~RingReader();
  RingReader(const RingReader&) = delete;

  void Start();
  // Waits up to `timeout_ms` until the kernel has asked for a reading, reads what is in the ring,
  // as far as there is room, and calls `take` for all that has come. Returns how many.
  int Take(int timeout_ms, const RingIntake::Take& take);
  // Ends the wait of Take(), or of its next call. Threads: any.
  void WakeTaker() { queue_.Wake(); }
  // Reads what is in the ring, as far as there is room: walks that BPF could not end are finished
  // now. Threads: any.
  void ReadNow();

 private:
  void Run();
  // Has the thread read what is in the ring, and waits for that, but not for long.
  void AskForReading();
  int Read();  // How many.

  SampleRing& ring_;
  absl::Mutex reading_;
  RingIntake intake_ ABSL_GUARDED_BY(reading_);
  RecordQueue queue_;  // Filled under `reading_`, so that it has the ring's order.
  std::atomic<bool> stopping_{false};
  absl::Mutex asking_;
  uint64_t asked_ ABSL_GUARDED_BY(asking_) = 0, done_ ABSL_GUARDED_BY(asking_) = 0;
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_RING_READER_H_
