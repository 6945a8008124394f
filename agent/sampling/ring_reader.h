// The thread that empties the ring of samples whenever the kernel asks for it. The ring has room for seconds of samples, but
// for a few large stacks only (rustc's have 600 KB), and the sample loop may be busy for a tenth of a second: it reads the
// symbols of programs that begin.
//
// Threads: the loop's calls Take(); the reader's own ends with this object.
#ifndef STACKRAY_AGENT_SAMPLING_RING_READER_H_
#define STACKRAY_AGENT_SAMPLING_RING_READER_H_

#include <atomic>
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
  RingReader(SampleRing& ring, SampleWalk& walk) : ring_(ring), intake_(walk) {}
  ~RingReader();
  RingReader(const RingReader&) = delete;

  void Start();
  // Waits up to `timeout_ms` until the kernel has asked for a reading, reads what is in the ring, as far as there is room, and calls
  // `take` for all that has come. Returns how many.
  int Take(int timeout_ms, const RingIntake::Take& take);
  // Reads what is in the ring, as far as there is room: walks that BPF could not end are finished now. Threads: any.
  void ReadNow();

 private:
  void Run();
  int Read();  // How many.

  SampleRing& ring_;
  absl::Mutex reading_;
  RingIntake intake_ ABSL_GUARDED_BY(reading_);
  RecordQueue queue_;  // Filled under `reading_`, so that it has the ring's order.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_RING_READER_H_
