#include "tests/reporter/decoded_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "profile/sample_types.h"
#include "reporter/attribute_names.h"
#include "reporter/batch_message.h"

namespace stackray {
namespace {

using opentelemetry::proto::common::v1::AnyValue;
using opentelemetry::proto::profiles::v1development::Location;
using opentelemetry::proto::profiles::v1development::Mapping;
using opentelemetry::proto::profiles::v1development::Profile;
using opentelemetry::proto::profiles::v1development::ProfilesData;
using opentelemetry::proto::profiles::v1development::ProfilesDictionary;
using opentelemetry::proto::profiles::v1development::Sample;

// Entries are shared on the wire and copied here, so a small hostile batch could decode to any
// size.
constexpr size_t kMaxDecodedBytes = size_t{256} << 20;

// Maps of values are no part of what stackray writes, nor are lists of anything but texts.
std::string ValueText(const AnyValue& value, const ProfilesDictionary& dictionary) {
  switch (value.value_case()) {
    case AnyValue::kStringValue: return value.string_value();
    case AnyValue::kBoolValue: return value.bool_value() ? "true" : "false";
    case AnyValue::kIntValue: return fmt::format("{}", value.int_value());
    case AnyValue::kDoubleValue: return fmt::format("{}", value.double_value());
    case AnyValue::kBytesValue: return value.bytes_value();
    case AnyValue::kStringValueStrindex: {
      const int32_t index = value.string_value_strindex();
      const bool inside = index >= 0 && index < dictionary.string_table_size();
      return inside ? dictionary.string_table(index) : "";
    }
    case AnyValue::kArrayValue: {
      std::string list;
      for (const AnyValue& element : value.array_value().values())
        list += (list.empty() ? "" : " ") + element.string_value();
      return list;
    }
    default: return "";
  }
}

// Adds without overflow: hostile numbers stop at the largest value.
int64_t AddSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t ClampToSigned(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

// Reads one batch; the first index that leaves its table is kept as the error and reads as element
// 0.
class Decoder {
 public:
  explicit Decoder(const ProfilesData& data) : data_(data), dictionary_(data.dictionary()) {}

  absl::StatusOr<DecodedBatch> Decode();

 private:
  using Attribute = std::pair<std::string_view, const AnyValue*>;

  // False, and an error, when the copies become too many.
  bool Spend(size_t bytes);
  std::string Copy(std::string_view text) { return Spend(text.size()) ? std::string(text) : ""; }
  std::string CopyText(const AnyValue& value) {
    return status_.ok() ? Copy(ValueText(value, dictionary_)) : "";
  }
  bool Inside(std::string_view table, int32_t index, int size);
  std::string_view String(int32_t index);
  Attribute AttributeAt(int32_t index);
  DecodedFrame Frame(const Location& location);
  void AddMapping(const Mapping& mapping, DecodedFrame* frame);
  void AddResource(
      const opentelemetry::proto::profiles::v1development::ResourceProfiles& resource_profiles);
  void AddProfile(const Profile& profile);
  void AddSample(const Sample& sample, double period_ns);
  void WidenTime(const Profile& profile);

  const ProfilesData& data_;
  const ProfilesDictionary& dictionary_;
  DecodedBatch batch_;
  bool has_time_ = false;
  int64_t end_unix_ns_ = 0;
  size_t spent_bytes_ = 0;
  absl::Status status_;
};

bool Decoder::Spend(size_t bytes) {
  spent_bytes_ += bytes;
  if (spent_bytes_ <= kMaxDecodedBytes) return true;
  if (status_.ok()) status_ = absl::DataLossError("OTLP batch: decodes to more than 256 MiB");
  return false;
}

bool Decoder::Inside(std::string_view table, int32_t index, int size) {
  if (index >= 0 && index < size) return true;
  // Index 0 of a table that was not written at all reads as its zero value.
  if (index != 0 && status_.ok()) {
    status_ = absl::DataLossError(
        fmt::format("OTLP batch: {} index {} outside its table of {}", table, index, size));
  }
  return false;
}

std::string_view Decoder::String(int32_t index) {
  if (!Inside("string", index, dictionary_.string_table_size())) return {};
  return dictionary_.string_table(index);
}

Decoder::Attribute Decoder::AttributeAt(int32_t index) {
  if (!Inside("attribute", index, dictionary_.attribute_table_size()))
    return {{}, &AnyValue::default_instance()};
  const auto& attribute = dictionary_.attribute_table(index);
  if (attribute.value().has_string_value_strindex())
    String(attribute.value().string_value_strindex());  // Checks the index.
  return {String(attribute.key_strindex()), &attribute.value()};
}

void Decoder::AddMapping(const Mapping& mapping, DecodedFrame* frame) {
  frame->mapping_path = Copy(String(mapping.filename_strindex()));
  size_t best = kBuildIdAttributes.size();
  for (const int32_t index : mapping.attribute_indices()) {
    const auto [key, value] = AttributeAt(index);
    const auto found = std::find(kBuildIdAttributes.begin(), kBuildIdAttributes.end(), key);
    const auto rank = static_cast<size_t>(found - kBuildIdAttributes.begin());
    if (rank >= best) continue;
    best = rank;
    frame->build_id = CopyText(*value);
  }
}

DecodedFrame Decoder::Frame(const Location& location) {
  DecodedFrame frame;
  std::string marker;
  frame.address = location.address();
  if (Inside("mapping", location.mapping_index(), dictionary_.mapping_table_size()) &&
      location.mapping_index() != 0)
    AddMapping(dictionary_.mapping_table(location.mapping_index()), &frame);
  for (const int32_t index : location.attribute_indices()) {
    const auto [key, value] = AttributeAt(index);
    if (key == kFrameTypeAttribute) frame.type = CopyText(*value);
    if (key == kMarkerAttribute) marker = CopyText(*value);
    if (key == kFunctionStartAttribute && value->value_case() == AnyValue::kIntValue)
      frame.function_start = static_cast<uint64_t>(value->int_value());
  }
  for (const auto& line : location.lines()) {
    if (!Inside("function", line.function_index(), dictionary_.function_table_size())) continue;
    const auto& function = dictionary_.function_table(line.function_index());
    if (!Spend(sizeof(DecodedLine))) break;
    DecodedLine& out = frame.lines.emplace_back();
    out.system_name = Copy(String(function.system_name_strindex()));
    const std::string_view name = String(function.name_strindex());
    out.function = Copy(name.empty() ? std::string_view(out.system_name) : name);
    out.file = Copy(String(function.filename_strindex()));
    out.line = line.line();
    out.column = line.column();
  }
  frame.marker = ReadMarker(marker, frame.type,
                            frame.lines.empty() ? std::string_view() : frame.lines[0].function);
  frame.marker_reason = MarkerReasonOf(marker);
  return frame;
}

void Decoder::WidenTime(const Profile& profile) {
  const int64_t start = ClampToSigned(profile.time_unix_nano());
  const int64_t end = AddSaturated(start, ClampToSigned(profile.duration_nano()));
  batch_.start_unix_ns = has_time_ ? std::min(batch_.start_unix_ns, start) : start;
  end_unix_ns_ = has_time_ ? std::max(end_unix_ns_, end) : end;
  has_time_ = true;
}

void Decoder::AddSample(const Sample& sample, double period_ns) {
  if (!Spend(sizeof(DecodedSample))) return;
  DecodedSample& out = batch_.samples.emplace_back();
  out.resource = static_cast<int32_t>(batch_.resources.size()) - 1;
  out.period_ns = period_ns;
  if (Inside("stack", sample.stack_index(), dictionary_.stack_table_size())) {
    const auto& locations = dictionary_.stack_table(sample.stack_index()).location_indices();
    if (!Spend(sizeof(int32_t) * static_cast<size_t>(locations.size()))) return;
    for (const int32_t index : locations) {
      if (Inside("location", index, dictionary_.location_table_size())) out.frames.push_back(index);
    }
  }
  Inside("link", sample.link_index(), dictionary_.link_table_size());
  for (const int32_t index : sample.attribute_indices()) {
    const auto [key, value] = AttributeAt(index);
    if (key == kThreadIdAttribute) out.tid = value->int_value();
    if (key == kThreadNameAttribute) out.thread_name = CopyText(*value);
    if (key == kCpuAttribute) out.cpu = value->int_value();
  }
  for (const int64_t value : sample.values()) out.count = AddSaturated(out.count, value);
  if (!Spend(sizeof(int64_t) * static_cast<size_t>(sample.timestamps_unix_nano_size()))) return;
  for (const uint64_t time : sample.timestamps_unix_nano())
    out.timestamps_unix_ns.push_back(ClampToSigned(time));
  if (sample.values().empty()) out.count = sample.timestamps_unix_nano_size();
}

void Decoder::AddProfile(const Profile& profile) {
  String(profile.sample_type().type_strindex());
  String(profile.sample_type().unit_strindex());
  String(profile.period_type().unit_strindex());
  for (const int32_t index : profile.attribute_indices()) AttributeAt(index);
  const bool has_period =
      String(profile.period_type().type_strindex()) == TypeOf(SampleOrigin::kCpuClock).period_type;
  const double period_ns = has_period ? static_cast<double>(profile.period()) : 0;
  if (batch_.period_ns == 0) batch_.period_ns = period_ns;
  WidenTime(profile);
  for (const Sample& sample : profile.samples()) AddSample(sample, period_ns);
}

void Decoder::AddResource(
    const opentelemetry::proto::profiles::v1development::ResourceProfiles& resource_profiles) {
  if (!Spend(sizeof(DecodedResource))) return;
  DecodedResource& resource = batch_.resources.emplace_back();
  for (const auto& attribute : resource_profiles.resource().attributes()) {
    if (!Spend(sizeof(resource.attributes[0]))) return;
    const bool by_index = attribute.key_strindex() != 0;
    std::string key = Copy(by_index ? String(attribute.key_strindex()) : attribute.key());
    if (attribute.value().has_string_value_strindex())
      String(attribute.value().string_value_strindex());
    resource.attributes.emplace_back(std::move(key), CopyText(attribute.value()));
  }
  for (const auto& scope : resource_profiles.scope_profiles()) {
    for (const Profile& profile : scope.profiles()) AddProfile(profile);
  }
}

absl::StatusOr<DecodedBatch> Decoder::Decode() {
  const auto locations = static_cast<size_t>(dictionary_.location_table_size());
  if (!Spend(locations * sizeof(DecodedFrame))) return status_;
  batch_.frames.reserve(locations);
  for (const Location& location : dictionary_.location_table())
    batch_.frames.push_back(Frame(location));
  if (batch_.frames.empty()) batch_.frames.emplace_back();
  for (const auto& resource_profiles : data_.resource_profiles()) AddResource(resource_profiles);
  batch_.duration_ns = has_time_ ? end_unix_ns_ - batch_.start_unix_ns : 0;
  if (!status_.ok()) return status_;
  return std::move(batch_);
}

}  // namespace

std::string DecodedResource::Find(std::string_view key) const {
  for (const auto& [name, value] : attributes) {
    if (name == key) return value;
  }
  return {};
}

std::string_view FindAttribute(const DecodedResource& resource, std::string_view key) {
  for (const auto& [name, value] : resource.attributes) {
    if (name == key) return value;
  }
  return {};
}

absl::StatusOr<DecodedBatch> DecodeBatch(std::string_view bytes) {
  ProfilesData data;
  if (!ParseBatchMessage(bytes, &data))
    return absl::DataLossError("OTLP batch: not the protobuf message it should be");
  return Decoder(data).Decode();
}

}  // namespace stackray
