#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "reporter/attribute_names.h"
#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray {
namespace {

using opentelemetry::proto::profiles::v1development::Location;
using opentelemetry::proto::profiles::v1development::Profile;
using opentelemetry::proto::profiles::v1development::ProfilesData;

class Encoder {
 public:
  explicit Encoder(const DecodedBatch& batch) : batch_(batch) {
    // The zero values first.
    dictionary_.add_string_table();
    dictionary_.add_mapping_table();
    dictionary_.add_function_table();
    dictionary_.add_link_table();
    dictionary_.add_attribute_table();
    dictionary_.add_stack_table();
    for (const DecodedFrame& frame : batch.frames) AddFrame(frame);
  }

  std::string Encode() {
    int32_t resource = INT32_MIN;
    Profile* profile = nullptr;
    for (const DecodedSample& sample : batch_.samples) {
      if (profile == nullptr || sample.resource != resource) profile = AddProfile(sample.resource);
      resource = sample.resource;
      AddSample(sample, profile);
    }
    const google::protobuf::LogSilencer silence;  // Texts may be any bytes.
    return data_.SerializeAsString();
  }

 private:
  int32_t Text(std::string_view text) {
    const auto [found, fresh] = texts_.try_emplace(std::string(text), texts_.size());
    if (fresh) *dictionary_.add_string_table() = text;
    return static_cast<int32_t>(found->second);
  }
  int32_t Attribute(std::string_view key, std::string_view text) {
    auto* attribute = dictionary_.add_attribute_table();
    attribute->set_key_strindex(Text(key));
    *attribute->mutable_value()->mutable_string_value() = text;
    return dictionary_.attribute_table_size() - 1;
  }
  int32_t Attribute(std::string_view key, int64_t number) {
    auto* attribute = dictionary_.add_attribute_table();
    attribute->set_key_strindex(Text(key));
    attribute->mutable_value()->set_int_value(number);
    return dictionary_.attribute_table_size() - 1;
  }
  void AddFrame(const DecodedFrame& frame);
  Profile* AddProfile(int32_t resource);
  void AddSample(const DecodedSample& sample, Profile* profile);

  const DecodedBatch& batch_;
  ProfilesData data_;
  opentelemetry::proto::profiles::v1development::ProfilesDictionary& dictionary_ =
      *data_.mutable_dictionary();
  std::map<std::string, size_t> texts_{{"", 0}};
};

void Encoder::AddFrame(const DecodedFrame& frame) {
  Location* location = dictionary_.add_location_table();
  location->set_address(frame.address);
  if (!frame.mapping_path.empty() || !frame.build_id.empty()) {
    auto* mapping = dictionary_.add_mapping_table();
    mapping->set_filename_strindex(Text(frame.mapping_path));
    if (!frame.build_id.empty())
      mapping->add_attribute_indices(Attribute(kGnuBuildIdAttribute, frame.build_id));
    location->set_mapping_index(dictionary_.mapping_table_size() - 1);
  }
  if (!frame.type.empty())
    location->add_attribute_indices(Attribute(kFrameTypeAttribute, frame.type));
  if (frame.function_start)
    location->add_attribute_indices(
        Attribute(kFunctionStartAttribute, static_cast<int64_t>(*frame.function_start)));
  if (frame.marker != MarkerKind::kNone && frame.marker != MarkerKind::kOther)
    location->add_attribute_indices(
        Attribute(kMarkerAttribute, MarkerValue({frame.marker, frame.marker_reason})));
  for (const DecodedLine& line : frame.lines) {
    auto* function = dictionary_.add_function_table();
    function->set_name_strindex(Text(line.function));
    function->set_system_name_strindex(Text(line.system_name));
    function->set_filename_strindex(Text(line.file));
    auto* out = location->add_lines();
    out->set_function_index(dictionary_.function_table_size() - 1);
    out->set_line(line.line);
  }
}

Profile* Encoder::AddProfile(int32_t resource) {
  auto* profiles = data_.add_resource_profiles();
  if (resource >= 0 && static_cast<size_t>(resource) < batch_.resources.size()) {
    for (const auto& [key, value] : batch_.resources[static_cast<size_t>(resource)].attributes) {
      auto* attribute = profiles->mutable_resource()->add_attributes();
      attribute->set_key(key);
      *attribute->mutable_value()->mutable_string_value() = value;
    }
  }
  Profile* profile = profiles->add_scope_profiles()->add_profiles();
  profile->mutable_sample_type()->set_type_strindex(Text("samples"));
  profile->mutable_sample_type()->set_unit_strindex(Text("count"));
  if (batch_.period_ns != 0) {
    profile->mutable_period_type()->set_type_strindex(Text("cpu"));
    profile->mutable_period_type()->set_unit_strindex(Text("nanoseconds"));
    profile->set_period(std::llround(batch_.period_ns));
  }
  profile->set_time_unix_nano(static_cast<uint64_t>(std::max<int64_t>(batch_.start_unix_ns, 0)));
  profile->set_duration_nano(static_cast<uint64_t>(std::max<int64_t>(batch_.duration_ns, 0)));
  return profile;
}

void Encoder::AddSample(const DecodedSample& sample, Profile* profile) {
  auto* stack = dictionary_.add_stack_table();
  for (const int32_t frame : sample.frames)
    if (frame >= 0 && static_cast<size_t>(frame) < batch_.frames.size())
      stack->add_location_indices(frame);
  auto* out = profile->add_samples();
  out->set_stack_index(dictionary_.stack_table_size() - 1);
  if (sample.tid != 0) out->add_attribute_indices(Attribute(kThreadIdAttribute, sample.tid));
  if (!sample.thread_name.empty())
    out->add_attribute_indices(Attribute(kThreadNameAttribute, sample.thread_name));
  const auto times = static_cast<int64_t>(sample.timestamps_unix_ns.size());
  if (times == 0 || times != sample.count) out->add_values(sample.count);
  for (const int64_t time : sample.timestamps_unix_ns)
    out->add_timestamps_unix_nano(static_cast<uint64_t>(std::max<int64_t>(time, 0)));
}

}  // namespace

std::string EncodeBatch(const DecodedBatch& batch) { return Encoder(batch).Encode(); }

}  // namespace stackray
