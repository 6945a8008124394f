#include "agent/reports/report_upload.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/reports/bounded_read.h"
#include "agent/reports/report_store.h"

namespace stackray {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostCredentialBytes = 64 << 10, kKeptBodyBytes = 512;
constexpr size_t kMostBodyBytes =
    1 << 20;  // A longer answer ends the transfer, which has failed then.
constexpr absl::Duration kFirstWait = absl::Seconds(1), kLongestWait = absl::Minutes(5);
constexpr long kConnectSeconds = 10, kSlowSeconds = 60, kSlowBytes = 1000;
constexpr const char* kVariables[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                      "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"};

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Answer {
  std::string body;
  size_t received = 0;
};

size_t TakeBody(char* data, size_t size, size_t count, void* to) {
  auto* answer = static_cast<Answer*>(to);
  const size_t bytes = size * count;
  answer->received += bytes;
  if (answer->body.size() < kKeptBodyBytes)
    answer->body.append(data, std::min(bytes, kKeptBodyBytes - answer->body.size()));
  return answer->received > kMostBodyBytes ? 0 : bytes;
}

size_t GiveFile(char* to, size_t size, size_t count, void* file) {
  return std::fread(to, size, count, static_cast<std::FILE*>(file));
}

int AskWhetherToGiveUp(void* gives_up, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& ask = *static_cast<const std::function<bool()>*>(gives_up);
  return ask && ask() ? 1 : 0;
}

std::string ValueOf(const UploadVariables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

UploadVariables ReadVariables(const std::string& file) {
  if (!file.empty())
    return ParseUploadVariables(ReadBounded(file, kMostCredentialBytes).value_or(""));
  UploadVariables variables;
  for (const char* name : kVariables)
    if (const char* value = std::getenv(name); value != nullptr) variables[name] = value;
  return variables;
}

absl::StatusOr<UploadRequest> MakeS3Request(std::string_view target, const std::string& file,
                                            const UploadVariables& variables) {
  target.remove_prefix(std::string_view("s3://").size());
  const size_t slash = std::min(target.find('/'), target.size());
  const std::string bucket(target.substr(0, slash));
  std::string prefix(target.substr(std::min(slash + 1, target.size())));
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  if (bucket.empty()) return absl::InvalidArgumentError("the address names no bucket");
  const std::string key = ValueOf(variables, "AWS_ACCESS_KEY_ID");
  const std::string secret = ValueOf(variables, "AWS_SECRET_ACCESS_KEY");
  if (key.empty() || secret.empty())
    return absl::FailedPreconditionError(
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not there");
  std::string region = ValueOf(variables, "AWS_REGION");
  if (region.empty()) region = "us-east-1";
  std::string endpoint = ValueOf(variables, "AWS_ENDPOINT_URL");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return UploadRequest{
      .url = endpoint.empty()
                 ? fmt::format("https://{}.s3.{}.amazonaws.com/{}{}", bucket, region, prefix, file)
                 : fmt::format("{}/{}/{}{}", endpoint, bucket, prefix, file),
      .signature = fmt::format("aws:amz:{}:s3", region),
      .user = fmt::format("{}:{}", key, secret),
      .token = ValueOf(variables, "AWS_SESSION_TOKEN")};
}

constexpr size_t kShortSecret = 4;

// A server may send back what it was sent, and its words go into the log and the status.
std::string WithoutSecrets(std::string text, const UploadRequest& request) {
  const size_t colon = std::min(request.user.find(':'), request.user.size());
  const std::string key = request.user.substr(0, colon);
  const std::string secret = request.user.substr(std::min(colon + 1, request.user.size()));
  for (const std::string& hidden : {secret, request.token, key}) {
    if (hidden.empty()) continue;
    for (size_t at = 0; (at = text.find(hidden, at)) != std::string::npos; at += 3)
      text.replace(at, hidden.size(), "***");
    // What was kept of its words may end in the middle of one.
    for (size_t part = std::min(hidden.size(), text.size()); part >= kShortSecret; --part)
      if (text.ends_with(hidden.substr(0, part))) text.resize(text.size() - part);
  }
  return text;
}

absl::Status StatusOf(CURL* easy, CURLcode code, const std::string& body) {
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  long http = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http);
  if (http / 100 == 2) return absl::OkStatus();
  std::string text = fmt::format("HTTP {} {}", http, body);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (http == 401 || http == 403) return absl::UnauthenticatedError(text);
  return http == 404 ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

using Headers = std::unique_ptr<curl_slist, FreeList>;

Headers HeadersOf(const UploadRequest& request) {
  // None without a value: libcurl would sign it and not send it.
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/zstd");
  if (!request.signature.empty()) {
    list = curl_slist_append(list, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    if (!request.token.empty())
      list = curl_slist_append(list, ("x-amz-security-token: " + request.token).c_str());
  }
  return Headers(list);
}

}  // namespace

UploadVariables ParseUploadVariables(const std::string& text) {
  UploadVariables variables;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::string_view rest(line);
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    if (rest.starts_with("export ")) rest.remove_prefix(7);
    const size_t equals = rest.find('=');
    if (rest.starts_with('#') || equals == std::string_view::npos) continue;
    const std::string_view name = rest.substr(0, equals);
    std::string_view value = rest.substr(equals + 1);
    if (value.size() >= 2 && value.front() == value.back() &&
        (value.front() == '"' || value.front() == '\''))
      value = value.substr(1, value.size() - 2);
    if (std::ranges::find(kVariables, name) != std::end(kVariables))
      variables[std::string(name)] = std::string(value);
  }
  return variables;
}

absl::StatusOr<UploadRequest> MakeUploadRequest(const std::string& target, const std::string& file,
                                                const UploadVariables& variables) {
  if (target.starts_with("s3://")) return MakeS3Request(target, file, variables);
  if (!target.starts_with("https://"))
    return absl::InvalidArgumentError("an address of s3:// or https:// is wanted");
  return UploadRequest{.url =
                           fmt::format("{}{}{}", target, target.ends_with('/') ? "" : "/", file)};
}

absl::Status PutFile(const UploadRequest& request, const std::string& path,
                     const std::function<bool()>& gives_up) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  struct stat facts = {};
  if (file == nullptr || fstat(fileno(file.get()), &facts) != 0)
    return absl::NotFoundError(path + " is gone");
  const std::unique_ptr<CURL, FreeEasy> easy(curl_easy_init());
  if (easy == nullptr) return absl::UnavailableError("libcurl does not start");
  const Headers headers = HeadersOf(request);
  Answer answer;
  CURL* const c = easy.get();
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(facts.st_size));
  curl_easy_setopt(c, CURLOPT_READFUNCTION, &GiveFile);
  curl_easy_setopt(c, CURLOPT_READDATA, file.get());
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, kSlowBytes);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, &AskWhetherToGiveUp);
  curl_easy_setopt(c, CURLOPT_XFERINFODATA, &gives_up);
  if (!request.signature.empty()) {
    curl_easy_setopt(c, CURLOPT_AWS_SIGV4, request.signature.c_str());
    curl_easy_setopt(c, CURLOPT_USERPWD, request.user.c_str());
  }
  const CURLcode code = curl_easy_perform(c);
  return StatusOf(c, code, WithoutSecrets(answer.body, request));
}

ReportUploader::ReportUploader(std::string directory, UploadSettings settings)
    : directory_(std::move(directory)),
      settings_(std::move(settings)),
      thread_([this] { Run(); }) {}

ReportUploader::~ReportUploader() {
  {
    absl::MutexLock lock(&mutex_);
    ends_ = true;
  }
  thread_.join();
}

bool ReportUploader::IsEnding() const {
  absl::MutexLock lock(&mutex_);
  return ends_;
}

void ReportUploader::Add(const std::string& name) {
  std::ofstream(fmt::format("{}/{}{}", directory_, name, kUploadMark)).flush();
  absl::MutexLock lock(&mutex_);
  is_woken_ = true;
}

// The oldest by its name's time. A mark without its report, which was deleted, goes.
std::string ReportUploader::NextName() const {
  std::string first;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kUploadMark)) continue;
    name.resize(name.size() - std::string_view(kUploadMark).size());
    const bool is_there =
        access(fmt::format("{}/{}{}", directory_, name, kReportEnding).c_str(), R_OK) == 0;
    std::error_code ignored;
    if (!is_there) fs::remove(entry.path(), ignored);
    if (is_there && (first.empty() || name < first)) first = name;
  }
  return first;
}

absl::Status ReportUploader::Upload(const std::string& name) {
  const std::string file = name + std::string(kReportEnding);
  const absl::StatusOr<UploadRequest> request =
      MakeUploadRequest(settings_.target, file, ReadVariables(settings_.credentials_file));
  if (!request.ok()) return request.status();
  const absl::Status sent =
      PutFile(*request, fmt::format("{}/{}", directory_, file), [this] { return IsEnding(); });
  if (!sent.ok()) return sent;
  std::error_code ignored;
  fs::remove(fmt::format("{}/{}{}", directory_, name, kUploadMark), ignored);
  return absl::OkStatus();
}

void ReportUploader::Run() {
  absl::Duration wait = kFirstWait;
  for (;;) {
    const std::string name = NextName();
    const absl::Status status = name.empty() ? absl::OkStatus() : Upload(name);
    absl::MutexLock lock(&mutex_);
    counts_.waiting = name.empty() || status.ok() ? 0 : 1;
    if (!name.empty() && status.ok()) ++counts_.uploaded;
    if (!status.ok()) {
      ++counts_.failures;
      counts_.last_failure = std::string(status.message());
    }
    const auto is_woken = [this] {
      mutex_.AssertHeld();
      return ends_ || is_woken_;
    };
    const auto ends = [this] {
      mutex_.AssertHeld();
      return ends_;
    };
    if (name.empty()) {
      mutex_.Await(absl::Condition(&is_woken));
    } else if (!status.ok()) {
      mutex_.AwaitWithTimeout(absl::Condition(&ends), wait);
      wait = std::min(2 * wait, kLongestWait);
    }
    if (status.ok()) wait = kFirstWait;
    is_woken_ = false;
    if (ends_) return;
  }
}

ReportUploader::Counts ReportUploader::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace stackray
