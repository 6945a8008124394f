#include "reporter/formats/sample_filter.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "reporter/attribute_names.h"
#include "reporter/formats/text.h"

namespace stackray {
namespace {

constexpr size_t kTraceDigits = 32, kSpanDigits = 16;

std::optional<SampleCondition> IdCondition(std::string_view key, std::string_view hex,
                                           size_t digits) {
  const auto is_digit = [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); };
  if (hex.size() != digits || !std::ranges::all_of(hex, is_digit)) return std::nullopt;
  if (std::ranges::all_of(hex, [](char c) { return c == '0'; })) return std::nullopt;
  return SampleCondition{std::string(key),
                         absl::AsciiStrToLower(absl::string_view(hex.data(), hex.size()))};
}

bool IsNumber(std::string_view text, int64_t number) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  return error == std::errc() && std::string_view(digits, end) == text;
}

bool IsHexOf(std::string_view hex, std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size())) == hex;
}

bool Meets(const WalkedSample& sample, const SampleCondition& condition) {
  if (condition.key == kTraceIdLabel && IsHexOf(condition.value, sample.trace_id)) return true;
  if (condition.key == kSpanIdLabel && IsHexOf(condition.value, sample.span_id)) return true;
  return std::ranges::any_of(sample.attributes, [&](const WalkedAttribute& attribute) {
    return condition.IsMetBy(attribute.key, attribute.text, attribute.number);
  });
}

}  // namespace

bool SampleCondition::IsMetBy(std::string_view label, std::string_view text, int64_t number) const {
  const bool is_label = label.starts_with(kLabelPrefix) && label.substr(kLabelPrefix.size()) == key;
  if (!is_label && label != key) return false;
  return text == value ? !value.empty() || number == 0 : text.empty() && IsNumber(value, number);
}

std::optional<SampleCondition> TraceCondition(std::string_view hex) {
  return IdCondition(kTraceIdLabel, hex, kTraceDigits);
}

std::optional<SampleCondition> SpanCondition(std::string_view hex) {
  return IdCondition(kSpanIdLabel, hex, kSpanDigits);
}

std::optional<SampleCondition> LabelCondition(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  return SampleCondition{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

bool SampleFilter::Wants(const WalkedSample& sample) const {
  return std::ranges::all_of(
      conditions_, [&](const SampleCondition& condition) { return Meets(sample, condition); });
}

std::string SampleFilter::Text() const {
  std::string text;
  for (const SampleCondition& condition : conditions_)
    AppendAll(&text, text.empty() ? "" : ", ", PrintableText(condition.key), "=",
              PrintableText(condition.value));
  return text;
}

}  // namespace stackray
