#include "agent/doctor/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "agent/doctor/text.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kMaxDetailLines = 40;

std::string_view Mark(FindingLevel level, bool utf8) {
  switch (level) {
    case FindingLevel::kGood: return utf8 ? "✓" : "ok";
    case FindingLevel::kWarning: return utf8 ? "!" : "! ";
    case FindingLevel::kBlocking: return utf8 ? "✗" : "X ";
  }
  return "?";
}

// Control bytes could drive the terminal; what a terminal cannot show becomes ASCII.
std::string Printable(std::string_view text, bool utf8) {
  if (utf8) return PrintableText(text);
  std::string clean(text);
  absl::StrReplaceAll({{"…", "..."}}, &clean);
  std::ranges::replace_if(
      clean, [](unsigned char c) { return absl::ascii_iscntrl(c) || !absl::ascii_isascii(c); },
      '?');
  return clean;
}

std::string DetailLines(std::string_view detail, bool utf8) {
  const std::vector<std::string_view> lines = doctor::Split(detail, '\n');
  // The verifier's last lines name the reason.
  const size_t first = lines.size() > kMaxDetailLines ? lines.size() - kMaxDetailLines : 0;
  std::string text;
  for (size_t i = first; i < lines.size(); ++i) {
    text += fmt::format("      | {}\n", Printable(lines[i], utf8));
  }
  return text;
}

std::string Verdict(const Findings& findings) {
  const auto warnings = std::ranges::count(findings, FindingLevel::kWarning, &Finding::level);
  const auto blocking = std::ranges::count(findings, FindingLevel::kBlocking, &Finding::level);
  const auto things = [](auto count) {
    return fmt::format("{} {}", count, count == 1 ? "thing" : "things");
  };
  if (blocking > 0) return fmt::format("Sampling is not possible: {} to mend.\n", things(blocking));
  if (warnings > 0) return fmt::format("Sampling is possible; {} missing.\n", things(warnings));
  return "Sampling is possible; nothing is missing.\n";
}

}  // namespace

std::string RenderText(const Findings& findings, const RenderOptions& options) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("  {} {}\n", Mark(finding.level, options.utf8),
                        Printable(finding.what, options.utf8));
    if (!finding.cost.empty()) {
      text += fmt::format("      cost: {}\n", Printable(finding.cost, options.utf8));
    }
    if (!finding.fix.empty()) {
      text += fmt::format("      fix:  {}\n", Printable(finding.fix, options.utf8));
    }
    text += DetailLines(finding.detail, options.utf8);
  }
  return text + "\n" + Verdict(findings);
}

bool LocaleIsUtf8(const char* lc_all, const char* lc_ctype, const char* lang) {
  for (const char* value : {lc_all, lc_ctype, lang}) {
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
  }
  return false;
}

}  // namespace stackray
