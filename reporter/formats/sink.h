// Where long text goes: a file, a socket, a string.
#ifndef STACKRAY_REPORTER_FORMATS_SINK_H_
#define STACKRAY_REPORTER_FORMATS_SINK_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace stackray {

// Takes the next part. Its first error ends the writing and is what the writer returns.
using TextSink = absl::FunctionRef<absl::Status(std::string_view)>;

// Collects small appends into parts of about 64 KiB.
class SinkBuffer {
 public:
  explicit SinkBuffer(TextSink sink) : sink_(sink) {}

  std::string* text() { return &text_; }
  // Call between appends.
  absl::Status FlushIfLong() { return text_.size() < kPartBytes ? absl::OkStatus() : Flush(); }
  absl::Status Flush() {
    const absl::Status status = text_.empty() ? absl::OkStatus() : sink_(text_);
    text_.clear();
    return status;
  }

 private:
  static constexpr size_t kPartBytes = 65536;
  TextSink sink_;
  std::string text_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_SINK_H_
