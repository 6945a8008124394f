#include "kernel/raw_sample.h"

#include <cstring>

#include "absl/status/status.h"

namespace stackray {
namespace {

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(std::string("record from the ring: ") + std::string(what));
}

bool RangeIsSane(const code_range& range) {
  return range.start < range.end && range.kind >= RANGE_FILE && range.kind <= RANGE_ANON;
}

// Every frame word must name a range that is there.
bool WordIsSane(uint64_t word, size_t range_count) {
  const uint64_t kind = FrameWordKind(word);
  if (kind == FRAME_NO_RANGE) return true;
  return (kind == FRAME_RETURN || kind == FRAME_EXACT) && FrameWordRange(word) < range_count;
}

absl::StatusOr<Record> DecodeSample(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(sample_record)) return Damaged("sample shorter than its fixed part");
  const auto* record = reinterpret_cast<const sample_record*>(bytes.data());
  if (record->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
      record->user_words > SAMPLE_MAX_USER_WORDS || record->range_count > SAMPLE_MAX_RANGES ||
      record->raw_bytes > RAW_STACK_MAX_BYTES || record->end >= END_REASON_COUNT) {
    return Damaged("a count over its bound");
  }
  const size_t want = sizeof(sample_record) + 8 * size_t{record->kernel_count} +
                      8 * size_t{record->user_words} +
                      sizeof(code_range) * size_t{record->range_count} + record->raw_bytes;
  if (want != bytes.size()) return Damaged("sample's parts do not add up to its size");
  const uint8_t* at = bytes.data() + sizeof(sample_record);
  RawSample sample{.record = record};
  sample.kernel = {reinterpret_cast<const uint64_t*>(at), record->kernel_count};
  at += sample.kernel.size_bytes();
  sample.user = {reinterpret_cast<const uint64_t*>(at), record->user_words};
  at += sample.user.size_bytes();
  sample.ranges = {reinterpret_cast<const code_range*>(at), record->range_count};
  at += sample.ranges.size_bytes();
  sample.raw_stack = {at, record->raw_bytes};
  for (const code_range& range : sample.ranges)
    if (!RangeIsSane(range))
      return Damaged("a range that ends before it starts, or of no known kind");
  for (uint64_t word : sample.user)
    if (!WordIsSane(word, sample.ranges.size()))
      return Damaged("a frame of no known kind or range");
  return sample;
}

}  // namespace

absl::StatusOr<Record> DecodeRecord(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(record_header)) return Damaged("shorter than a header");
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) return Damaged("unaligned");
  const auto* header = reinterpret_cast<const record_header*>(bytes.data());
  if (header->layout != RECORD_LAYOUT_VERSION)
    return absl::UnimplementedError("record of another layout version");
  if (header->size_bytes != bytes.size()) return Damaged("size differs from the ring's");
  switch (header->type) {
    case RECORD_SAMPLE: return DecodeSample(bytes);
    case RECORD_EXEC:
    case RECORD_FORK:
    case RECORD_EXIT:
      if (bytes.size() != sizeof(process_record)) return Damaged("process event of a wrong size");
      return ProcessEvent{reinterpret_cast<const process_record*>(bytes.data())};
    case RECORD_MISS: {
      if (bytes.size() != sizeof(miss_record)) return Damaged("table miss of a wrong size");
      const auto* miss = reinterpret_cast<const miss_record*>(bytes.data());
      if (!RangeIsSane(miss->range)) return Damaged("table miss with an impossible range");
      return TableMiss{miss};
    }
  }
  return absl::UnimplementedError("record of an unknown type");
}

std::string_view CommandText(const char (&command)[COMMAND_BYTES]) {
  return {command, strnlen(command, COMMAND_BYTES)};
}

}  // namespace stackray
