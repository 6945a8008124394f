// A repeatable random life of a batch: event i is the same whenever and into whichever batch it is
// added. Names hold any bytes, processes and mappings come and go, some mappings are no use.
#ifndef STACKRAY_TESTS_REPORTER_BATCH_EVENTS_H_
#define STACKRAY_TESTS_REPORTER_BATCH_EVENTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reporter/batch.h"

namespace stackray {

class BatchEvents {
 public:
  BatchEvents(uint32_t seed, bool keep_timestamps)
      : seed_(seed), keep_timestamps_(keep_timestamps) {}

  BatchBuilder NewBatch() const {
    return BatchBuilder({.frequency_hz = 99,
                         .keep_timestamps = keep_timestamps_,
                         .cpu_attribute = seed_ % 2 == 0,
                         .host_name = "host",
                         .agent_version = "0.1"});
  }
  // A batch of the events first … first + length - 1.
  BatchBuilder Replay(int first, int length) const {
    BatchBuilder batch = NewBatch();
    for (int i = first; i < first + length; ++i) Add(i, &batch);
    return batch;
  }
  // One sample, with all that it needs.
  void Add(int i, BatchBuilder* batch) const;

 private:
  static uint32_t Next(std::mt19937* random, uint32_t below) { return (*random)() % below; }
  static std::string Text(std::mt19937* random);
  FrameKey RandomKey(std::mt19937* random) const;
  FrameSymbols Resolve(const FrameKey& key) const;
  static MappingInfo Describe(MappingKey key);

  uint32_t seed_;
  bool keep_timestamps_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_BATCH_EVENTS_H_
