#include "reporter/formats/sample_grouping.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "reporter/attribute_names.h"
#include "reporter/formats/text.h"
#include "reporter/formats/unnamed_frames.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr std::string_view kLabelWord = "label:";
constexpr size_t kLongestName = 255;
constexpr size_t kShownGroups = 10;

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

std::string LabelOf(const WalkedSample& sample, std::string_view name) {
  for (const WalkedAttribute& attribute : sample.attributes) {
    const bool is_label = attribute.key.starts_with(kLabelPrefix) &&
                          attribute.key.substr(kLabelPrefix.size()) == name;
    if (!is_label && attribute.key != name) continue;
    return attribute.text.empty() ? std::to_string(attribute.number) : std::string(attribute.text);
  }
  return "";
}

}  // namespace

const SampleGrouping::Word SampleGrouping::kWords[] = {
    {"trace", By::kTrace},     {"span", By::kSpan},           {"thread", By::kThread},
    {"service", By::kService}, {"container", By::kContainer}, {"user", By::kUser}};

std::optional<SampleGrouping> SampleGrouping::Parse(std::string_view word) {
  if (word.starts_with(kLabelWord)) {
    const std::string_view name = word.substr(kLabelWord.size());
    if (name.empty() || name.size() > kLongestName) return std::nullopt;
    return SampleGrouping(By::kLabel, std::string(name));
  }
  for (const Word& row : kWords)
    if (row.word == word) return SampleGrouping(row.by, std::string(word));
  return std::nullopt;
}

std::string SampleGrouping::ValueOf(const WalkedResource& resource,
                                    const WalkedSample& sample) const {
  switch (by_) {
    case By::kTrace: return Hex(sample.trace_id);
    case By::kSpan: return Hex(sample.span_id);
    case By::kThread: return std::string(sample.thread_name);
    case By::kService: return std::string(resource.service);
    case By::kContainer: return std::string(resource.container);
    case By::kUser: return std::string(resource.user);
    case By::kLabel: return LabelOf(sample, name_);
  }
  return "";
}

std::string SampleGrouping::GroupOf(const WalkedResource& resource,
                                    const WalkedSample& sample) const {
  const std::string value = ValueOf(resource, sample);
  return ToValidUtf8(value.empty() ? Concat("[no ", name_, "]") : Concat(name_, "=", value));
}

void GroupCounts::Add(const BatchWalk& batch) {
  const WalkedResource* resource = nullptr;
  WalkedResource kept;
  bool is_counted = false;
  batch.Visit(
      [&](const WalkedResource& next) {
        kept = next;
        resource = &kept;
      },
      [&](const WalkedProfile& profile) {
        if (type_.empty()) type_ = profile.type;
        is_counted = profile.type == type_;
      },
      [&](const WalkedSample& sample) {
        if (!is_counted || resource == nullptr || sample.events <= 0) return;
        total_ = SaturatingAdd(total_, sample.events);
        std::string group = grouping_.GroupOf(*resource, sample);
        if (counts_.size() >= kMostGroups && !counts_.contains(group)) {
          others_ = SaturatingAdd(others_, sample.events);
          return;
        }
        int64_t& count = counts_[std::move(group)];
        count = SaturatingAdd(count, sample.events);
      });
}

std::string GroupCounts::Line() const {
  if (total_ == 0) return "";
  std::vector<std::pair<std::string, int64_t>> sorted(counts_.begin(), counts_.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return std::pair(-a.second, a.first) < std::pair(-b.second, b.first);
  });
  std::string text = Concat("by ", PrintableText(grouping_.name()), ": ");
  const size_t shown = std::min(sorted.size(), kShownGroups);
  for (size_t i = 0; i < shown; ++i)
    AppendAll(&text, i == 0 ? "" : ", ", PrintableText(sorted[i].first), " ", sorted[i].second,
              " (", Percent(sorted[i].second, total_), ")");
  if (sorted.size() > shown) AppendAll(&text, " and ", sorted.size() - shown, " more");
  if (others_ > 0) AppendAll(&text, ", of others ", others_);
  return text + "\n";
}

}  // namespace stackray
