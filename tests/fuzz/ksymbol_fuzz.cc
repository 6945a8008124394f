// libs: stackray_kernel_symbols
// Perf's ring of KSYMBOL records, uevents, and the history that they make, from any bytes: nothing
// comes out that lies outside of its bounds, and reading ends at the ring's head.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernel/code_history.h"
#include "kernel/ksymbol_records.h"
#include "kernel/module_events.h"

namespace {

constexpr size_t kRingBytes = 8192;

void Take(const stackray::CodeEvent& event, stackray::CodeHistory* history) {
  if (event.name.empty() || event.name.size() > stackray::kMaxCodeNameBytes + 8) std::abort();
  if (event.size_bytes == 0 || event.start + event.size_bytes < event.start) std::abort();
  if (event.kind == stackray::CodeEvent::Kind::kEnd) {
    history->End(event.start, event.name, event.time_ns);
    return;
  }
  history->Begin(event.start, event.size_bytes, event.name, event.time_ns);
  const stackray::CodePiece* piece = history->Find(event.start, stackray::kStillThere);
  if (piece == nullptr || piece->name != event.name) std::abort();
}

void CheckRing(std::vector<uint8_t> bytes, uint64_t tail) {
  const size_t used = std::min(bytes.size(), kRingBytes);
  std::vector<uint8_t> ring(kRingBytes);
  for (size_t i = 0; i < used; ++i) ring[(tail + i) % kRingBytes] = bytes[i];
  stackray::CodeHistory history;
  const stackray::PerfRingEnd end = stackray::ReadPerfRing(
      ring, tail, tail + used, [&](const stackray::CodeEvent& event) { Take(event, &history); });
  if (end.tail != tail + used) std::abort();
  uint64_t before = 0;
  for (const auto& [start, piece] : history.live_pieces()) {
    if (start < before || piece.end <= start) std::abort();  // Disjoint.
    before = piece.end;
  }
}

// Records whose lengths add up, with the input's bytes in all other places.
std::vector<uint8_t> Framed(const uint8_t* data, size_t size) {
  std::vector<uint8_t> ring;
  for (size_t at = 0; at + 1 < size && ring.size() + 600 < kRingBytes;) {
    const uint16_t length = static_cast<uint16_t>(40 + data[at] % 65 * 8);
    const size_t start = ring.size(), copied = std::min<size_t>(length, size - at);
    ring.resize(start + length);
    std::memcpy(ring.data() + start, data + at, copied);
    const uint32_t type = data[at + 1] % 8 == 0 ? data[at + 1] : 17;
    std::memcpy(ring.data() + start, &type, sizeof(type));
    std::memcpy(ring.data() + start + 6, &length, sizeof(length));
    at += copied;
  }
  return ring;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const uint64_t tail = size > 1 ? (data[0] << 8 | data[1]) * 8ULL : ~uint64_t{0} - 63;
  CheckRing({data, data + size}, tail);
  CheckRing(Framed(data, size), tail);
  const std::optional<stackray::CodeEvent> module =
      stackray::ParseModuleEvent({reinterpret_cast<const char*>(data), size});
  if (module && (module->name.empty() || module->name.size() > 64)) std::abort();
  return 0;
}
