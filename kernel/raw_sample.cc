#include "kernel/raw_sample.h"

#include <cstddef>
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

// Do the first `count` of the words end with a frame's last one?
bool EndsWithFrame(std::span<const uint64_t> words, size_t count) {
  size_t at = 0;
  while (at < count && at < words.size()) at += FrameWordCount(words[at]);
  return at == count && count > 0;
}

// Every native frame and every run's end must name a range that is there, every other have all its
// words.
bool WordsAreSane(std::span<const uint64_t> words, size_t range_count) {
  for (size_t i = 0; i < words.size(); i += FrameWordCount(words[i])) {
    const uint64_t kind = FrameWordKind(words[i]);
    if (FrameWordCount(words[i]) > words.size() - i) return false;
    if (NamesRange(words[i]) ? FrameWordRange(words[i]) >= range_count
                             : kind != FRAME_NO_RANGE && kind != FRAME_RUNTIME)
      return false;
  }
  return true;
}

absl::StatusOr<Record> DecodeSample(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(sample_record)) return Damaged("sample shorter than its fixed part");
  const auto* record = reinterpret_cast<const sample_record*>(bytes.data());
  if (record->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
      record->user_words > SAMPLE_MAX_USER_WORDS || record->range_count > SAMPLE_MAX_RANGES ||
      record->probed_count > MAX_PROBED_RETURNS || record->raw_bytes > RAW_STACK_MAX_BYTES ||
      record->end >= END_REASON_COUNT || record->origin >= ORIGIN_COUNT ||
      record->weight_shift > MAX_WEIGHT_SHIFT) {
    return Damaged("a count over its bound");
  }
  const size_t asked = (record->flags & SAMPLE_ASKS) != 0 ? sizeof(asked_walk) : 0;
  const size_t want = sizeof(sample_record) + asked + 8 * size_t{record->kernel_count} +
                      8 * size_t{record->user_words} +
                      sizeof(code_range) * size_t{record->range_count} +
                      sizeof(probed_return) * size_t{record->probed_count} + record->raw_bytes;
  const bool has_context = (record->more_flags & SAMPLE_HAS_CONTEXT >> SAMPLE_MORE_SHIFT) != 0;
  if (has_context ? want > bytes.size() : want != bytes.size())
    return Damaged("sample's parts do not add up to its size");
  const uint8_t* at = bytes.data() + sizeof(sample_record);
  RawSample sample{.record = record};
  sample.kernel = {reinterpret_cast<const uint64_t*>(at), record->kernel_count};
  at += sample.kernel.size_bytes();
  sample.user = {reinterpret_cast<const uint64_t*>(at), record->user_words};
  at += sample.user.size_bytes();
  sample.ranges = {reinterpret_cast<const code_range*>(at), record->range_count};
  at += sample.ranges.size_bytes();
  sample.probed_returns = {reinterpret_cast<const probed_return*>(at), record->probed_count};
  at += sample.probed_returns.size_bytes();
  if (asked != 0) sample.asked = reinterpret_cast<const asked_walk*>(at);
  sample.raw_stack = {at + asked, record->raw_bytes};
  sample.context = bytes.subspan(want);
  if (has_context && (record->raw_bytes % 8 != 0 || !DecodeContext(sample.context)))
    return Damaged("a context that is none, or of a wrong size");
  for (const code_range& range : sample.ranges)
    if (!RangeIsSane(range))
      return Damaged("a range that ends before it starts, or of no known kind");
  if (!WordsAreSane(sample.user, sample.ranges.size()))
    return Damaged("a frame of no known kind or range");
  if (sample.asked != nullptr && !EndsWithFrame(sample.user, sample.asked->user_words))
    sample.asked = nullptr;
  return sample;
}

absl::StatusOr<Record> DecodeEvent(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(process_record)) return Damaged("process event of a wrong size");
  const auto* record = reinterpret_cast<const process_record*>(bytes.data());
  const size_t path = record->path_bytes, cgroup = record->cgroup_bytes,
               cgroup_v1 = record->cgroup_v1_bytes, names = path + cgroup + cgroup_v1;
  if (names > EVENT_NAME_BYTES || sizeof(process_record) + (names + 7) / 8 * 8 != bytes.size())
    return Damaged("process event's names do not add up to its size");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof(process_record),
                              names);
  ProcessEvent event{.record = record,
                     .executable = text.substr(0, path),
                     .cgroup = text.substr(path, cgroup),
                     .cgroup_v1 = text.substr(path + cgroup),
                     .cgroups = text.substr(path)};
  for (std::string_view part : {event.executable, event.cgroup, event.cgroup_v1})
    if (!part.empty() && part.back() != '\0') return Damaged("a name without its end");
  return event;
}

absl::StatusOr<Record> DecodeCode(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(code_record)) return Damaged("code shorter than its fixed part");
  const auto* record = reinterpret_cast<const code_record*>(bytes.data());
  if (record->piece_count > CODE_MAX_PIECES) return Damaged("a count over its bound");
  CodeMemory code{.record = record, .pieces = {record->pieces, record->piece_count}};
  size_t at = sizeof(code_record);
  for (size_t i = 0; i < code.pieces.size(); ++i) {
    const size_t size = code.pieces[i].bytes, padded = (size + 7) / 8 * 8;
    if (size > CODE_PIECE_MAX_BYTES || padded > bytes.size() - at)
      return Damaged("code's pieces do not add up to its size");
    code.bytes[i] = bytes.subspan(at, size);
    at += padded;
  }
  if (at != bytes.size()) return Damaged("code's pieces do not add up to its size");
  return code;
}

absl::StatusOr<Record> DecodeStack(std::span<const uint8_t> bytes) {
  if (bytes.size() != sizeof(stack_record)) return Damaged("piece of a stack of a wrong size");
  const auto* record = reinterpret_cast<const stack_record*>(bytes.data());
  if (record->bytes_used > STACK_PIECE_BYTES || record->bytes_used % 8 != 0 ||
      record->address > UINT64_MAX - STACK_PIECE_BYTES)
    return Damaged("piece of a stack that is larger than its record, or ends behind all memory");
  return StackPiece{record, bytes.subspan(offsetof(stack_record, bytes), record->bytes_used)};
}

absl::StatusOr<Record> DecodeWaitEnd(std::span<const uint8_t> bytes) {
  if (bytes.size() != sizeof(wait_end_record)) return Damaged("end of a wait of a wrong size");
  const auto* record = reinterpret_cast<const wait_end_record*>(bytes.data());
  if (record->out_ns > record->header.time_ns) return Damaged("wait that ends before it begins");
  return WaitEnd{record};
}

absl::StatusOr<Record> DecodeWaited(std::span<const uint8_t> bytes) {
  if (bytes.size() != sizeof(waited_record)) return Damaged("sum of waits of a wrong size");
  return Waited{reinterpret_cast<const waited_record*>(bytes.data())};
}

}  // namespace

std::optional<ThreadContextPart> DecodeContext(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(context_part)) return std::nullopt;
  const auto* part = reinterpret_cast<const context_part*>(bytes.data());
  const size_t padded = (size_t{part->label_bytes} + 7) / 8 * 8;
  if (part->kind == CONTEXT_NONE || part->kind >= CONTEXT_KINDS ||
      part->label_bytes > CONTEXT_LABEL_BYTES || sizeof(context_part) + padded != bytes.size())
    return std::nullopt;
  return ThreadContextPart{part, bytes.subspan(sizeof(context_part), part->label_bytes)};
}

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
    case RECORD_EXISTING:
    case RECORD_MOVED: return DecodeEvent(bytes);
    case RECORD_CODE: return DecodeCode(bytes);
    case RECORD_STACK: return DecodeStack(bytes);
    case RECORD_WAIT_END: return DecodeWaitEnd(bytes);
    case RECORD_WAITED: return DecodeWaited(bytes);
    case RECORD_MISS: {
      if (bytes.size() != sizeof(miss_record)) return Damaged("table miss of a wrong size");
      const auto* miss = reinterpret_cast<const miss_record*>(bytes.data());
      if (!RangeIsSane(miss->range)) return Damaged("table miss with an impossible range");
      return TableMiss{miss};
    }
  }
  return absl::UnimplementedError("record of an unknown type");
}

std::string PathOf(std::string_view components) {
  std::string path;
  path.reserve(components.size());
  while (!components.empty()) {
    components.remove_suffix(1);  // Its NUL.
    const size_t before = components.rfind('\0');
    const size_t start = before == std::string_view::npos ? 0 : before + 1;
    path += '/';
    path += components.substr(start);
    components = components.substr(0, start);
  }
  return path;
}

std::string_view CommandText(const char (&command)[COMMAND_BYTES]) {
  return {command, strnlen(command, COMMAND_BYTES)};
}

}  // namespace stackray
