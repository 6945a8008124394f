#include "agent/web_server/web_body.h"

#include <sys/stat.h>
#include <zlib.h>

#include <cstdint>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kLeastToCompress = 1024;
constexpr size_t kPartBytes = 64 * 1024;
constexpr int kGzipWindow = 15 + 16;  // zlib: 16 more asks for a gzip header.

// Empty when zlib fails or the text is larger than its counters hold at once.
std::string Gzip(const std::string& plain, int level) {
  z_stream stream{};
  if (plain.size() > UINT32_MAX / 2 ||
      deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return "";
  std::string out(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(result == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  out.shrink_to_fit();
  return out;
}

}  // namespace

absl::StatusOr<WebBodyPtr> MakeFileBody(UniqueFd file) {
  struct stat facts = {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return absl::UnavailableError("the file cannot be read");
  auto body = std::make_shared<WebBody>();
  body->file = std::move(file);
  body->file_bytes = static_cast<uint64_t>(facts.st_size);
  return body;
}

WebBodyPtr MakeBody(std::string plain, int level) {
  auto body = std::make_shared<WebBody>();
  if (plain.size() >= kLeastToCompress) body->gzip = Gzip(plain, level);
  body->plain = std::move(plain);
  return body;
}

absl::StatusOr<WebBodyPtr> MakeCompressedBody(std::string gzip, double cpu_seconds) {
  auto body = std::make_shared<WebBody>();
  gzip.shrink_to_fit();
  body->gzip = std::move(gzip);
  body->cpu_seconds = cpu_seconds;
  std::string first;
  const BodyExpander::State state = BodyExpander(body).Next(&first);
  if (state == BodyExpander::State::kDamaged)
    return absl::InternalError("the compressed answer is damaged");
  if (state == BodyExpander::State::kEnd) {
    body->plain = std::move(first);
    if (body->plain.size() < kLeastToCompress) body->gzip.clear();
  }
  return body;
}

struct BodyExpander::Stream {
  z_stream z{};
};

BodyExpander::BodyExpander(WebBodyPtr body)
    : body_(std::move(body)), stream_(std::make_unique<Stream>()) {
  z_stream& z = stream_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body_->gzip.data()));
  z.avail_in = static_cast<uInt>(body_->gzip.size());
  inflateInit2(&z, kGzipWindow);  // Where it fails, so does each inflate().
}

BodyExpander::~BodyExpander() { inflateEnd(&stream_->z); }

BodyExpander::State BodyExpander::Next(std::string* part) {
  z_stream& z = stream_->z;
  part->resize(kPartBytes);
  z.next_out = reinterpret_cast<Bytef*>(part->data());
  z.avail_out = kPartBytes;
  const int result = inflate(&z, Z_NO_FLUSH);
  part->resize(kPartBytes - z.avail_out);
  if (result == Z_STREAM_END) return State::kEnd;
  return result == Z_OK && !part->empty() ? State::kMore : State::kDamaged;
}

}  // namespace stackray
