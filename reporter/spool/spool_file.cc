#include "reporter/spool/spool_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace stackray {
namespace {

constexpr std::string_view kMagic = "SRSPOOL2", kOldMagic = "SRSPOOL1";
constexpr uint64_t kVersion = 2;  // What this reader knows.
constexpr size_t kPayloadBytesAt = 8, kItemsAt = 16, kMarkersAt = 24, kStartAt = 32,
                 kDurationAt = 40, kPayloadSumAt = 48, kHeaderBytesAt = 52, kVersionAt = 54,
                 kSignalAt = 56, kReservedAt = 58, kHeaderSumAt = 60;
constexpr size_t kTraceAt = 64, kSpanAt = 80, kParentAt = 88, kSpanStartAt = 96, kSampledAt = 104,
                 kLinkedTraceAt = 112, kLinkedSpanAt = 128;
constexpr size_t kHeaderBytes = SpoolEntry::kHeaderBytes;  // The least.
constexpr size_t kTracedHeaderBytes = SpoolEntry::kTracedHeaderBytes;

uint32_t Checksum(std::string_view bytes, uint32_t before = 0) {
  return static_cast<uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Of all bytes but the sum's own.
uint32_t HeaderSum(std::string_view header) {
  return Checksum(header.substr(kHeaderBytes), Checksum(header.substr(0, kHeaderSumAt)));
}

void Put(std::string& header, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) header[at + i] = static_cast<char>(value >> (8 * i));
}

uint64_t Get(std::string_view header, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<uint8_t>(header[at + i]);
  return value;
}

template <size_t kSize>
void PutId(std::string& header, size_t at, const std::array<uint8_t, kSize>& id) {
  std::memcpy(header.data() + at, id.data(), id.size());
}

template <size_t kSize>
void GetId(std::string_view header, size_t at, std::array<uint8_t, kSize>& id) {
  std::memcpy(id.data(), header.data() + at, id.size());
}

absl::Status Wrong(std::string_view what) { return absl::DataLossError(std::string(what)); }

// The header alone, with all that a later writer may have put behind what is known here.
absl::StatusOr<std::string_view> TakeHeader(std::string_view file) {
  if (file.size() < kHeaderBytes)
    return absl::DataLossError(fmt::format("torn: {} of 64 header bytes", file.size()));
  const bool old = file.starts_with(kOldMagic);
  if (!old && !file.starts_with(kMagic)) return Wrong("does not start as a spool file");
  const uint64_t bytes = old ? kHeaderBytes : Get(file, kHeaderBytesAt, 2);
  if (bytes < kHeaderBytes || bytes > SpoolEntry::kMaxHeaderBytes || bytes > file.size())
    return Wrong("the header's length is not possible");
  const std::string_view header = file.substr(0, bytes);
  if (Get(header, kHeaderSumAt, 4) != HeaderSum(header))
    return Wrong("the header's checksum is wrong");
  return header;
}

// Also whether this reader knows all that it must.
absl::StatusOr<Signal> SignalOf(std::string_view header) {
  if (header.starts_with(kOldMagic)) {
    for (const char c : header.substr(kHeaderBytesAt, kHeaderSumAt - kHeaderBytesAt))
      if (c != 0) return Wrong("the header is not possible");
    return Signal::kProfiles;
  }
  if (const uint64_t version = Get(header, kVersionAt, 2); version > kVersion)
    return absl::DataLossError(
        fmt::format("of format {}, which only a later stackray reads", version));
  const uint64_t signal = Get(header, kSignalAt, 2);
  if (Get(header, kVersionAt, 2) < kVersion || Get(header, kReservedAt, 2) != 0)
    return Wrong("the header is not possible");
  if (signal >= kSignals)
    return absl::DataLossError(fmt::format("of signal {}, which is not known", signal));
  return static_cast<Signal>(signal);
}

void PutTrace(std::string& header, const BatchTrace& trace) {
  PutId(header, kTraceAt, trace.span.trace);
  PutId(header, kSpanAt, trace.span.span);
  PutId(header, kParentAt, trace.parent);
  Put(header, kSpanStartAt, static_cast<uint64_t>(trace.start_unix_ns), 8);
  Put(header, kSampledAt, trace.span.sampled ? 1 : 0, 1);
  PutId(header, kLinkedTraceAt, trace.link.trace);
  PutId(header, kLinkedSpanAt, trace.link.span);
}

// Of a header whose checksum is right. Not valid: it has none.
BatchTrace TraceOf(std::string_view header) {
  BatchTrace trace;
  if (header.size() < kTracedHeaderBytes || header.starts_with(kOldMagic)) return trace;
  GetId(header, kTraceAt, trace.span.trace);
  GetId(header, kSpanAt, trace.span.span);
  if (!trace.span.valid()) return {};
  GetId(header, kParentAt, trace.parent);
  trace.start_unix_ns = static_cast<int64_t>(Get(header, kSpanStartAt, 8));
  trace.span.sampled = Get(header, kSampledAt, 1) == 1;
  GetId(header, kLinkedTraceAt, trace.link.trace);
  GetId(header, kLinkedSpanAt, trace.link.span);
  trace.link.sampled = trace.link.valid();
  if (!trace.link.valid()) trace.link = {};
  return trace;
}

}  // namespace

std::string EncodeSpoolHeader(const Payload& payload) {
  const bool traced = payload.trace.span.valid();
  std::string header(traced ? kTracedHeaderBytes : kHeaderBytes, '\0');
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  Put(header, kPayloadBytesAt, payload.bytes.size(), 8);
  Put(header, kItemsAt, payload.items, 8);
  Put(header, kMarkersAt, payload.markers, 8);
  Put(header, kStartAt, static_cast<uint64_t>(payload.start_unix_ns), 8);
  Put(header, kDurationAt, static_cast<uint64_t>(payload.duration_ns), 8);
  Put(header, kPayloadSumAt, Checksum(payload.bytes), 4);
  Put(header, kHeaderBytesAt, header.size(), 2);
  Put(header, kVersionAt, kVersion, 2);
  Put(header, kSignalAt, static_cast<uint64_t>(payload.signal), 2);
  if (traced) PutTrace(header, payload.trace);
  Put(header, kHeaderSumAt, HeaderSum(header), 4);
  return header;
}

BatchTrace DecodeSpoolTrace(std::string_view file) {
  const absl::StatusOr<std::string_view> header = TakeHeader(file);
  return header.ok() && SignalOf(*header).ok() ? TraceOf(*header) : BatchTrace();
}

absl::StatusOr<Payload> DecodeSpoolFile(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const std::string_view file = *owner;
  const absl::StatusOr<std::string_view> header = TakeHeader(file);
  if (!header.ok()) return header.status();
  const absl::StatusOr<Signal> signal = SignalOf(*header);
  if (!signal.ok()) return signal.status();
  Payload payload{.signal = *signal,
                  .bytes = file.substr(header->size()),
                  .items = Get(*header, kItemsAt, 8),
                  .markers = Get(*header, kMarkersAt, 8),
                  .start_unix_ns = static_cast<int64_t>(Get(*header, kStartAt, 8)),
                  .duration_ns = static_cast<int64_t>(Get(*header, kDurationAt, 8)),
                  .owner = std::move(owner),
                  .trace = TraceOf(*header)};
  const uint64_t wanted = Get(*header, kPayloadBytesAt, 8);
  if (wanted != payload.bytes.size())
    return absl::DataLossError(fmt::format("torn: {} of {} bytes", payload.bytes.size(), wanted));
  if (Get(*header, kPayloadSumAt, 4) != Checksum(payload.bytes))
    return Wrong("the batch's checksum is wrong");
  if (payload.markers > payload.items) return Wrong("the header is not possible");
  return payload;
}

}  // namespace stackray
