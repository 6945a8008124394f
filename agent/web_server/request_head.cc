#include "agent/web_server/request_head.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view Stripped(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

size_t EmptyLines(std::string_view bytes) {
  size_t count = 0;
  while (bytes.substr(count).starts_with(kLineEnd)) count += kLineEnd.size();
  return count;
}

// The letters of a method or of a header's name (RFC 9110, token).
bool IsToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return absl::ascii_isalnum(c) || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

bool IsHeaderValue(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return (c >= 0x20 && c != 0x7f) || c == '\t'; });
}

// "METHOD TARGET HTTP/1.x": 0, or the status to answer.
int ParseFirstLine(std::string_view line, RequestHead* head) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return 400;
  head->method = line.substr(0, first);
  head->target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(head->method) || !IsPlain(head->target) || head->target.empty()) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return version.starts_with("HTTP/") ? 505 : 400;
  head->minor_version = version.back() - '0';
  return head->target.size() > kMaxTargetBytes ? 414 : 0;
}

int ParseHeaderLine(std::string_view line, RequestHead* head) {
  if (head->headers.size() >= kMaxHeaders) return 431;
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return 400;
  const std::string_view value = Stripped(line.substr(colon + 1));
  if (!IsHeaderValue(value)) return 400;
  head->headers.emplace_back(line.substr(0, colon), value);
  return 0;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// What is no escape stands for itself.
std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// Cuts `text` at its first `mark`; returns what stood before it.
std::string_view TakeUntil(char mark, std::string_view* text) {
  const size_t end = std::min(text->find(mark), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

bool ListHas(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (EqualsIgnoringCase(Stripped(TakeUntil(',', &list)), word)) return true;
  return false;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return absl::ascii_tolower(x) == absl::ascii_tolower(y);
  });
}

size_t HeadLength(std::string_view bytes) {
  const size_t end = bytes.find(kHeadEnd, EmptyLines(bytes));
  return end == std::string_view::npos ? 0 : end + kHeadEnd.size();
}

ParsedHead ParseRequestHead(std::string_view bytes) {
  ParsedHead parsed;
  bytes.remove_prefix(EmptyLines(bytes));
  bool is_first = true;
  while (!bytes.empty() && parsed.status == 0) {
    const size_t end = std::min(bytes.find(kLineEnd), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + kLineEnd.size(), bytes.size()));
    if (!is_first && line.empty()) return parsed;
    parsed.status =
        is_first ? ParseFirstLine(line, &parsed.head) : ParseHeaderLine(line, &parsed.head);
    is_first = false;
  }
  if (parsed.status == 0) parsed.status = 400;  // No empty line at its end.
  return parsed;
}

std::string_view RequestHead::Header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (EqualsIgnoringCase(key, name)) return value;
  return {};
}

size_t RequestHead::CountOf(std::string_view name) const {
  return static_cast<size_t>(std::ranges::count_if(
      headers, [&](const auto& header) { return EqualsIgnoringCase(header.first, name); }));
}

std::optional<std::string> RequestHead::Parameter(std::string_view name) const {
  std::string_view query = target.substr(std::min(path().size() + 1, target.size()));
  query = query.substr(0, query.find('#'));
  while (!query.empty()) {
    std::string_view value = TakeUntil('&', &query);
    if (PercentDecoded(TakeUntil('=', &value)) == name) return PercentDecoded(value);
  }
  return std::nullopt;
}

std::string_view RequestHead::Cookie(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (!EqualsIgnoringCase(key, "Cookie")) continue;
    std::string_view list = value;
    while (!list.empty()) {
      std::string_view content = Stripped(TakeUntil(';', &list));
      if (TakeUntil('=', &content) == name) return content;
    }
  }
  return {};
}

bool RequestHead::KeepsConnection() const {
  const bool has_body = CountOf("Content-Length") > 0 || CountOf("Transfer-Encoding") > 0;
  return minor_version == 1 && !has_body && (method == "GET" || method == "HEAD") &&
         !ListHas(Header("Connection"), "close");
}

}  // namespace stackray
