#include "reporter/page/page_question.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr int64_t kMostMs = int64_t{1} << 53;
constexpr uint32_t kMostRows = 100'000, kMostWidth = 16'384;
constexpr size_t kMostRequests = 16;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hex = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                     HexDigit(text[i + 2]) >= 0;
    out.push_back(hex ? static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]))
                  : text[i] == '+' ? ' '
                                   : text[i]);
    if (hex) i += 2;
  }
  return ToValidUtf8(out);
}

template <typename T>
bool ReadNumber(const std::string& text, T most, T* out) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > most)
    return false;
  *out = number;
  return true;
}

template <typename T, size_t n>
bool ReadWord(const std::array<std::pair<std::string_view, T>, n>& words, const std::string& text,
              T* out) {
  const auto found =
      std::ranges::find_if(words, [&](const auto& word) { return word.first == text; });
  if (found != words.end()) *out = found->second;
  return found != words.end();
}

constexpr std::array<std::pair<std::string_view, PageGrouping>, 8> kGroupings = {{
    {"command", PageGrouping::kCommand},
    {"process", PageGrouping::kProcess},
    {"thread", PageGrouping::kThread},
    {"container", PageGrouping::kContainer},
    {"service", PageGrouping::kService},
    {"cgroup", PageGrouping::kCgroup},
    {"user", PageGrouping::kUser},
    {"none", PageGrouping::kNone},
}};
constexpr std::array<std::pair<std::string_view, PageOrder>, 3> kOrders = {{
    {"self", PageOrder::kSelf},
    {"total", PageOrder::kTotal},
    {"name", PageOrder::kName},
}};

bool ReadByRequest(const std::string& value, PageQuestion* q) {
  const std::optional<SampleGrouping> grouping = SampleGrouping::Parse(value);
  if (!grouping || !grouping->is_of_request()) return false;
  q->grouping = PageGrouping::kNone;
  q->by_request = value;
  return true;
}

// False: its value is none for that name.
bool Take(std::string_view name, const std::string& value, PageQuestion* q) {
  if (name == "from_ms") return ReadNumber(value, kMostMs, &q->from_ms);
  if (name == "to_ms") return ReadNumber(value, kMostMs, &q->to_ms);
  if (name == "chosen_from_ms") return ReadNumber(value, kMostMs, &q->chosen_from_ms);
  if (name == "chosen_to_ms") return ReadNumber(value, kMostMs, &q->chosen_to_ms);
  if (name == "rows") return ReadNumber(value, kMostRows, &q->rows);
  if (name == "width") return ReadNumber(value, kMostWidth, &q->width);
  if (name == "by") return ReadWord(kGroupings, value, &q->grouping) || ReadByRequest(value, q);
  if (name == "order") return ReadWord(kOrders, value, &q->order);
  const std::array<std::pair<std::string_view, bool*>, 4> switches = {
      {{"fold", &q->fold}, {"inverted", &q->inverted}, {"lanes", &q->lanes}, {"lines", &q->lines}}};
  for (const auto& [word, out] : switches)
    if (name == word) *out = value == "1";
  const std::array<std::pair<std::string_view, std::string*>, 5> texts = {
      {{"type", &q->type},
       {"zoom", &q->zoom},
       {"callers", &q->callers},
       {"query", &q->query},
       {"capture", &q->capture}}};
  for (const auto& [word, out] : texts)
    if (name == word) *out = value;
  if (name == "requests" && (!RequestCondition(value) || q->requests.size() >= kMostRequests))
    return false;
  const std::array<std::pair<std::string_view, PageQuestion::Texts*>, 10> sets = {
      {{"processes", &q->processes},
       {"threads", &q->threads},
       {"waits", &q->waits},
       {"commands", &q->commands},
       {"containers", &q->containers},
       {"services", &q->services},
       {"cgroups", &q->cgroups},
       {"users", &q->users},
       {"requests", &q->requests},
       {"hidden", &q->hidden}}};
  for (const auto& [word, out] : sets)
    if (name == word) out->insert(value);
  return true;
}

}  // namespace

std::optional<SampleCondition> RequestCondition(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view key = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? "" : text.substr(equals + 1);
  if (key == kTraceIdLabel) return TraceCondition(value);
  if (key == kSpanIdLabel) return SpanCondition(value);
  return LabelCondition(text);
}

absl::StatusOr<PageQuestion> ParsePageQuestion(std::string_view query) {
  PageQuestion question;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name = Decoded(part.substr(0, equals));
    if (!Take(name, Decoded(part.substr(std::min(equals + 1, part.size()))), &question))
      return absl::InvalidArgumentError(Concat(PrintableText(name), ": not a value of it"));
  }
  if (question.from_ms >= question.to_ms)
    return absl::InvalidArgumentError("from_ms must be before to_ms");
  return question;
}

}  // namespace stackray
