#include "reporter/formats/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

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

absl::StatusOr<std::string> GzipCompress(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return absl::ResourceExhaustedError("gzip: no memory");
  }
  std::string out;
  int result = Z_OK;
  while (result == Z_OK) {
    const int flush = GiveInput(&bytes, &stream) ? Z_FINISH : Z_NO_FLUSH;
    const size_t used = out.size();
    out.resize(used + kPartBytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = kPartBytes;
    result = deflate(&stream, flush);
    out.resize(used + kPartBytes - stream.avail_out);
  }
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InternalError("gzip: deflate failed");
  return out;
}

absl::StatusOr<std::string> GzipExpand(std::string_view bytes, size_t max_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) {
    return absl::ResourceExhaustedError("gzip: no memory");
  }
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= max_bytes) {
    GiveInput(&bytes, &stream);
    const size_t used = out.size();
    out.resize(used + kPartBytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = kPartBytes;
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(used + kPartBytes - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > max_bytes) return absl::ResourceExhaustedError("gzip: expands to too much");
  if (result != Z_STREAM_END) return absl::DataLossError("gzip: damaged or cut");
  return out;
}

}  // namespace stackray
