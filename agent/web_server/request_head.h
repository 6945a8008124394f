// The head of one HTTP request, parsed.
// Input: any bytes from anybody who can connect. Nothing is copied, so the bytes outlive the head.
#ifndef STACKRAY_AGENT_WEB_SERVER_REQUEST_HEAD_H_
#define STACKRAY_AGENT_WEB_SERVER_REQUEST_HEAD_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stackray {

// A browser sends the cookies of every server of 127.0.0.1 along, whatever the port.
inline constexpr size_t kMaxHeadBytes = 16 * 1024;
inline constexpr size_t kMaxTargetBytes = 12 * 1024;  // A filter may name many processes.
inline constexpr size_t kMaxHeaders = 100;

bool EqualsIgnoringCase(std::string_view a, std::string_view b);  // Of ASCII letters.

struct RequestHead {
  std::string_view method, target;
  int minor_version = 1;  // Of HTTP/1.
  std::vector<std::pair<std::string_view, std::string_view>> headers;

  std::string_view path() const { return target.substr(0, target.find('?')); }
  // The first header of this name (in any case); empty where there is none.
  std::string_view Header(std::string_view name) const;
  size_t CountOf(std::string_view name) const;
  // The first parameter of this name, percent-decoded. nullopt: there is none.
  std::optional<std::string> Parameter(std::string_view name) const;
  // The cookie of this name; empty where there is none.
  std::string_view Cookie(std::string_view name) const;
  // The client keeps the connection, and no body follows that would have to be read.
  bool KeepsConnection() const;
};

// The head's length with its empty line, 0 while that has not come. Empty lines before a head
// belong to it.
size_t HeadLength(std::string_view bytes);

struct ParsedHead {
  RequestHead head;
  int status = 0;  // 0: understood. Else what to answer: 400, 414, 431 or 505.
};

// Parses what HeadLength() has measured.
ParsedHead ParseRequestHead(std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_REQUEST_HEAD_H_
