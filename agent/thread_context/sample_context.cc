#include "agent/thread_context/sample_context.h"

#include <algorithm>
#include <cstring>

#include "reporter/valid_text.h"

namespace stackray {
namespace {

std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "0af7…" of exactly as many bytes; false: it is something else.
template <size_t N>
bool ReadHex(std::string_view text, std::array<uint8_t, N>* id) {
  if (text.size() != 2 * N) return false;
  std::array<uint8_t, N> read;
  for (size_t i = 0; i < N; ++i) {
    const int high = DigitOf(text[2 * i]), low = DigitOf(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    read[i] = static_cast<uint8_t>(high << 4 | low);
  }
  *id = read;
  return true;
}

// Both ids or neither, as W3C's trace context has it.
std::optional<SpanContext> Whole(const SpanContext& span) {
  constexpr SpanContext kNone;
  if (span.trace_id == kNone.trace_id || span.span_id == kNone.span_id) return std::nullopt;
  return span;
}

}  // namespace

bool SampleContextReader::IsKept(std::string_view key) const {
  return std::ranges::any_of(choice_.names,
                             [key](const auto& name) { return name == "*" || name == key; });
}

void SampleContextReader::Take(std::string_view key, std::string_view value, bool last_wins) {
  if (!choice_.labels || key.empty() || !IsKept(key) || ValidUtf8Prefix(key) != key.size()) return;
  if (const size_t valid = ValidUtf8Prefix(value); valid != value.size()) {
    value = value.substr(0, valid);
    is_cut_ = true;
  }
  const auto known = std::ranges::find_if(taken_, [key](const Label& label) {
    return std::string_view(label.name).substr(kLabelPrefix.size()) == key;
  });
  if (known != taken_.end()) {
    if (last_wins) known->value = value;
    return;
  }
  if (taken_.size() == kMostLabels) {
    is_cut_ = true;
    return;
  }
  taken_.push_back({std::string(kLabelPrefix).append(key), value});
}

// {u8 index, u8 bytes, value}. An entry that is cut off ends the list.
void SampleContextReader::TakeIndexed(std::span<const uint8_t> labels,
                                      std::span<const std::string> keys, bool* knows_all_keys) {
  constexpr size_t kHeadBytes = 2;
  while (labels.size() >= kHeadBytes) {
    const size_t index = labels[0], size = labels[1];
    labels = labels.subspan(kHeadBytes);
    if (size > labels.size()) break;
    if (index < keys.size()) {
      Take(keys[index], TextOf(labels.first(size)), /*last_wins=*/true);
    } else {
      *knows_all_keys = false;
    }
    labels = labels.subspan(size);
  }
}

// {u8 bytes of the key, u8 bytes of the value, key, value}.
void SampleContextReader::TakeNamed(std::span<const uint8_t> labels, SpanContext* span) {
  constexpr size_t kHeadBytes = 2;
  while (labels.size() >= kHeadBytes) {
    const size_t key_size = labels[0], value_size = labels[1];
    labels = labels.subspan(kHeadBytes);
    if (key_size + value_size > labels.size()) break;
    const std::string_view key = TextOf(labels.first(key_size));
    const std::string_view value = TextOf(labels.subspan(key_size, value_size));
    constexpr SpanContext kNone;
    if (key == "trace_id" || key == "trace id") {
      if (span->trace_id == kNone.trace_id) ReadHex(value, &span->trace_id);
    } else if (key == "span_id") {
      if (span->span_id == kNone.span_id) ReadHex(value, &span->span_id);
    }
    Take(key, value, /*last_wins=*/false);
    labels = labels.subspan(key_size + value_size);
  }
}

SampleContext SampleContextReader::Read(const ThreadContextPart& context,
                                        std::span<const std::string> keys) {
  SampleContext read;
  SpanContext span;
  std::memcpy(span.trace_id.data(), context.part->trace_id, span.trace_id.size());
  std::memcpy(span.span_id.data(), context.part->span_id, span.span_id.size());
  taken_.clear();
  labels_.clear();
  is_cut_ = (context.part->flags & CONTEXT_CUT) != 0;
  if (context.part->kind == CONTEXT_OTEL || context.part->kind == CONTEXT_NODE) {
    TakeIndexed(context.labels, keys, &read.knows_all_keys);
  } else {
    TakeNamed(context.labels, &span);
  }
  read.span = Whole(span);
  // Go's maps and a record's entries have their labels in any order; a sample's identity has none.
  std::ranges::sort(taken_, {}, &Label::name);
  for (const Label& label : taken_) labels_.emplace_back(label.name, label.value);
  if (choice_.labels && is_cut_) labels_.emplace_back(kLabelsCutAttribute, "true");
  read.labels = labels_;
  return read;
}

}  // namespace stackray
