#include "agent/web_server/request_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"

namespace stackray {
namespace {

std::string Sha256Base64(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &length, EVP_sha256(), nullptr) != 1) return "";
  unsigned char encoded[4 * ((EVP_MAX_MD_SIZE + 2) / 3) + 1];
  const int encoded_length = EVP_EncodeBlock(encoded, digest, static_cast<int>(length));
  return std::string(reinterpret_cast<const char*>(encoded), static_cast<size_t>(encoded_length));
}

size_t FindIgnoringCase(std::string_view text, std::string_view wanted, size_t from) {
  const auto same = [](char a, char b) {
    return absl::ascii_tolower(static_cast<unsigned char>(a)) == b;
  };
  const auto found = std::search(text.begin() + static_cast<ptrdiff_t>(from), text.end(),
                                 wanted.begin(), wanted.end(), same);
  return found == text.end() ? std::string_view::npos : static_cast<size_t>(found - text.begin());
}

// A page's data: no script, and long.
bool IsData(std::string_view tag) {
  return FindIgnoringCase(tag, "type=\"application/octet-stream\"", 0) != std::string_view::npos;
}

// The text between each <script …> and </script, as a browser hashes it.
std::vector<std::string_view> InlineScripts(std::string_view page) {
  std::vector<std::string_view> scripts;
  size_t at = 0;
  while ((at = FindIgnoringCase(page, "<script", at)) != std::string_view::npos) {
    const size_t begin = page.find('>', at);
    if (begin == std::string_view::npos) break;
    const size_t end = FindIgnoringCase(page, "</script", begin);
    if (end == std::string_view::npos) break;
    if (end > begin + 1 && !IsData(page.substr(at, begin - at)))
      scripts.push_back(page.substr(begin + 1, end - begin - 1));
    at = end;
  }
  return scripts;
}

}  // namespace

bool IsLocalHost(std::string_view host_header) {
  const size_t colon = host_header.rfind(':');
  if (colon == std::string_view::npos) return false;
  if (host_header.find('\0') != std::string_view::npos)
    return false;  // inet_pton() would stop there.
  const std::string name(host_header.substr(0, colon));
  in_addr v4{};
  const bool loopback =
      name == "localhost" || name == "[::1]" ||
      (inet_pton(AF_INET, name.c_str(), &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
  const std::string_view port = host_header.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return loopback && error == std::errc() && end == port.data() + port.size() && number > 0;
}

bool AcceptsGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    std::string item(accept_encoding.substr(0, comma));
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    std::erase_if(item, [](unsigned char c) { return absl::ascii_isspace(c); });
    item = absl::AsciiStrToLower(item);
    const size_t semicolon = std::min(item.find(';'), item.size());
    if (item.substr(0, semicolon) != "gzip") continue;
    const std::string weight = item.substr(semicolon);
    return !weight.starts_with(";q=0") || weight.find_first_of("123456789") != std::string::npos;
  }
  return false;
}

std::string ContentSecurityPolicy(std::string_view page) {
  std::string script_sources;
  for (std::string_view script : InlineScripts(page))
    script_sources += fmt::format(" 'sha256-{}'", Sha256Base64(script));
  if (script_sources.empty()) script_sources = " 'none'";
  return fmt::format(
      "default-src 'none'; script-src{}; style-src 'unsafe-inline'; img-src 'self' data:; "
      "font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'",
      script_sources);
}

}  // namespace stackray
