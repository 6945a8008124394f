#include "agent/sampling/record_queue.h"

#include <cstring>
#include <utility>

#include "bpf/shared/records.h"

namespace stackray {
namespace {

// What a burst has taken goes back when it is over.
constexpr size_t kMostKeptWords = 32 << 10;

void CutSlice(uint64_t* words, size_t bytes) {
  auto* record = reinterpret_cast<sample_record*>(words);
  record->header.size_bytes = static_cast<u32>(bytes);
  record->raw_bytes = 0;
}

}  // namespace

void RecordQueue::Add(const TakenRecord& record) {
  const size_t bytes = record.bytes.size() - record.slice_bytes;
  const absl::MutexLock lock(&mutex_);
  Entry entry{.first_word = waiting_.words.size(), .bytes = bytes, .finished = {}};
  waiting_.words.resize(waiting_.words.size() + (bytes + 7) / 8);
  uint64_t* const words = waiting_.words.data() + entry.first_word;
  const size_t head_bytes = bytes - record.tail_bytes;
  std::memcpy(words, record.bytes.data(), head_bytes);
  if (record.tail_bytes != 0)
    std::memcpy(reinterpret_cast<uint8_t*>(words) + head_bytes,
                record.bytes.data() + head_bytes + record.slice_bytes, record.tail_bytes);
  if (record.slice_bytes != 0) CutSlice(words, bytes);
  waiting_.bytes += bytes + sizeof(entry);
  if (record.finished != nullptr) {
    entry.finished = waiting_.finished.size();
    waiting_.finished.push_back(*record.finished);
    waiting_.bytes += sizeof(WalkResult) + record.finished->words.size() * sizeof(uint64_t) +
                      record.finished->ranges.size() * sizeof(code_range);
  }
  waiting_.entries.push_back(entry);
}

bool RecordQueue::HasRoom() const {
  const absl::MutexLock lock(&mutex_);
  return HasRoomLocked();
}

bool RecordQueue::WaitForRoom() {
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &RecordQueue::HasRoomOrIsClosed));
  return !closed_;
}

void RecordQueue::Close() {
  const absl::MutexLock lock(&mutex_);
  closed_ = true;
}

void RecordQueue::Wake() {
  const absl::MutexLock lock(&mutex_);
  woken_ = true;
}

void RecordQueue::WaitForRecord(absl::Duration timeout) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(this, &RecordQueue::HasRecordOrIsWoken), timeout);
  woken_ = false;
}

int RecordQueue::TakeAll(const RingIntake::Take& take) {
  {
    const absl::MutexLock lock(&mutex_);
    std::swap(waiting_, taken_);
    taken_bytes_ = taken_.bytes;
  }
  for (const Entry& entry : taken_.entries)
    take({{reinterpret_cast<const uint8_t*>(taken_.words.data() + entry.first_word), entry.bytes},
          entry.finished ? &taken_.finished[*entry.finished] : nullptr});
  const auto count = static_cast<int>(taken_.entries.size());
  if (taken_.words.capacity() > kMostKeptWords) taken_ = {};
  taken_.words.clear();
  taken_.entries.clear();
  taken_.finished.clear();
  taken_.bytes = 0;
  const absl::MutexLock lock(&mutex_);
  taken_bytes_ = 0;
  return count;
}

}  // namespace stackray
