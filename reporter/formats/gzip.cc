#include "reporter/formats/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace stackray {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib: 16 asks for the gzip wrapper.
constexpr size_t kPartBytes = 65536;

// zlib takes lengths as unsigned int, so long input goes in by parts. Returns whether all is handed
// over.
bool GiveInput(std::string_view* rest, z_stream* stream) {
  if (stream->avail_in == 0) {
    const size_t bytes = std::min<size_t>(rest->size(), UINT_MAX);
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest->data()));
    stream->avail_in = static_cast<uInt>(bytes);
    rest->remove_prefix(bytes);
  }
  return rest->empty();
}

}  // namespace

struct GzipStream::State {
  z_stream stream{};
  char part[kPartBytes];
};

GzipStream::GzipStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipStream::GzipStream(GzipStream&&) noexcept = default;
GzipStream::~GzipStream() {
  if (state_ != nullptr) deflateEnd(&state_->stream);
}

absl::StatusOr<GzipStream> GzipStream::Create(int level) {
  auto state = std::make_unique<State>();
  if (deflateInit2(&state->stream, level, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return absl::ResourceExhaustedError("gzip: no memory");
  }
  return GzipStream(std::move(state));
}

absl::Status GzipStream::Deflate(std::string_view rest, bool last) {
  z_stream& stream = state_->stream;
  stream.avail_in = 0;
  int result = Z_OK;
  do {
    const bool all_given = GiveInput(&rest, &stream);
    stream.next_out = reinterpret_cast<Bytef*>(state_->part);
    stream.avail_out = kPartBytes;
    result = deflate(&stream, last && all_given ? Z_FINISH : Z_NO_FLUSH);
    out_.append(state_->part, kPartBytes - stream.avail_out);
    if (result != Z_OK && result != Z_BUF_ERROR) break;  // Buffer error: nothing was left to do.
  } while (stream.avail_out == 0 || stream.avail_in > 0 || !rest.empty());
  if (result == Z_STREAM_END || (!last && (result == Z_OK || result == Z_BUF_ERROR)))
    return absl::OkStatus();
  return absl::InternalError("gzip: deflate failed");
}

absl::Status GzipStream::Add(std::string_view part) { return Deflate(part, false); }

absl::StatusOr<std::string> GzipStream::Finish() {
  if (absl::Status status = Deflate({}, true); !status.ok()) return status;
  return std::move(out_);
}

absl::StatusOr<std::string> GzipCompress(std::string_view bytes, int level) {
  absl::StatusOr<GzipStream> stream = GzipStream::Create(level);
  if (!stream.ok()) return stream.status();
  if (absl::Status status = stream->Add(bytes); !status.ok()) return status;
  return stream->Finish();
}

absl::StatusOr<std::string> GzipExpand(std::string_view bytes, size_t max_bytes) {
  std::string out;
  const absl::Status status = GzipExpandParts(bytes, max_bytes, [&](std::string_view part) {
    out += part;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return out;
}

absl::Status GzipExpandParts(std::string_view bytes, uint64_t max_bytes, TextSink part) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK)
    return absl::ResourceExhaustedError("gzip: no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, &inflateEnd);
  const std::unique_ptr<char[]> out(new char[kPartBytes]);
  uint64_t expanded = 0;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    GiveInput(&bytes, &stream);
    stream.next_out = reinterpret_cast<Bytef*>(out.get());
    stream.avail_out = kPartBytes;
    result = inflate(&stream, Z_NO_FLUSH);
    const size_t got = kPartBytes - stream.avail_out;
    expanded += got;
    if (expanded > max_bytes)
      return absl::ResourceExhaustedError(
          fmt::format("gzip: expands to more than {} bytes", max_bytes));
    if (got > 0)
      if (absl::Status status = part({out.get(), got}); !status.ok()) return status;
    const bool more = stream.avail_in > 0 || !bytes.empty();
    if (result == Z_STREAM_END && more && inflateReset(&stream) == Z_OK) result = Z_OK;
    if (result != Z_OK && result != Z_STREAM_END)
      return absl::DataLossError("gzip: damaged or cut");
  }
  return absl::OkStatus();
}

}  // namespace stackray
