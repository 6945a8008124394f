// Batches whose bytes mean nothing: a transport and the queue never look inside.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_TEST_BATCHES_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_TEST_BATCHES_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "reporter/export/delivery_counts.h"
#include "reporter/export/signal_traits.h"

namespace stackray {

inline Payload MakeBatch(std::string bytes, uint64_t items, uint64_t markers = 0) {
  return Payload::Of(Signal::kProfiles, std::move(bytes), items, markers);
}
inline Payload MakeBatch(std::string_view bytes, uint64_t items) {
  return MakeBatch(std::string(bytes), items);
}
inline Payload MakeBatch(const char* bytes, uint64_t items, uint64_t markers = 0) {
  return MakeBatch(std::string(bytes), items, markers);
}

// Of profiles, but split in another way.
inline SignalTraits SplitBy(std::function<std::vector<Payload>(const Payload&)> halve) {
  SignalTraits traits = TraitsOf(Signal::kProfiles);
  traits.halve = std::move(halve);
  return traits;
}

// One byte is one item, so a half of the bytes is a half of the items.
inline std::vector<Payload> HalveBytes(const Payload& batch) {
  const size_t middle = batch.bytes.size() / 2;
  if (middle == 0) return {};
  return {MakeBatch(batch.bytes.substr(0, middle), middle),
          MakeBatch(batch.bytes.substr(middle), batch.bytes.size() - middle)};
}
// A half of the bytes has a half of the items.
inline std::vector<Payload> HalveItems(const Payload& batch) {
  const size_t middle = batch.bytes.size() / 2;
  return {MakeBatch(batch.bytes.substr(0, middle), batch.items / 2),
          MakeBatch(batch.bytes.substr(middle), batch.items - batch.items / 2)};
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
  ItemCount sum = counts.delivered;
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
