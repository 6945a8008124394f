#include "reporter/formats/page_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reporter/formats/html.h"

namespace stackray {
namespace {

bool HasLabels(const ProfileView& view) { return view.labels().size() > 1; }

std::string Sentence(const ProfileView& view, const CallTreeDetail& detail, size_t most_bytes) {
  const bool one = detail.buckets_in_one >= view.bucket_count();
  const double step_s = static_cast<double>(view.bucket_ms() * detail.buckets_in_one) / 1000;
  return fmt::format("To stay below {} MiB this page {}{}{}; all totals are whole.",
                     most_bytes >> 20,
                     one ? "does not tell when samples were taken"
                         : fmt::format("tells time in steps of {:.3g} s", step_s),
                     detail.labels || !HasLabels(view) ? "" : ", not what threads worked on",
                     detail.lines ? "" : ", and no lines");
}

}  // namespace

absl::StatusOr<FittedPage> FitPage(std::string_view page, const ProfileView& view,
                                   PageOptions options, size_t most_bytes) {
  const int64_t all = std::max<int64_t>(view.bucket_count(), 1);
  FittedPage out;
  for (const CallTreeDetail detail :
       {CallTreeDetail{}, CallTreeDetail{.buckets_in_one = 4}, CallTreeDetail{.buckets_in_one = 16},
        CallTreeDetail{.buckets_in_one = 16, .labels = false},
        CallTreeDetail{.buckets_in_one = all, .labels = false},
        CallTreeDetail{.buckets_in_one = all, .lines = false, .labels = false}}) {
    const bool is_last = !detail.lines;
    if (!is_last && detail.buckets_in_one > all) continue;
    if (detail.buckets_in_one < all && !detail.labels && !HasLabels(view)) continue;
    options.detail = detail;
    options.dropped = detail.buckets_in_one == 1 && detail.lines
                          ? std::string()
                          : Sentence(view, detail, most_bytes);
    absl::StatusOr<std::string> html = HtmlPage(page, PageData(view, options), options.title);
    if (!html.ok()) return html.status();
    out = {*std::move(html), options.dropped};
    if (out.html.size() <= most_bytes) break;
  }
  return out;
}

}  // namespace stackray
