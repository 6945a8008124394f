#include "agent/view_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/daemon/page_token.h"
#include "agent/file_memory.h"
#include "agent/input_file.h"
#include "agent/reports/report_page.h"
#include "agent/say.h"
#include "agent/stop_signal.h"
#include "agent/web_server/web_server.h"
#include "kernel/unique_fd.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/foreign_formats.h"
#include "reporter/formats/html.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/profile_summary.h"
#include "reporter/formats/profile_view.h"
#include "reporter/selection/batch_selection.h"
#include "web/web_page.h"

namespace stackray {
namespace {

constexpr size_t kHeadBytes = 512, kMostForeignBytes = 256 << 20;
constexpr unsigned kStopLookUs = 200'000;

// All that the page asks is in the page.
class NoData : public PageDataSource {
 public:
  absl::StatusOr<std::string> ProfileGzip(int64_t, int64_t, std::stop_token) override {
    return Nothing();
  }
  absl::StatusOr<std::string> ViewGzip(std::string_view, std::stop_token) override {
    return Nothing();
  }
  std::string StatusJson() override { return "{}\n"; }
  std::string MetricsText() override { return ""; }
  absl::Status Health() override { return absl::OkStatus(); }

 private:
  static absl::Status Nothing() {
    return absl::InvalidArgumentError("the page of a file holds all its data");
  }
};

// Up to `most` bytes. What is no plain file is not looked at ahead: a pipe is read once.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  std::string bytes;
  char part[1 << 16];
  while (bytes.size() < most) {
    const ssize_t got = read(fd.get(), part, std::min(sizeof(part), most - bytes.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, path);
    if (got == 0) break;
    bytes.append(part, static_cast<size_t>(got));
  }
  return bytes;
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

absl::StatusOr<std::string> PageOfBatches(const std::string& path, const SampleFilter& filter) {
  absl::StatusOr<std::unique_ptr<InputFile>> input = InputFile::Open(path);
  if (!input.ok()) return input.status();
  ProfileView view({.max_bytes = ViewBytesOf(path)});
  SummaryCounter summary;
  bool has_any = filter.wants_all();
  const absl::Status read = (*input)->ForEachBatch([&](const std::string& bytes) -> absl::Status {
    absl::StatusOr<std::string> wanted = filter.wants_all() ? bytes : SelectSamples(bytes, filter);
    if (!wanted.ok()) return wanted.status();
    if (wanted->empty()) return absl::OkStatus();
    has_any = true;
    const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(*wanted);
    if (!batch.ok()) return batch.status();
    view.Add(*batch);
    summary.Add(*batch);
    return absl::OkStatus();
  });
  if ((*input)->batches() == 0) return read;
  if (!has_any && read.ok())
    return absl::NotFoundError(fmt::format("{} has no sample of {}", path, filter.Text()));
  // What is there of a file that breaks off is shown, and the page says so.
  const std::string note =
      read.ok() ? "" : fmt::format("the file breaks off: {}", std::string(read.message()));
  if (!read.ok()) SayWarning(fmt::format("{}: {}", path, note));
  const std::string title = (*input)->name();
  const std::string data =
      PageData(view, {.title = title, .summary = summary.summary(), .note = note});
  return HtmlPage(WebPage(), data, title);
}

using VisitBatch = std::function<absl::Status(std::string_view batch)>;

// A document a line, as a Collector's file has them.
absl::Status EachDocument(std::string_view text, const VisitBatch& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const absl::StatusOr<std::string> batch = BatchOfOtlpJson(line);
    if (!batch.ok()) return batch.status();
    if (absl::Status status = visit(*batch); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status EachBatch(const std::string& path, std::string_view looks, const VisitBatch& visit) {
  const absl::StatusOr<std::string> bytes = ReadFile(path, kMostForeignBytes + 1);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() > kMostForeignBytes)
    return absl::ResourceExhaustedError("it is larger than 256 MiB");
  if (looks == "JSON") return EachDocument(*bytes, visit);
  if (looks == "folded stacks") return BatchesOfFolded(*bytes, BaseName(path), visit);
  return BatchesOfPprof(*bytes, BaseName(path), visit);
}

absl::StatusOr<std::string> PageOfForeign(const std::string& path, std::string_view looks) {
  ProfileView view({.max_bytes = ViewBytesOf(path)});
  SummaryCounter summary;
  const absl::Status read = EachBatch(path, looks, [&](std::string_view bytes) {
    const absl::StatusOr<BatchWalk> batch = BatchWalk::Open(bytes);
    if (!batch.ok()) return batch.status();
    view.Add(*batch);
    summary.Add(*batch);
    return absl::OkStatus();
  });
  if (!read.ok())
    return absl::Status(read.code(), fmt::format("{}: {}", path, std::string(read.message())));
  return HtmlPage(WebPage(),
                  PageData(view, {.title = path, .summary = summary.summary(), .note = ""}), path);
}

absl::StatusOr<std::string> MakePage(const std::string& path, std::string_view looks,
                                     const SampleFilter& filter) {
  if (looks == "HTML") return PageOfPageFile(path);
  if (looks == "a zstd file") return PageOfReport(path);
  if (looks == "a gzip file, as pprof's .pb.gz is one" || looks == "folded stacks" ||
      looks == "JSON")
    return PageOfForeign(path, looks);
  return PageOfBatches(path, filter);
}

}  // namespace

absl::StatusOr<std::string> PageOfFile(const std::string& path, const SampleFilter& filter) {
  const absl::StatusOr<std::string> head = path == "-" ? std::string() : ReadFile(path, kHeadBytes);
  const std::string_view looks = head.ok() ? LooksLike(*head) : std::string_view();
  if (!looks.empty() && !filter.wants_all())
    return absl::InvalidArgumentError(
        fmt::format("{} looks like {}: samples are chosen of .otlp files alone", path, looks));
  absl::StatusOr<std::string> page;
  const absl::Status made = WithinFileMemory(path, [&] {
    page = MakePage(path, looks, filter);
    return page.status();
  });
  if (!made.ok()) return made;
  return page;
}

int RunView(const ViewSettings& settings) {
  const auto fail = [](const absl::Status& status) {
    SayError(std::string(status.message()));
    return 1;
  };
  const absl::StatusOr<std::string> page = PageOfFile(settings.path, settings.filter);
  if (!page.ok()) return fail(page.status());
  NoData source;
  const absl::StatusOr<std::unique_ptr<WebServer>> server =
      WebServer::Start({.port = 0, .page_token = MakePageToken(), .now_ms = {}}, *page, source);
  if (!server.ok()) return fail(server.status());
  fmt::print("{}\n", (*server)->page_url());
  std::fflush(stdout);
  while (!StopRequested()) usleep(kStopLookUs);
  (*server)->Stop();
  return 0;
}

}  // namespace stackray
