#include "agent/sampling/ring_reader.h"

#include <pthread.h>

#include "absl/time/time.h"

namespace stackray {

RingReader::~RingReader() {
  stopping_ = true;
  queue_.Close();
  ring_.WakeSampleReader();
  if (thread_.joinable()) thread_.join();
}

void RingReader::Start() {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "stackray-ring");
}

void RingReader::Run() {
  while (!stopping_) {
    ring_.WaitForSamples();
    while (queue_.WaitForRoom() && Read() > 0) continue;
  }
}

int RingReader::Read() {
  const absl::MutexLock lock(&reading_);
  const auto add = [this](const TakenRecord& record) { queue_.Add(record); };
  return ring_.ReadSamples([&](std::span<const uint8_t> bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                               reading_) { ring_.ReturnRawBudget(intake_.Add(bytes, add)); });
}

int RingReader::Take(int timeout_ms, const RingIntake::Take& take) {
  if (timeout_ms > 0) queue_.WaitForRecord(absl::Milliseconds(timeout_ms));
  ReadNow();
  return queue_.TakeAll(take);
}

void RingReader::ReadNow() {
  if (queue_.HasRoom()) Read();
}

}  // namespace stackray
