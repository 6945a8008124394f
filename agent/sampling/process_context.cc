#include "agent/sampling/process_context.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "reporter/valid_text.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr std::string_view kSignature = "OTEL_CTX";
constexpr uint32_t kVersion = 2;
constexpr std::string_view kThreadPrefix = "threadlocal.";
constexpr std::string_view kMappingNames[] = {"/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]",
                                              "[anon:OTEL_CTX]"};

template <typename T>
T At(std::span<const uint8_t> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// "START-END PERMISSIONS OFFSET DEVICE INODE   NAME"; nullopt: another name, or no such line.
std::optional<uint64_t> ContextAddress(std::string_view line) {
  uint64_t start = 0;
  const char* const end = line.data() + line.size();
  const auto [dash, error] = std::from_chars(line.data(), end, start, 16);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  for (int field = 0; field < 5; ++field) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    line.remove_prefix(std::min(line.find_first_not_of(' ', space), line.size()));
  }
  for (const std::string_view name : kMappingNames)
    if (line.starts_with(name)) return start;
  return std::nullopt;
}

bool IsPrivate(std::string_view key) {
  return key == "process.command_line" || key == "process.command_args" ||
         key.starts_with("process.environment_variable");
}

std::string Valid(std::string_view bytes) {
  std::string buffer;
  return std::string(ValidText(bytes, &buffer));
}

// AnyValue {1 text, 2 truth value, 3 whole number, 4 decimal}; `*value` stays empty for other
// kinds.
bool ReadValue(std::string_view message, std::optional<AttributeValue>* value) {
  return EachField(message, [value](const WireField& field) {
    if (IsBytes(field, 1)) *value = Valid(field.bytes);
    if (IsNumber(field, 2)) *value = field.value != 0;
    if (IsNumber(field, 3)) *value = static_cast<int64_t>(field.value);
    if (field.number == 4 && field.type == WireType::kFixed64)
      *value = std::bit_cast<double>(field.value);
    return true;
  });
}

// AnyValue {1 text, 5 ArrayValue {1 AnyValue …}}: the texts of a list, as a label names them by
// their place in it. One that is no valid text holds its place by an empty one.
bool ReadTexts(std::string_view message, std::vector<std::string>* texts) {
  return EachField(message, [texts](const WireField& field) {
    if (!IsBytes(field, 5)) return true;
    return EachField(field.bytes, [texts](const WireField& element) {
      if (!IsBytes(element, 1) || texts->size() == kMaxThreadKeys) return true;
      std::string& text = texts->emplace_back();
      return EachField(element.bytes, [&text](const WireField& value) {
        if (IsBytes(value, 1) && value.bytes.size() <= kMaxContextKeyBytes &&
            ValidUtf8Prefix(value.bytes) == value.bytes.size())
          text = value.bytes;
        return true;
      });
    });
  });
}

class AttributeReader {
 public:
  explicit AttributeReader(ProcessContext* out) : out_(out) {}

  // Resource {1 attributes}. False: damaged.
  bool ReadResource(std::string_view resource) {
    return EachField(resource, [this](const WireField& field) {
      return !IsBytes(field, 1) || ReadAttribute(field.bytes, /*is_exported=*/true);
    });
  }
  // KeyValue {1 key, 2 value}. False: damaged.
  bool ReadAttribute(std::string_view message, bool is_exported) {
    std::string_view key, value_bytes;
    std::optional<AttributeValue> value;
    const bool whole = EachField(message, [&](const WireField& field) {
      if (IsBytes(field, 1)) key = field.bytes;
      if (IsBytes(field, 2)) value_bytes = field.bytes;
      return !IsBytes(field, 2) || ReadValue(field.bytes, &value);
    });
    if (!whole) return false;
    if (key.starts_with(kThreadPrefix)) return ReadThreadSchema(key, value_bytes, value);
    if (is_exported && value && !key.empty() && key.size() <= kMaxContextKeyBytes &&
        !IsPrivate(key))
      Keep(Valid(key), *std::move(value));
    return true;
  }

 private:
  bool ReadThreadSchema(std::string_view key, std::string_view value_bytes,
                        const std::optional<AttributeValue>& value) {
    key.remove_prefix(kThreadPrefix.size());
    const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
    if (key == "schema_version" && text != nullptr && text->size() <= kMaxContextKeyBytes)
      out_->threads.version = *text;
    if (key != "attribute_key_map") return true;
    out_->threads.keys.clear();
    return ReadTexts(value_bytes, &out_->threads.keys);
  }

  void Keep(std::string key, AttributeValue value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && text->empty()) return;
    if (key == "service.name") {
      if (text != nullptr && out_->service_name.empty()) out_->service_name = *text;
      return;
    }
    auto& attributes = out_->attributes;
    const bool known = std::any_of(attributes.begin(), attributes.end(),
                                   [&key](const auto& other) { return other.first == key; });
    if (!known && attributes.size() < kMaxContextAttributes)
      attributes.emplace_back(std::move(key), std::move(value));
  }

  ProcessContext* const out_;
};

}  // namespace

size_t FindContextMappings(std::string_view text, std::vector<uint64_t>* addresses) {
  const size_t whole = text.rfind('\n') + 1;  // 0: not a single line.
  text = text.substr(0, whole);
  for (size_t at = text.find(kSignature); at != std::string_view::npos;) {
    const size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
    if (const auto address = ContextAddress(text.substr(begin, end - begin)))
      addresses->push_back(*address);
    at = text.find(kSignature, end);
  }
  return whole;
}

bool NamesContextLibrary(std::string_view text) {
  for (const std::string_view name :
       {"/libcustomlabels", "/customlabels.node", "/elastic-jvmti-linux-"})
    if (text.find(name) != std::string_view::npos) return true;
  return false;
}

std::optional<ContextHeader> ParseContextHeader(std::span<const uint8_t> bytes) {
  if (bytes.size() < kContextHeaderBytes ||
      std::memcmp(bytes.data(), kSignature.data(), kSignature.size()) != 0 ||
      At<uint32_t>(bytes, 8) != kVersion)
    return std::nullopt;
  return ContextHeader{.payload_bytes = At<uint32_t>(bytes, 12),
                       .published_at_ns = At<uint64_t>(bytes, 16),
                       .payload_address = At<uint64_t>(bytes, 24)};
}

absl::StatusOr<ProcessContext> ParseContextPayload(std::string_view bytes) {
  ProcessContext context;
  AttributeReader reader(&context);
  const bool whole = EachField(bytes, [&](const WireField& field) {
    if (IsBytes(field, 1)) return reader.ReadResource(field.bytes);
    return !IsBytes(field, 2) || reader.ReadAttribute(field.bytes, /*is_exported=*/false);
  });
  if (!whole) return absl::DataLossError("not a process context's message");
  return context;
}

}  // namespace stackray
