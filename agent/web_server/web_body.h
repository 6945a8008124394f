// Answers' bodies, compressed once for all that ask, and sent as each client can read them.
#ifndef STACKRAY_AGENT_WEB_SERVER_WEB_BODY_H_
#define STACKRAY_AGENT_WEB_SERVER_WEB_BODY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Immutable once it is shared. A large one that was made compressed is never whole in memory in its
// plain form.
struct WebBody {
  std::string plain;       // Empty where only the other is kept.
  std::string gzip;        // Empty where compressing was of no use.
  double cpu_seconds = 0;  // What making it cost.
  UniqueFd file;           // Valid: the body is this regular file, as long as it is now.
  uint64_t file_bytes = 0;
};
using WebBodyPtr = std::shared_ptr<const WebBody>;

// Errors: Unavailable.
absl::StatusOr<WebBodyPtr> MakeFileBody(UniqueFd file);

// Keeps both forms. `level` 1 (fast) to 9. Bodies of less than 1 KiB stay plain.
WebBodyPtr MakeBody(std::string plain, int level);

// Keeps the compressed form, and the plain one only where that has at most 64 KiB.
// Errors: Internal: `gzip` is damaged at its beginning.
absl::StatusOr<WebBodyPtr> MakeCompressedBody(std::string gzip, double cpu_seconds);

// Expands a body part by part. Memory: 100 KiB. Threads: one thread owns it.
class BodyExpander {
 public:
  explicit BodyExpander(WebBodyPtr body);
  ~BodyExpander();
  BodyExpander(const BodyExpander&) = delete;
  BodyExpander& operator=(const BodyExpander&) = delete;

  enum class State { kMore, kEnd, kDamaged };
  // The next part, at most 64 KiB.
  State Next(std::string* part);

 private:
  struct Stream;
  const WebBodyPtr body_;
  const std::unique_ptr<Stream> stream_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_WEB_BODY_H_
