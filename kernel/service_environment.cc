#include "kernel/service_environment.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/process_info.h"
#include "kernel/text.h"

namespace stackray {
namespace {

constexpr size_t kMaxEnvironmentBytes = 128 << 10;
constexpr size_t kMaxValueBytes = 4096;
constexpr size_t kMaxAttributes = 64;
constexpr std::string_view kServiceName = "OTEL_SERVICE_NAME=";
constexpr std::string_view kAttributes = "OTEL_RESOURCE_ATTRIBUTES=";

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    uint8_t byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr != end) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

// "key=value,key=value". False: a mistake, and nothing counts.
bool ParseAttributes(std::string_view list, ServiceEnvironment* out) {
  for (std::string_view pair : Split(list, ',')) {
    if (Trimmed(pair).empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = Trimmed(pair.substr(0, equals));
    std::optional<std::string> value = PercentDecoded(Trimmed(pair.substr(equals + 1)));
    if (key.empty() || !value) return false;
    if (key == "service.name") {
      out->service_name = *std::move(value);
    } else if (out->attributes.size() < kMaxAttributes) {
      out->attributes.emplace_back(std::string(key), *std::move(value));
    }
  }
  return true;
}

// Empty: nothing to be read, which a process that is ending has too.
std::string ReadEnvironment(uint32_t pid) {
  return ReadForeignText(pid, "environ", kMaxEnvironmentBytes);
}

}  // namespace

ServiceEnvironment ParseServiceEnvironment(std::string_view bytes) {
  std::string_view service_name, attributes;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\0', at), bytes.size());
    const std::string_view variable = bytes.substr(at, end - at);
    at = end + 1;
    if (!variable.starts_with("OTEL_") || variable.size() > kMaxValueBytes) continue;
    if (variable.starts_with(kServiceName)) service_name = variable.substr(kServiceName.size());
    if (variable.starts_with(kAttributes)) attributes = variable.substr(kAttributes.size());
  }
  ServiceEnvironment out;
  if (!ParseAttributes(attributes, &out)) out = {};
  if (!service_name.empty()) out.service_name = std::string(service_name);
  return out;
}

absl::StatusOr<ServiceEnvironment> ReadServiceEnvironment(const ProcessId& id) {
  const std::string bytes = ReadEnvironment(id.pid);
  ServiceEnvironment environment = ParseServiceEnvironment(bytes);
  // Whose it was matters only where it says something.
  const bool says_nothing = environment.service_name.empty() && environment.attributes.empty();
  if (!bytes.empty() && says_nothing) return environment;
  if (!IsSameProcess(id) || (bytes.empty() && !HasExecutable(id.pid)))
    return absl::NotFoundError("the process is gone");
  if (bytes.empty() && !HasEmptyEnvironment(id.pid))
    return absl::UnavailableError("exec() has not laid out the environment yet");
  return environment;
}

}  // namespace stackray
