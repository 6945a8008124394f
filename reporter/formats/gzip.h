// gzip in memory. Equal input gives equal output: no name and no time in the header.
#ifndef STACKRAY_REPORTER_FORMATS_GZIP_H_
#define STACKRAY_REPORTER_FORMATS_GZIP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "reporter/formats/sink.h"

namespace stackray {

// Errors: ResourceExhausted when zlib has no memory.
absl::StatusOr<std::string> GzipCompress(std::string_view bytes, int level = 6);

// GzipCompress() for bytes that come in parts. Threads: one thread owns it. Errors: as above,
// Internal.
class GzipStream {
 public:
  static absl::StatusOr<GzipStream> Create(int level);
  GzipStream(GzipStream&&) noexcept;
  ~GzipStream();

  absl::Status Add(std::string_view part);
  absl::StatusOr<std::string> Finish();  // Ends it; call once.

 private:
  struct State;
  explicit GzipStream(std::unique_ptr<State> state);
  absl::Status Deflate(std::string_view part, bool last);
  std::unique_ptr<State> state_;  // zlib points back into it.
  std::string out_;
};

// Errors: DataLoss (no gzip, damaged or cut), ResourceExhausted (longer than `max_bytes`).
absl::StatusOr<std::string> GzipExpand(std::string_view bytes, size_t max_bytes);

// Expands part by part, each lent for its call; members that follow each other are one text.
// Memory: 64 KiB beside zlib's window, whatever comes. Errors: as above, and `part`'s, with which
// the expanding ends.
absl::Status GzipExpandParts(std::string_view bytes, uint64_t max_bytes, TextSink part);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_GZIP_H_
