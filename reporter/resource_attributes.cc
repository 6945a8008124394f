#include "reporter/resource_attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reporter/attribute_names.h"
#include "reporter/valid_text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

// More attributes than this are not taken from a process's context and environment.
constexpr size_t kMaxClaimedAttributes = 128;

// "2026-03-01T12:00:00.250Z"; empty for 0 and for what no calendar holds.
std::string IsoTime(int64_t unix_ns) {
  if (unix_ns <= 0) return {};
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     unix_ns / 1'000'000 % 1000);
}

// Whose word a value is.
enum class WordOf { kAgent, kProcess };

// Appends KeyValues {1 key, 2 value}, each key once.
class AttributeWriter {
 public:
  explicit AttributeWriter(const std::vector<std::string>& left_out) : left_out_(left_out) {}

  void AddText(std::string_view key, std::string_view text, WordOf word = WordOf::kAgent) {
    if (text.empty()) return;
    value_.clear();
    wire::AppendBytes(1, ValidText(text, &text_), &value_);
    AddEncoded(key, word);
  }
  void AddNumber(std::string_view key, uint64_t number) {
    value_.clear();
    wire::AppendNumber(3, number, &value_);
    if (number != 0) AddEncoded(key, WordOf::kAgent);
  }
  void AddValue(std::string_view key, const AttributeValue& value, WordOf word) {
    if (const auto* text = std::get_if<std::string>(&value)) return AddText(key, *text, word);
    value_.clear();  // A member of a oneof is written even where it is 0.
    if (const auto* truth = std::get_if<bool>(&value)) {
      wire::AppendTag(2, wire::Type::kVarint, &value_);
      wire::AppendVarint(*truth ? 1 : 0, &value_);
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      wire::AppendTag(3, wire::Type::kVarint, &value_);
      wire::AppendVarint(static_cast<uint64_t>(*number), &value_);
    } else {
      wire::AppendTag(4, wire::Type::kFixed64, &value_);
      wire::AppendFixed64(std::bit_cast<uint64_t>(std::get<double>(value)), &value_);
    }
    AddEncoded(key, word);
  }
  // AnyValue {5 ArrayValue {1 AnyValue {1 text} …}}: the keys so far that are the process's word.
  void AddClaimedKeys() {
    if (claimed_.empty()) return;
    std::string list, element;
    for (const std::string& key : claimed_) {
      element.clear();
      wire::AppendBytes(1, key, &element);
      wire::AppendBytes(1, element, &list);
    }
    value_.clear();
    wire::AppendBytes(5, list, &value_);
    AddEncoded(kClaimedKeys, WordOf::kAgent);
  }
  std::string Finish() && { return std::move(resource_); }

 private:
  void AddEncoded(std::string_view key, WordOf word) {
    const std::string valid_key(ValidText(key, &text_));
    if (valid_key.empty() || std::ranges::find(keys_, valid_key) != keys_.end() ||
        std::ranges::find(left_out_, valid_key) != left_out_.end())
      return;
    key_value_.clear();
    wire::AppendBytes(1, valid_key, &key_value_);
    wire::AppendBytes(2, value_, &key_value_);
    wire::AppendBytes(1, key_value_, &resource_);
    keys_.push_back(valid_key);
    if (word == WordOf::kProcess && !valid_key.starts_with(kClaimedPrefix))
      claimed_.push_back(valid_key);
  }

  const std::vector<std::string>& left_out_;
  std::string resource_, key_value_, value_, text_;
  std::vector<std::string> keys_, claimed_;
};

WordOf ProcessesIf(bool is_claimed) { return is_claimed ? WordOf::kProcess : WordOf::kAgent; }

bool IsOfHost(std::string_view key) { return key.starts_with("host.") || key.starts_with("os."); }

}  // namespace

std::string EncodeResource(const ProcessInfo& info, const BatchSettings& settings) {
  AttributeWriter writer(settings.left_out);
  writer.AddNumber("process.pid", info.pid);
  writer.AddText("stackray.process.pid_namespace", info.is_outside ? "host" : "");
  writer.AddText("process.command", info.command);
  writer.AddText("process.executable.path", info.executable_path);
  const std::string_view path = info.executable_path;
  writer.AddText("process.executable.name", path.substr(path.rfind('/') + 1));
  writer.AddText("process.creation.time", IsoTime(info.creation_time_unix_ns));
  writer.AddText("process.linux.cgroup", info.cgroup_path);
  writer.AddText("container.id", info.container_id, ProcessesIf(info.is_container_claimed));
  writer.AddText("container.name", info.container_name, ProcessesIf(info.is_container_claimed));
  writer.AddText("k8s.pod.uid", info.pod_uid, ProcessesIf(info.is_pod_claimed));
  writer.AddText("service.name", info.service_name, ProcessesIf(info.is_service_claimed));
  for (const auto& [key, value] : settings.resource_attributes)
    if (IsOfHost(key)) writer.AddText(key, value);
  writer.AddText("host.name", settings.host_name);
  writer.AddText("host.id", settings.host_id);
  writer.AddText("host.arch", settings.host_arch);
  writer.AddText("os.type", settings.os_type);
  writer.AddText("os.version", settings.os_version);
  for (const auto& [key, value] : info.extra) writer.AddValue(key, value, WordOf::kAgent);
  const size_t claimed = std::min(info.claimed.size(), kMaxClaimedAttributes);
  for (size_t i = 0; i < claimed; ++i)
    writer.AddValue(info.claimed[i].first, info.claimed[i].second, WordOf::kProcess);
  writer.AddClaimedKeys();
  for (const auto& [key, value] : settings.resource_attributes) writer.AddText(key, value);
  return std::move(writer).Finish();
}

}  // namespace stackray
