// How the table's rows read their texts into SettingValues; see ApplySetting for the contract.
#ifndef STACKRAY_AGENT_SETTINGS_SETTING_STORES_H_
#define STACKRAY_AGENT_SETTINGS_SETTING_STORES_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "agent/settings/setting_table.h"

namespace stackray {

using Texts = std::span<const std::string>;

inline constexpr std::string_view kSwitchWords = "true or false";
inline constexpr std::string_view kSizeWords = "a size like 16MiB or 10MB";

template <typename T, typename Field>
bool StoreParsed(std::optional<T> value, Field& field) {
  if (!value) return false;
  field = *std::move(value);
  return true;
}

// For any field. Text: not empty, at most 4096 bytes, no control characters.
bool StoreSwitch(Texts texts, bool& field);
bool StoreSize(Texts texts, uint64_t least, uint64_t& field);
bool StoreDuration(Texts texts, int64_t least_ms, int64_t most_ms, int64_t& field);
bool StoreText(const std::string& text, std::string& field);
bool StoreOneOf(const std::string& text, std::initializer_list<std::string_view> words,
                std::string& field);

// Of one receiver.
bool StoreTimeoutText(Texts texts, std::string& field);
bool StoreInsecureText(Texts texts, std::string& field);
bool StoreHeadersText(Texts texts, std::string& field);

// For the one field each is named after.
bool StoreTypes(SettingValues& values, Texts texts);
bool StoreOffCpuRate(SettingValues& values, Texts texts);
bool StoreFrequency(SettingValues& values, Texts texts);
bool StoreSymbols(SettingValues& values, Texts texts);
bool StoreDebuginfod(SettingValues& values, Texts texts);
bool StoreContainer(SettingValues& values, Texts texts);
bool StoreUser(SettingValues& values, Texts texts);
bool StoreLabelTarget(SettingValues& values, Texts texts);
bool StoreOutputs(SettingValues& values, Texts texts);
bool StoreTimeout(SettingValues& values, Texts texts);
bool StoreInsecure(SettingValues& values, Texts texts);
bool StorePageAccess(SettingValues& values, Texts texts);
bool StoreLogLevel(SettingValues& values, Texts texts);
bool StoreLogFormat(SettingValues& values, Texts texts);
bool StoreCaptureMaxRate(SettingValues& values, Texts texts);
bool StoreSandbox(SettingValues& values, Texts texts);
bool StoreHeaders(SettingValues& values, Texts texts);
bool StoreResourceAttributes(SettingValues& values, Texts texts);
bool StoreAttributes(SettingValues& values, Texts texts);
bool StoreServiceNameFrom(SettingValues& values, Texts texts);
bool StoreContextLabels(SettingValues& values, Texts texts);

// The rows of the table files, in the order of --help.
std::span<const SettingRow> TargetRows();
std::span<const SettingRow> SamplingRows();
std::span<const SettingRow> RecordingRows();
std::span<const SettingRow> ReceiverRows();
std::span<const SettingRow> TracesRows();
std::span<const SettingRow> LocalRows();
std::span<const SettingRow> CaptureRows();
std::span<const SettingRow> LogRows();

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_SETTING_STORES_H_
