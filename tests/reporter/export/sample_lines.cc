#include "tests/reporter/export/sample_lines.h"

#include <algorithm>

#include "reporter/proto/profiles_service.pb.h"

namespace stackray {
namespace {

namespace common = opentelemetry::proto::common::v1;
namespace profiles = opentelemetry::proto::profiles::v1development;

class LineWriter {
 public:
  explicit LineWriter(const profiles::ProfilesDictionary& dictionary) : dictionary_(dictionary) {}

  std::string Resource(const profiles::ResourceProfiles& resource,
                       const profiles::ScopeProfiles& scope) {
    return "resource" + Pairs(resource.resource().attributes()) + " " + resource.schema_url() +
           " scope " + scope.scope().name() + " " + scope.scope().version() +
           Pairs(scope.scope().attributes());
  }

  std::string Profile(const profiles::Profile& profile) {
    return " type " + Type(profile.sample_type()) + " period " + Type(profile.period_type()) + " " +
           std::to_string(profile.period()) + " at " + std::to_string(profile.time_unix_nano()) +
           "+" + std::to_string(profile.duration_nano()) + Attributes(profile.attribute_indices());
  }

  std::string Sample(const profiles::Sample& sample) {
    std::string line = " sample" + Attributes(sample.attribute_indices());
    const profiles::Link& link = At(dictionary_.link_table(), sample.link_index());
    line += " link " + link.trace_id() + link.span_id() + " values";
    for (const int64_t value : sample.values()) line += " " + std::to_string(value);
    line += " times";
    for (const uint64_t time : sample.timestamps_unix_nano()) line += " " + std::to_string(time);
    for (const int32_t index :
         At(dictionary_.stack_table(), sample.stack_index()).location_indices())
      line += " | " + Location(At(dictionary_.location_table(), index));
    return line;
  }

  bool damaged() const { return damaged_; }

 private:
  template <typename Table>
  const typename Table::value_type& At(const Table& table, int32_t index) {
    static const typename Table::value_type kNone{};
    if (index >= 0 && index < table.size()) return table[index];
    damaged_ = true;
    return kNone;
  }
  std::string Text(int32_t index) { return "\"" + At(dictionary_.string_table(), index) + "\""; }
  std::string Type(const profiles::ValueType& type) {
    return Text(type.type_strindex()) + "/" + Text(type.unit_strindex());
  }

  static std::string Sorted(std::vector<std::string> parts) {
    std::sort(parts.begin(), parts.end());
    std::string result;
    for (const std::string& part : parts) result += " " + part;
    return result;
  }
  std::string Value(const common::AnyValue& value) {
    if (value.value_case() == common::AnyValue::kStringValueStrindex)
      return Text(value.string_value_strindex());
    if (value.value_case() == common::AnyValue::kStringValue)
      return "\"" + value.string_value() + "\"";
    return value.ShortDebugString();
  }
  std::string Pairs(const google::protobuf::RepeatedPtrField<common::KeyValue>& pairs) {
    std::vector<std::string> parts;
    for (const common::KeyValue& pair : pairs)
      parts.push_back(
          (pair.key_strindex() != 0 ? Text(pair.key_strindex()) : "\"" + pair.key() + "\"") + "=" +
          Value(pair.value()));
    return Sorted(std::move(parts));
  }
  std::string Attributes(const google::protobuf::RepeatedField<int32_t>& indices) {
    std::vector<std::string> parts;
    for (const int32_t index : indices) {
      const profiles::KeyValueAndUnit& attribute = At(dictionary_.attribute_table(), index);
      parts.push_back(Text(attribute.key_strindex()) + "=" + Value(attribute.value()) +
                      Text(attribute.unit_strindex()));
    }
    return Sorted(std::move(parts));
  }

  std::string Location(const profiles::Location& location) {
    const profiles::Mapping& mapping = At(dictionary_.mapping_table(), location.mapping_index());
    std::string text =
        std::to_string(location.address()) + Attributes(location.attribute_indices()) + " in " +
        Text(mapping.filename_strindex()) + std::to_string(mapping.memory_start()) + "-" +
        std::to_string(mapping.memory_limit()) + "@" + std::to_string(mapping.file_offset()) +
        Attributes(mapping.attribute_indices());
    for (const profiles::Line& line : location.lines()) {
      const profiles::Function& function = At(dictionary_.function_table(), line.function_index());
      text += " > " + Text(function.name_strindex()) + Text(function.system_name_strindex()) +
              Text(function.filename_strindex()) + std::to_string(function.start_line()) + ":" +
              std::to_string(line.line()) + ":" + std::to_string(line.column());
    }
    return text;
  }

  const profiles::ProfilesDictionary& dictionary_;
  bool damaged_ = false;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> SampleLines(std::string_view bytes) {
  profiles::ProfilesData data;
  if (!data.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return absl::DataLossError("not a batch");
  std::vector<std::string> lines;
  LineWriter writer(data.dictionary());
  for (const profiles::ResourceProfiles& resource : data.resource_profiles())
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles()) {
      const std::string head = writer.Resource(resource, scope);
      for (const profiles::Profile& profile : scope.profiles()) {
        const std::string profile_head = head + writer.Profile(profile);
        for (const profiles::Sample& sample : profile.samples())
          lines.push_back(profile_head + writer.Sample(sample));
      }
    }
  if (writer.damaged()) return absl::DataLossError("an index points outside its table");
  return lines;
}

}  // namespace stackray
