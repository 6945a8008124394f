#include "agent/settings/setting_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "agent/settings/attribute_choice.h"
#include "agent/settings/resource_attribute_list.h"
#include "agent/settings/user_names.h"
#include "agent/settings/value_parsers.h"

namespace stackray {
namespace {

constexpr size_t kMaxTextBytes = 4096;

std::vector<std::string> SplitWords(Texts texts) {
  return absl::StrSplit(fmt::format("{}", fmt::join(texts, ",")), ',');
}

}  // namespace

bool StoreSwitch(Texts texts, bool& field) { return StoreParsed(ParseSwitch(texts[0]), field); }

bool StoreSize(Texts texts, uint64_t least, uint64_t& field) {
  return StoreParsed(ParseSizeBytes(texts[0]), field) && field >= least;
}

bool StoreDuration(Texts texts, int64_t least_ms, int64_t most_ms, int64_t& field) {
  return StoreParsed(ParseDurationMs(texts[0]), field) && field >= least_ms && field <= most_ms;
}

// Text that goes on as it is: not empty, bounded, no control characters.
bool StoreText(const std::string& text, std::string& field) {
  if (text.empty() || text.size() > kMaxTextBytes) return false;
  if (std::ranges::any_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); }))
    return false;
  field = text;
  return true;
}

bool StoreOneOf(const std::string& text, std::initializer_list<std::string_view> words,
                std::string& field) {
  if (std::ranges::find(words, text) == words.end()) return false;
  field = text;
  return true;
}

bool StoreTypes(SettingValues& values, Texts texts) {
  std::vector<SampleOrigin> types;
  const std::vector<std::string> words = SplitWords(texts);
  if (words.size() == 1 && FindSampleTypeByName(words[0]) == nullptr) {
    values.types.reset();
    values.foreign_type = words[0];
    return true;
  }
  for (const std::string& word : words) {
    const SampleType* type = FindSampleTypeByName(word);
    if (type == nullptr || std::ranges::find(types, type->origin) != types.end()) return false;
    types.push_back(type->origin);
  }
  values.foreign_type.reset();
  values.types = std::move(types);
  return !values.types->empty();
}

bool StoreOffCpuRate(SettingValues& values, Texts texts) {
  const std::optional<uint64_t> rate = ParseWholeNumber(texts[0]);
  if (!rate || *rate < 1 || *rate > 100'000) return false;
  values.sampling.off_cpu_rate = static_cast<uint32_t>(*rate);
  return true;
}

bool StoreCaptureMaxRate(SettingValues& values, Texts texts) {
  const std::optional<uint64_t> rate = ParseWholeNumber(texts[0]);
  if (!rate || *rate < 1 || *rate > 100'000) return false;
  values.agent.capture_max_rate = static_cast<uint32_t>(*rate);
  return true;
}

bool StoreFrequency(SettingValues& values, Texts texts) {
  const std::optional<uint64_t> hz = ParseWholeNumber(texts[0]);
  if (!hz || *hz < 1 || *hz > 10000) return false;
  values.frequency_hz = static_cast<uint32_t>(*hz);
  return true;
}

bool StoreSymbols(SettingValues& values, Texts texts) {
  std::string word;
  if (!StoreOneOf(texts[0], {"off", "symtab", "full"}, word)) return false;
  values.sampling.symbols = word == "off"      ? SymbolPolicy::kOff
                            : word == "symtab" ? SymbolPolicy::kSymtab
                                               : SymbolPolicy::kFull;
  return true;
}

bool StoreDebuginfod(SettingValues& values, Texts texts) {
  const std::string& text = texts[0];
  if (text != "off" && text != "on") {
    const std::vector<std::string> urls = HttpUrls(text);
    if (urls.empty() || fmt::format("{}", fmt::join(urls, " ")) != text ||
        text.find(',') != std::string::npos)
      return false;
  }
  values.sampling.debuginfod = text;
  return true;
}

bool StoreContainer(SettingValues& values, Texts texts) {
  const std::string id = absl::AsciiStrToLower(texts[0]);
  const bool hex = std::ranges::all_of(id, [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (!hex || id.size() < 12 || id.size() > 64) return false;
  values.target.container_id = id;
  return true;
}

bool StoreUser(SettingValues& values, Texts texts) {
  const std::optional<uint64_t> number = ParseWholeNumber(texts[0]);
  if (number && *number >= UINT32_MAX) return false;  // (uid_t)-1 is no user.
  values.user = number ? std::optional(static_cast<uid_t>(*number)) : FindUserId(texts[0]);
  return values.user.has_value();
}

bool StoreOutputs(SettingValues& values, Texts texts) {
  std::vector<OutputFile> outputs;
  for (const std::string& path : texts) {
    const std::optional<OutputFormat> format = OutputFormatOf(path);
    std::string checked;
    if (!format || !StoreText(path, checked)) return false;
    if (std::ranges::find(outputs, path, &OutputFile::path) != outputs.end()) return false;
    outputs.push_back({path, *format});
  }
  values.record.outputs = std::move(outputs);
  return true;
}

bool StoreTimeoutText(Texts texts, std::string& field) {
  int64_t ms = 0;
  if (!StoreDuration(texts, 1, 3600 * 1000, ms)) return false;
  field = fmt::format("{}", ms);
  return true;
}

bool StoreTimeout(SettingValues& values, Texts texts) {
  return StoreTimeoutText(texts, values.receiver.timeout);
}

bool StoreInsecureText(Texts texts, std::string& field) {
  bool insecure = false;
  if (!StoreSwitch(texts, insecure)) return false;
  field = insecure ? "true" : "false";
  return true;
}

bool StoreInsecure(SettingValues& values, Texts texts) {
  return StoreInsecureText(texts, values.receiver.insecure);
}

bool StorePageAccess(SettingValues& values, Texts texts) {
  if (texts[0] != "token" && texts[0] != "open") return false;
  values.agent.page_access = texts[0] == "open" ? PageReaders::kOpen : PageReaders::kToken;
  return true;
}

bool StoreLogLevel(SettingValues& values, Texts texts) {
  constexpr std::string_view kWords[] = {"debug", "info", "warning", "error"};  // As LogLevel.
  const auto word = std::ranges::find(kWords, texts[0]);
  if (word == std::end(kWords)) return false;
  values.log.level = static_cast<LogLevel>(word - std::begin(kWords));
  return true;
}

bool StoreLogFormat(SettingValues& values, Texts texts) {
  if (texts[0] != "text" && texts[0] != "json") return false;
  values.log.format = texts[0] == "json" ? LogFormat::kJson : LogFormat::kText;
  return true;
}

bool StoreSandbox(SettingValues& values, Texts texts) {
  constexpr std::string_view kWords[] = {"on", "strict", "off"};  // As SandboxMode.
  const auto word = std::ranges::find(kWords, texts[0]);
  if (word == std::end(kWords)) return false;
  values.sandbox = static_cast<SandboxMode>(word - std::begin(kWords));
  return true;
}

bool StoreHeadersText(Texts texts, std::string& field) {
  const auto is_header = [](const std::string& text) {
    return text.find('=') != std::string::npos && !text.starts_with('=');
  };
  return std::ranges::all_of(texts, is_header) &&
         StoreText(fmt::format("{}", fmt::join(texts, ",")), field);
}

bool StoreHeaders(SettingValues& values, Texts texts) {
  return StoreHeadersText(texts, values.receiver.headers);
}

bool StoreResourceAttributes(SettingValues& values, Texts texts) {
  absl::StatusOr<ResourceAttributes> attributes =
      ParseResourceAttributes(fmt::format("{}", fmt::join(texts, ",")));
  if (!attributes.ok()) return false;
  values.resource_attributes = *std::move(attributes);
  return true;
}

bool StoreAttributes(SettingValues& values, Texts texts) {
  return StoreParsed(LeftOutAttributes(SplitWords(texts)), values.left_out_attributes.emplace());
}

bool StoreServiceNameFrom(SettingValues& values, Texts texts) {
  const std::vector<std::string> defaults = SamplingSettings().service_name_from;
  std::vector<std::string> words = SplitWords(texts);
  for (size_t i = 0; i < words.size(); ++i) {
    if (std::ranges::find(defaults, words[i]) == defaults.end()) return false;
    if (std::find(words.begin(), words.begin() + static_cast<ptrdiff_t>(i), words[i]) !=
        words.begin() + static_cast<ptrdiff_t>(i))
      return false;
  }
  values.service_name_from = std::move(words);
  return !values.service_name_from->empty();
}

bool StoreLabelTarget(SettingValues& values, Texts texts) {
  values.labels.clear();
  for (const std::string& text : texts) {
    if (!IsLabelTarget(text) || !StoreText(text, values.target.label)) return false;
    values.labels.push_back(*LabelCondition(text));
  }
  return true;
}

bool StoreContextLabels(SettingValues& values, Texts texts) {
  constexpr size_t kMostNames = 64, kMostBytes = 255;
  std::vector<std::string> names = SplitWords(texts);
  std::string name;
  for (const std::string& text : names)
    if (text.size() > kMostBytes || !StoreText(text, name)) return false;
  if (names.size() > kMostNames) return false;
  values.sampling.context_labels = std::move(names);
  return true;
}

}  // namespace stackray
