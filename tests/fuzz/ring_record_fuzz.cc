// libs: stackray_records
// Records of the ring from any bytes: refused, or with every part inside of the record. Besides the
// bytes themselves a valid sample that they edit is tried, and they with a right layout and size,
// so that any seed reaches the inside.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "kernel/raw_sample.h"

namespace {

using Words = std::vector<uint64_t>;  // Aligned as the ring's records are.

template <typename T>
void ExpectInside(std::span<const uint8_t> record, std::span<const T> part) {
  const auto* begin = reinterpret_cast<const uint8_t*>(part.data());
  if (part.empty()) return;
  if (begin < record.data() || begin + part.size_bytes() > record.data() + record.size())
    std::abort();
}

void Check(std::span<const uint8_t> bytes) {
  const absl::StatusOr<stackray::Record> record = stackray::DecodeRecord(bytes);
  if (!record.ok()) return;
  if (const auto* code = std::get_if<stackray::CodeMemory>(&*record)) {
    if (code->pieces.size() > code->bytes.size()) std::abort();
    for (size_t i = 0; i < code->pieces.size(); ++i) ExpectInside(bytes, code->bytes[i]);
  }
  if (const auto* piece = std::get_if<stackray::StackPiece>(&*record))
    ExpectInside(bytes, piece->bytes);
  const auto* sample = std::get_if<stackray::RawSample>(&*record);
  if (sample == nullptr) return;
  ExpectInside(bytes, sample->kernel);
  ExpectInside(bytes, sample->user);
  ExpectInside(bytes, sample->ranges);
  ExpectInside(bytes, sample->raw_stack);
  if (sample->asked != nullptr) {
    ExpectInside(bytes, std::span(sample->asked, 1));
    if (sample->asked->user_words > sample->user.size()) std::abort();
  }
  if (stackray::CommandText(sample->record->leader_command).size() > COMMAND_BYTES) std::abort();
  size_t at = 0;
  for (; at < sample->user.size(); at += stackray::FrameWordCount(sample->user[at]))
    if (stackray::IsNativeKind(stackray::FrameWordKind(sample->user[at])) &&
        stackray::FrameWordRange(sample->user[at]) >= sample->ranges.size())
      std::abort();
  if (at != sample->user.size()) std::abort();
}

Words ValidSample() {
  Words words((sizeof(sample_record) + 8 * 4 + sizeof(code_range) + 64) / 8);
  auto* record = reinterpret_cast<sample_record*>(words.data());
  record->header = {.layout = RECORD_LAYOUT_VERSION,
                    .type = RECORD_SAMPLE,
                    .size_bytes = static_cast<u32>(words.size() * 8),
                    .time_ns = 1};
  record->kernel_count = 2;
  record->user_words = 2;
  record->range_count = 1;
  record->raw_bytes = 64;
  auto* range = reinterpret_cast<code_range*>(&words[sizeof(sample_record) / 8 + 4]);
  range->end = 4096;
  range->kind = RANGE_FILE;
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Words copy((size + 7) / 8);
  if (size != 0) std::memcpy(copy.data(), data, size);
  const auto* bytes = reinterpret_cast<const uint8_t*>(copy.data());
  Check({bytes, size});
  if (size >= sizeof(record_header)) {
    auto* header = reinterpret_cast<record_header*>(copy.data());
    header->layout = RECORD_LAYOUT_VERSION;
    header->size_bytes = static_cast<u32>(copy.size() * 8);
    Check({bytes, copy.size() * 8});
  }
  Words edited = ValidSample();
  auto* edited_bytes = reinterpret_cast<uint8_t*>(edited.data());
  if (!stackray::DecodeRecord({edited_bytes, edited.size() * 8}).ok()) std::abort();
  for (size_t i = 0; i + 2 < size && i < 30; i += 3)
    edited_bytes[(data[i] << 8 | data[i + 1]) % (edited.size() * 8)] = data[i + 2];
  Check({edited_bytes, edited.size() * 8});
  return 0;
}
