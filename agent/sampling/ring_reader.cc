#include "agent/sampling/ring_reader.h"

#include <pthread.h>

#include "absl/time/time.h"
#include "agent/privileges/thread_priority.h"

namespace stackray {
namespace {

constexpr absl::Duration kLongestReading = absl::Milliseconds(50);

}  // namespace

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
  PreferThisThread();
  while (!stopping_) {
    ring_.WaitForSamples();
    uint64_t asked;
    {
      const absl::MutexLock lock(&asking_);
      asked = asked_;
    }
    while (queue_.WaitForRoom() && Read() > 0) continue;
    const absl::MutexLock lock(&asking_);
    done_ = asked;
  }
}

void RingReader::AskForReading() {
  if (!queue_.HasRoom()) return;
  const absl::MutexLock lock(&asking_);
  const uint64_t wanted = ++asked_;
  ring_.WakeSampleReader();
  const auto is_done = [&]() ABSL_SHARED_LOCKS_REQUIRED(asking_) { return done_ >= wanted; };
  asking_.AwaitWithTimeout(absl::Condition(&is_done), kLongestReading);
}

int RingReader::Read() {
  const absl::MutexLock lock(&reading_);
  const auto add = [this](const TakenRecord& record) { queue_.Add(record); };
  return ring_.ReadSamples([&](std::span<const uint8_t> bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                               reading_) { ring_.ReturnRawBudget(intake_.Add(bytes, add)); });
}

int RingReader::Take(int timeout_ms, const RingIntake::Take& take) {
  if (timeout_ms > 0) queue_.WaitForRecord(absl::Milliseconds(timeout_ms));
  if (timeout_ms > 0 && thread_.joinable()) {
    AskForReading();
  } else {
    ReadNow();
  }
  return queue_.TakeAll(take);
}

void RingReader::ReadNow() {
  if (queue_.HasRoom()) Read();
}

}  // namespace stackray
