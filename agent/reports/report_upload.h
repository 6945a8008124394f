// Brings complete reports to object storage: `s3://BUCKET/PREFIX`, signed by libcurl (AWS Signature
// Version 4), or an HTTPS address that takes a PUT.
//
// A report that is to be uploaded has an empty file NAME.upload beside it until it has arrived, so
// a restart goes on where the agent ended. What fails is tried again: after 1 s at first, then ever
// more rarely, at last every 5 minutes.
//
// Credentials, region and another endpoint come from variables with AWS's names, or from a file of
// such lines; they are read anew for each attempt, because they expire.
// Threads: one of its own, which sends one report at a time; the functions any.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_UPLOAD_H_
#define STACKRAY_AGENT_REPORTS_REPORT_UPLOAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace stackray {

inline constexpr char kUploadMark[] = ".upload";

struct UploadSettings {
  std::string target;            // "s3://BUCKET/PREFIX" or "https://…".
  std::string credentials_file;  // Empty: the environment.
};

// Of variables or of a file: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
// AWS_REGION, AWS_ENDPOINT_URL.
using UploadVariables = std::map<std::string, std::string>;

// Lines NAME=VALUE; "export ", quotes around the value, empty lines and those that begin with '#'
// are understood. Others are left out.
UploadVariables ParseUploadVariables(const std::string& text);

// Where the report goes and how that is signed.
struct UploadRequest {
  std::string url;
  std::string signature;  // CURLOPT_AWS_SIGV4; empty: none.
  std::string user;       // KEY:SECRET; empty: none.
  std::string token;      // X-Amz-Security-Token; empty: none.
};
// Errors: InvalidArgument (no such address), FailedPrecondition (no credentials).
absl::StatusOr<UploadRequest> MakeUploadRequest(const std::string& target, const std::string& file,
                                                const UploadVariables& variables);

// Sends the file's bytes by one PUT. Errors: Unauthenticated (401, 403), NotFound (404),
// Unavailable (everything else), with what the server says. `gives_up`: asked a few times a second,
// true ends the transfer.
absl::Status PutFile(const UploadRequest& request, const std::string& path,
                     const std::function<bool()>& gives_up = {});

class ReportUploader {
 public:
  struct Counts {
    uint64_t uploaded = 0, failures = 0, waiting = 0;
    std::string last_failure;
  };

  // `directory`: of the reports.
  ReportUploader(std::string directory, UploadSettings settings);
  ~ReportUploader();  // A transfer that is under way is given up.

  // Marks the report of this name, and wakes the thread.
  void Add(const std::string& name);
  Counts counts() const;

 private:
  void Run();
  absl::Status Upload(const std::string& name);
  std::string NextName() const;
  bool IsEnding() const;

  const std::string directory_;
  const UploadSettings settings_;
  mutable absl::Mutex mutex_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = true;
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_UPLOAD_H_
