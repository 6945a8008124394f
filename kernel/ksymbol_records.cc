#include "kernel/ksymbol_records.h"

#include <linux/perf_event.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

struct KsymbolHead {
  perf_event_header header;
  uint64_t address;
  uint32_t size_bytes;
  uint16_t kind, flags;
};
static_assert(sizeof(KsymbolHead) == 24, "the name follows at 24");
constexpr size_t kTimeBytes = 8;
constexpr size_t kMaxRecordBytes = sizeof(KsymbolHead) + kMaxCodeNameBytes + 8 + kTimeBytes;

template <typename T>
T Load(std::span<const uint8_t> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// `size` bytes at `position` of the ring, put together where they wrap around.
void CopyFromRing(std::span<const uint8_t> data, uint64_t position, std::span<uint8_t> out) {
  const size_t at = static_cast<size_t>(position & (data.size() - 1));
  const size_t first = std::min(out.size(), data.size() - at);
  std::memcpy(out.data(), data.data() + at, first);
  std::memcpy(out.data() + first, data.data(), out.size() - first);
}

}  // namespace

std::optional<CodeEvent> ParseKsymbol(std::span<const uint8_t> record) {
  if (record.size() < sizeof(KsymbolHead) + kTimeBytes || record.size() > kMaxRecordBytes)
    return std::nullopt;
  const auto head = Load<KsymbolHead>(record);
  if (head.header.type != PERF_RECORD_KSYMBOL || head.header.size != record.size())
    return std::nullopt;
  const std::span<const uint8_t> padded =
      record.subspan(sizeof(KsymbolHead), record.size() - sizeof(KsymbolHead) - kTimeBytes);
  std::string_view name(reinterpret_cast<const char*>(padded.data()), padded.size());
  const size_t end = name.find('\0');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  name = name.substr(0, end);
  if (head.size_bytes == 0 || head.address > std::numeric_limits<uint64_t>::max() - head.size_bytes)
    return std::nullopt;
  CodeEvent event;
  event.kind = (head.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0 ? CodeEvent::Kind::kEnd
                                                                        : CodeEvent::Kind::kBegin;
  event.time_ns = Load<uint64_t>(record.last(kTimeBytes));
  event.start = head.address;
  event.size_bytes = head.size_bytes;
  event.name = std::string(name);
  return event;
}

PerfRingEnd ReadPerfRing(std::span<const uint8_t> data, uint64_t tail, uint64_t head,
                         const std::function<void(CodeEvent)>& take) {
  PerfRingEnd end{.tail = head};
  if (!std::has_single_bit(data.size()) || head - tail > data.size()) {
    end.intact = false;
    return end;
  }
  // A record that does not fit any more is lost, and the kernel says so only with the next one.
  if (data.size() - (head - tail) < kMaxRecordBytes) end.intact = false;
  while (tail != head) {
    std::array<uint8_t, sizeof(perf_event_header)> start;
    if (head - tail < start.size()) break;
    CopyFromRing(data, tail, start);
    const auto header = Load<perf_event_header>(start);
    if (header.size < start.size() || header.size > head - tail) break;
    std::array<uint8_t, kMaxRecordBytes> record;
    if (header.type == PERF_RECORD_KSYMBOL && header.size <= record.size()) {
      const std::span<uint8_t> bytes = std::span(record).first(header.size);
      CopyFromRing(data, tail, bytes);
      if (std::optional<CodeEvent> event = ParseKsymbol(bytes)) take(*std::move(event));
    } else {
      end.intact =
          end.intact && header.type != PERF_RECORD_LOST && header.type != PERF_RECORD_KSYMBOL;
    }
    tail += header.size;
  }
  end.intact = end.intact && tail == head;
  return end;
}

}  // namespace stackray
