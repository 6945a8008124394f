#include "agent/captures/capture_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kColumns = 7, kMostTargetBytes = 200;
using Row = std::array<std::string, kColumns>;

std::string TimeLeft(const CaptureRecord& record, int64_t now_unix_ns) {
  if (!record.is_running()) return "";
  const int64_t seconds = std::max<int64_t>(0, record.ends_unix_ns - now_unix_ns) / 1'000'000'000;
  return seconds < 60 ? fmt::format("{}s", seconds)
                      : fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
}

// Letters as a terminal shows them.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string CaptureTable(const std::vector<CaptureRecord>& captures, int64_t now_unix_ns) {
  if (captures.empty()) return "no captures\n";
  std::vector<Row> rows = {{"NAME", "STATE", "HZ", "LEFT", "SAMPLES", "LOST", "TARGET"}};
  for (const CaptureRecord& record : captures) {
    uint64_t lost = 0;
    for (const auto& [reason, samples] : record.lost) lost += samples;
    std::string targets = DescribeTargets(record.spec);
    if (targets.size() > kMostTargetBytes) {
      targets.resize(kMostTargetBytes);
      targets += " …";
    }
    rows.push_back({record.spec.name,
                    record.is_running() ? "running" : PrintableText(record.reason),
                    fmt::to_string(record.spec.frequency_hz), TimeLeft(record, now_unix_ns),
                    fmt::to_string(record.samples), fmt::to_string(lost), PrintableText(targets)});
  }
  std::array<size_t, kColumns> widths = {};
  for (const Row& row : rows)
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], Width(row[i]));
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < kColumns; ++i)
      text += row[i] + std::string(widths[i] - Width(row[i]) + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

}  // namespace stackray
