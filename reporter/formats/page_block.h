// The data inside a page of ours, taken out so that this release's own page can draw them.
//
// Whoever made the file, nothing else of it is used: no script, no style, no policy, no title.
// Input:   any bytes, part by part: a page of this program or of another release, or anything.
// Memory:  the compressed data, at most `most_bytes`; their text is looked at and never kept.
// Threads: one.
#ifndef STACKRAY_REPORTER_FORMATS_PAGE_BLOCK_H_
#define STACKRAY_REPORTER_FORMATS_PAGE_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stackray {

// A longer document opens in no browser: it would be longer than a string may be there.
inline constexpr uint64_t kMostPageDocumentBytes = uint64_t{512} << 20;

struct PackedPageData {
  std::string gzip;  // A document of docs/page-data.md.
  // What it opens with, in the words of an address, as it stands in the attribute `data-view`:
  // without quotes and angle brackets.
  std::string view = {};
};

class PageBlockReader {
 public:
  explicit PageBlockReader(size_t most_bytes) : most_bytes_(most_bytes) {}

  // Errors: DataLoss (no base64), ResourceExhausted (longer than `most_bytes`).
  absl::Status Add(std::string_view part);
  // Ends it; call once. Errors: NotFound (no data element), DataLoss (it does not end, or is no
  // whole gzip of a document), ResourceExhausted (the document is over kMostPageDocumentBytes).
  absl::StatusOr<PackedPageData> Finish();

 private:
  enum class State { kSeeking, kInTag, kInData, kDone };
  std::string_view Seek(std::string_view part);
  absl::StatusOr<std::string_view> TakeTag(std::string_view part);
  absl::StatusOr<std::string_view> TakeData(std::string_view part);
  absl::Status Decode(bool last);

  const size_t most_bytes_;
  State state_ = State::kSeeking;
  std::string held_;  // The end of what was seen, the tag so far, or base64 that is not decoded.
  PackedPageData data_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PAGE_BLOCK_H_
