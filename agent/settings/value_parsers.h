// Reads one setting's value from text, whichever of flag, variable or file it came from.
// All are total: nullopt for anything that is not wholly such a value; no locale, no exceptions.
#ifndef STACKRAY_AGENT_SETTINGS_VALUE_PARSERS_H_
#define STACKRAY_AGENT_SETTINGS_VALUE_PARSERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/settings/settings.h"

namespace stackray {

// Decimal digits only.
std::optional<uint64_t> ParseWholeNumber(std::string_view text);

// true/false, yes/no, on/off, 1/0 in any case.
std::optional<bool> ParseSwitch(std::string_view text);

// "16MiB" = 16·1024², "10MB" = 10·1000², also KiB kB GiB GB TiB TB B; a bare number is bytes.
// At most one space before the unit; fractions ("1.5GiB") are allowed. Largest: 1 TiB.
std::optional<uint64_t> ParseSizeBytes(std::string_view text);

// "15s", "2m", "500ms", "1h", "7d", "1.5s"; a bare number is seconds. Longest: 3650 days.
std::optional<int64_t> ParseDurationMs(std::string_view text);

// "50%", "0.5%"; a bare number is percent too. Largest: 100000.
std::optional<double> ParsePercent(std::string_view text);

// "PID[,PID…]": at most 4096, each from 1 to 2^22. Ascending and unique afterwards.
std::optional<std::vector<uint32_t>> ParsePids(std::string_view text);

// The http and https URLs among words with spaces between them, at most 8; other words are left
// out.
std::vector<std::string> HttpUrls(std::string_view text);

// "PORT" (of 127.0.0.1), "HOST:PORT" or "[HOST]:PORT" where HOST is any numeric address, or
// localhost.
std::optional<ListenAddress> ParseListenAddress(std::string_view text);

// Likewise, but with a HOST.
std::optional<ListenAddress> ParseAnyAddress(std::string_view text);

// 127.0.0.0/8, ::1 or localhost.
bool IsLoopback(const ListenAddress& address);

// 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with '.' or '-'; "history" is taken.
bool IsReceiverName(std::string_view text);

// 1 to 64 of A-Z a-z 0-9 . _ -, not beginning with '.' or '-'; "list", "stop" and "get" are words
// of stackray capture.
bool IsCaptureName(std::string_view text);

// "KEY=VALUE" of a label: 1 to 64 bytes, then at most 255, of text without control characters.
bool IsLabelTarget(std::string_view text);

// "2026-11-26T18:05:00Z", with a fraction of a second or an offset like +01:00 (RFC 3339), in
// nanoseconds since 1970. From 1970 to 2261.
std::optional<int64_t> ParseTimeUnixNs(std::string_view text);

// The format that a file's ending asks for; "-" is folded, and so are /dev/stdout, /dev/stderr,
// /dev/fd/N and /dev/null.
std::optional<OutputFormat> OutputFormatOf(std::string_view path);

// What is wrong with an output that has no format: it is a directory, or which ending it has. Asks
// the file system.
std::string WhyNoOutput(const std::string& path);

// ".html .pb.gz .folded .otlp .json .speedscope.json", for messages.
std::string_view OutputEndings();

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_VALUE_PARSERS_H_
