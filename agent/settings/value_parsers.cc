#include "agent/settings/value_parsers.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <ranges>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kSizeUnits[] = {
    {"", 1},       {"B", 1},    {"KiB", 1024},        {"kB", 1e3}, {"KB", 1e3},
    {"MiB", kMiB}, {"MB", 1e6}, {"GiB", 1024 * kMiB}, {"GB", 1e9}, {"TiB", 1048576.0 * kMiB},
    {"TB", 1e12},
};
constexpr Unit kDurationUnits[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3},
};
constexpr double kMaxSizeBytes = 1048576.0 * kMiB;
constexpr double kMaxDurationMs = 3650 * 86400e3;
constexpr size_t kMaxPids = 4096;
constexpr uint64_t kMaxPid = 1 << 22;  // The kernel's PID_MAX_LIMIT on 64-bit machines.

constexpr std::pair<std::string_view, OutputFormat> kEndings[] = {
    {".html", OutputFormat::kHtml},
    {".pb.gz", OutputFormat::kPprof},
    {".folded", OutputFormat::kFolded},
    {".otlp", OutputFormat::kOtlp},
    {".speedscope.json", OutputFormat::kSpeedscope},
    {".json", OutputFormat::kOtlpJson},
};

// A plain decimal number, then one of `units`; the product rounded to a whole number ≤ `max`.
std::optional<uint64_t> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                      double max) {
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front())))
    return std::nullopt;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  const auto found = std::ranges::find(units, unit, &Unit::name);
  if (found == units.end()) return std::nullopt;
  const double product = number * found->factor;
  if (!(product <= max)) return std::nullopt;
  return static_cast<uint64_t>(std::llround(product));
}

}  // namespace

std::optional<uint64_t> ParseWholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  const std::string word = absl::AsciiStrToLower(std::string(text));
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::optional<uint64_t> ParseSizeBytes(std::string_view text) {
  return ParseWithUnit(text, kSizeUnits, kMaxSizeBytes);
}

std::optional<int64_t> ParseDurationMs(std::string_view text) {
  const std::optional<uint64_t> ms = ParseWithUnit(text, kDurationUnits, kMaxDurationMs);
  if (!ms) return std::nullopt;
  return static_cast<int64_t>(*ms);
}

std::optional<double> ParsePercent(std::string_view text) {
  constexpr double kMost = 100'000;
  if (text.ends_with('%')) text.remove_suffix(1);
  if (text.empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text.front())))
    return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || at != end || !(number <= kMost)) return std::nullopt;
  return number;
}

std::vector<std::string> HttpUrls(std::string_view text) {
  constexpr size_t kMaxUrls = 8;
  std::vector<std::string> urls;
  while (!text.empty() && urls.size() < kMaxUrls) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const size_t scheme = word.starts_with("https://") ? 8 : word.starts_with("http://") ? 7 : 0;
    const bool is_plain = std::ranges::all_of(
        word, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\''; });
    if (scheme != 0 && word.size() > scheme && is_plain) urls.emplace_back(word);
  }
  return urls;
}

std::optional<std::vector<uint32_t>> ParsePids(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::vector<uint32_t> pids;
  for (const auto part : std::views::split(text, ',')) {
    const std::optional<uint64_t> pid =
        ParseWholeNumber(std::string_view(part.begin(), part.end()));
    if (!pid || *pid == 0 || *pid > kMaxPid || pids.size() >= kMaxPids) return std::nullopt;
    pids.push_back(static_cast<uint32_t>(*pid));
  }
  std::ranges::sort(pids);
  pids.erase(std::ranges::unique(pids).begin(), pids.end());
  return pids;
}

namespace {

// "PORT", "HOST:PORT" or "[HOST]:PORT", the host not looked at.
std::optional<ListenAddress> SplitAddress(std::string_view text) {
  ListenAddress address;
  std::string_view port = text;
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    if (bracketed) host = host.substr(1, host.size() - 2);
    if ((host.find(':') != std::string_view::npos) != bracketed) return std::nullopt;
    address.host = std::string(host);
    port = text.substr(colon + 1);
  }
  const std::optional<uint64_t> number = ParseWholeNumber(port);
  if (!number || *number > 65535) return std::nullopt;
  address.port = static_cast<uint16_t>(*number);
  return address;
}

}  // namespace

bool IsLoopback(const ListenAddress& address) {
  in_addr v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return address.host == "::1" || address.host == "localhost";
}

std::optional<ListenAddress> ParseListenAddress(std::string_view text) {
  std::optional<ListenAddress> address = SplitAddress(text);
  if (!address) return std::nullopt;
  in6_addr any{};
  const char* host = address->host.c_str();
  if (address->host != "localhost" && inet_pton(AF_INET, host, &any) != 1 &&
      inet_pton(AF_INET6, host, &any) != 1)
    return std::nullopt;
  return address;
}

std::optional<ListenAddress> ParseAnyAddress(std::string_view text) {
  return text.find(':') == std::string_view::npos ? std::nullopt : ParseListenAddress(text);
}

namespace {

bool IsPlainName(std::string_view text) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= 64 && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, allowed);
}

}  // namespace

bool IsReceiverName(std::string_view text) { return IsPlainName(text) && text != "history"; }

bool IsCaptureName(std::string_view text) {
  return IsPlainName(text) && text != "list" && text != "stop" && text != "get";
}

bool IsLabelTarget(std::string_view text) {
  constexpr size_t kMostNameBytes = 64, kMostValueBytes = 255;
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && equals >= 1 && equals <= kMostNameBytes &&
         text.size() - equals - 1 <= kMostValueBytes &&
         std::ranges::none_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

namespace {

// Takes exactly `digits` of them off the text's front; nullopt: there are fewer, or the number is
// above `most`.
std::optional<int> TakeNumber(std::string_view* text, size_t digits, uint64_t most) {
  if (text->size() < digits) return std::nullopt;
  const std::optional<uint64_t> number = ParseWholeNumber(text->substr(0, digits));
  text->remove_prefix(digits);
  if (!number || *number > most) return std::nullopt;
  return static_cast<int>(*number);
}

bool TakeOneOf(std::string_view* text, std::string_view characters) {
  if (text->empty() || characters.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

// ".5" is half a second; digits below a nanosecond are left out.
std::optional<int64_t> TakeFraction(std::string_view* text) {
  int64_t ns = 0, digit_ns = 100'000'000;
  if (!TakeOneOf(text, ".")) return ns;
  if (text->empty() || !absl::ascii_isdigit(static_cast<unsigned char>(text->front())))
    return std::nullopt;
  while (!text->empty() && absl::ascii_isdigit(static_cast<unsigned char>(text->front()))) {
    ns += (text->front() - '0') * digit_ns;
    digit_ns /= 10;
    text->remove_prefix(1);
  }
  return ns;
}

// "Z", "+01:00" or "-01:00" at the text's end, in seconds.
std::optional<int64_t> TakeOffset(std::string_view* text) {
  if (TakeOneOf(text, "Zz")) return 0;
  const int64_t sign = text->starts_with('-') ? -1 : 1;
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const std::optional<int> hours = TakeNumber(text, 2, 23);
  const bool has_colon = TakeOneOf(text, ":");
  const std::optional<int> minutes = TakeNumber(text, 2, 59);
  if (!hours || !has_colon || !minutes) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<int64_t> ParseTimeUnixNs(std::string_view text) {
  const std::optional<int> year = TakeNumber(&text, 4, 2261);
  bool is_whole = TakeOneOf(&text, "-");
  const std::optional<int> month = TakeNumber(&text, 2, 12);
  is_whole &= TakeOneOf(&text, "-");
  const std::optional<int> day = TakeNumber(&text, 2, 31);
  is_whole &= TakeOneOf(&text, "Tt ");
  const std::optional<int> hour = TakeNumber(&text, 2, 23);
  is_whole &= TakeOneOf(&text, ":");
  const std::optional<int> minute = TakeNumber(&text, 2, 59);
  is_whole &= TakeOneOf(&text, ":");
  const std::optional<int> second = TakeNumber(&text, 2, 60);  // A leap second is the next one.
  const std::optional<int64_t> fraction_ns = TakeFraction(&text);
  const std::optional<int64_t> offset = TakeOffset(&text);
  if (!is_whole || !year || !month || !day || !hour || !minute || !second || !fraction_ns ||
      !offset || !text.empty() || *year < 1970)
    return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t seconds = days * 86'400 + *hour * 3600 + *minute * 60 + *second - *offset;
  if (seconds < 0) return std::nullopt;
  return seconds * 1'000'000'000 + *fraction_ns;
}

namespace {

// Where the shell has put a pipe or a file.
bool IsOwnDescriptor(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" ||
         (path.starts_with("/dev/fd/") && ParseWholeNumber(path.substr(8)));
}

}  // namespace

std::optional<OutputFormat> OutputFormatOf(std::string_view path) {
  if (path == "-" || IsOwnDescriptor(path) || path == "/dev/null") return OutputFormat::kFolded;
  for (const auto& [ending, format] : kEndings) {
    if (path.ends_with(ending)) return format;
  }
  return std::nullopt;
}

std::string_view OutputEndings() { return ".html .pb.gz .folded .otlp .json .speedscope.json"; }

std::string WhyNoOutput(const std::string& path) {
  std::error_code error;
  if (path.empty()) return "it has no name";
  if (path.ends_with('/') || std::filesystem::is_directory(path, error))
    return fmt::format("{} is a directory; name a file in it, like {}{}out.html", path, path,
                       path.ends_with('/') ? "" : "/");
  const std::string name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return fmt::format("{} has no ending", name);
  return fmt::format("no format has the ending {}", name.substr(dot));
}

}  // namespace stackray
