// Batches whose bytes mean nothing: a transport and the queue never look inside.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_TEST_BATCHES_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_TEST_BATCHES_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "reporter/batch.h"
#include "reporter/export/delivery_counts.h"

namespace stackray {

inline SealedBatchPtr MakeBatch(std::string bytes, uint64_t samples, uint64_t markers = 0) {
  auto batch = std::make_shared<SealedBatch>();
  batch->bytes = std::move(bytes);
  batch->samples = samples;
  batch->lost_samples = markers;
  return batch;
}

// Bytes that gzip cannot shrink much, different for each seed.
inline std::string NoiseBytes(size_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& c : bytes) {
    state = state * 1664525u + 1013904223u;
    c = static_cast<char>(state >> 24);
  }
  return bytes;
}

inline bool AddsUp(const DeliveryCounts& counts) {
  SampleCount sum = counts.delivered;
  sum += counts.LostInAll();
  sum += counts.in_flight;
  return sum == counts.produced;
}

// For what another thread is about to do; false after 20 s.
inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_TEST_BATCHES_H_
