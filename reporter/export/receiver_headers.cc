#include "reporter/export/receiver_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace stackray {
namespace {

constexpr size_t kMaxHeaders = 64;
constexpr size_t kMaxValueBytes = 8192;  // What gRPC's servers take of metadata by default.

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

// The characters that HTTP/2 and gRPC metadata both take, in lower case; empty when there is
// another.
std::string HeaderName(std::string_view text) {
  std::string name;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!fits) return {};
    name += c;
  }
  return name;
}

bool IsPrintable(std::string_view value) {
  for (const char c : value)
    if (c < 0x20 || c > 0x7e) return false;
  return true;
}

bool IsReserved(std::string_view name) {
  if (name.substr(0, 5) == "grpc-") return true;
  for (const char* own : {"content-type", "content-length", "content-encoding", "host", "te",
                          "transfer-encoding", "connection", "user-agent"})
    if (name == own) return true;
  return false;
}

absl::Status Invalid(size_t position, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("header {}: {}", position, why));
}

absl::StatusOr<std::pair<std::string, std::string>> ParseOne(std::string_view entry,
                                                             size_t position) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos)
    return Invalid(position, "has no '='; write NAME=VALUE, more of them separated by commas");
  const std::string name = HeaderName(Trim(entry.substr(0, equals)));
  if (name.empty())
    return Invalid(position,
                   "the name is empty or has other characters than letters, digits, - _ .");
  if (IsReserved(name))
    return Invalid(position, fmt::format("\"{}\" is set by stackray itself; leave it out", name));
  std::optional<std::string> value = PercentDecode(Trim(entry.substr(equals + 1)));
  if (!value)
    return Invalid(position, fmt::format("the value of \"{}\" has a '%' that is not %XX", name));
  if (!IsPrintable(*value))
    return Invalid(position,
                   fmt::format("the value of \"{}\" has characters outside printable ASCII", name));
  if (value->size() > kMaxValueBytes)
    return Invalid(
        position, fmt::format("the value of \"{}\" is longer than {} bytes", name, kMaxValueBytes));
  return std::make_pair(name, *std::move(value));
}

}  // namespace

void HideHeaderValues(const HeaderList& headers, std::string& text) {
  constexpr size_t kLeastBytes = 4;  // A shorter word may stand anywhere.
  for (const auto& [name, value] : headers) {
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      const std::string_view word = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (word.size() < kLeastBytes) continue;
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 3))
        text.replace(at, word.size(), "***");
    }
  }
}

absl::StatusOr<HeaderList> ParseHeaders(std::string_view text) {
  HeaderList headers;
  size_t position = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view entry = Trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    ++position;
    if (entry.empty()) continue;  // A trailing comma is common and harmless.
    absl::StatusOr<std::pair<std::string, std::string>> header = ParseOne(entry, position);
    if (!header.ok()) return header.status();
    if (headers.size() == kMaxHeaders) return Invalid(position, "more than 64 headers");
    headers.push_back(*std::move(header));
  }
  return headers;
}

}  // namespace stackray
