#include "reporter/formats/foreign_batch.h"

#include <utility>

#include "reporter/attribute_names.h"
#include "reporter/proto/profiles.pb.h"
#include "reporter/valid_text.h"

namespace stackray {
namespace {

namespace otlp = opentelemetry::proto::profiles::v1development;

// What an element costs beside its content: its message, its node of a map, its place in a table.
constexpr size_t kTextBytes = 150, kEntryBytes = 200, kSampleBytes = 100, kLineBytes = 100;

}  // namespace

// An ExportProfilesServiceRequest has the wire of a ProfilesData.
struct ForeignBatch::Message {
  otlp::ProfilesData data;
  std::vector<otlp::Profile*> profiles;
  otlp::ScopeProfiles* scope = nullptr;

  otlp::ProfilesDictionary& dictionary() { return *data.mutable_dictionary(); }
};

// Element 0 of each table stands for nothing.
ForeignBatch::ForeignBatch(std::string_view process) : message_(std::make_unique<Message>()) {
  otlp::ProfilesDictionary& dictionary = message_->dictionary();
  dictionary.add_mapping_table();
  dictionary.add_location_table();
  dictionary.add_function_table();
  dictionary.add_link_table();
  dictionary.add_attribute_table();
  dictionary.add_stack_table();
  dictionary.add_string_table();
  texts_.emplace("", 0);
  otlp::ResourceProfiles* const resource = message_->data.add_resource_profiles();
  auto* const command = resource->mutable_resource()->add_attributes();
  command->set_key("process.command");
  std::string scratch;
  command->mutable_value()->set_string_value(std::string(ValidText(process, &scratch)));
  message_->scope = resource->add_scope_profiles();
}

ForeignBatch::~ForeignBatch() = default;

int32_t ForeignBatch::Text(std::string_view text) {
  std::string scratch;
  const std::string valid(ValidText(text.substr(0, kMostTextBytes), &scratch));
  const auto [found, is_new] =
      texts_.try_emplace(valid, message_->dictionary().string_table_size());
  if (!is_new) return found->second;
  message_->dictionary().add_string_table(valid);
  bytes_ += kTextBytes + 2 * valid.size();
  return found->second;
}

size_t ForeignBatch::AddType(std::string_view type, std::string_view unit) {
  otlp::Profile* const profile = message_->scope->add_profiles();
  profile->mutable_sample_type()->set_type_strindex(Text(type));
  profile->mutable_sample_type()->set_unit_strindex(Text(unit));
  message_->profiles.push_back(profile);
  return message_->profiles.size() - 1;
}

int32_t ForeignBatch::Frame(std::string_view type, std::string_view mapping, uint64_t address,
                            const std::vector<ForeignLine>& lines) {
  otlp::ProfilesDictionary& dictionary = message_->dictionary();
  const auto [of_mapping, is_new_mapping] = mappings_.try_emplace(
      std::string(mapping), mapping.empty() ? 0 : dictionary.mapping_table_size());
  if (is_new_mapping && !mapping.empty())
    dictionary.add_mapping_table()->set_filename_strindex(Text(mapping));
  const auto [of_type, is_new_type] = frame_types_.try_emplace(
      std::string(type), type.empty() ? 0 : dictionary.attribute_table_size());
  if (is_new_type && !type.empty()) {
    otlp::KeyValueAndUnit* const attribute = dictionary.add_attribute_table();
    attribute->set_key_strindex(Text(kFrameTypeAttribute));
    attribute->mutable_value()->set_string_value(std::string(type));
  }
  std::vector<int64_t> key = {of_mapping->second, of_type->second, static_cast<int64_t>(address)};
  for (const ForeignLine& line : lines) {
    const auto [function, is_new] = functions_.try_emplace({Text(line.function), Text(line.file)},
                                                           dictionary.function_table_size());
    if (is_new) {
      bytes_ += kEntryBytes;
      otlp::Function* const made = dictionary.add_function_table();
      made->set_name_strindex(Text(line.function));
      made->set_filename_strindex(Text(line.file));
    }
    key.push_back(function->second);
    key.push_back(line.line);
  }
  const auto [frame, is_new] = frames_.try_emplace(key, dictionary.location_table_size());
  if (!is_new) return frame->second;
  bytes_ += kEntryBytes + kLineBytes * lines.size();
  otlp::Location* const location = dictionary.add_location_table();
  location->set_mapping_index(of_mapping->second);
  location->set_address(address);
  if (of_type->second != 0) location->add_attribute_indices(of_type->second);
  for (size_t i = 0; i < lines.size(); ++i) {
    otlp::Line* const line = location->add_lines();
    line->set_function_index(static_cast<int32_t>(key[3 + 2 * i]));
    line->set_line(lines[i].line);
  }
  return frame->second;
}

int32_t ForeignBatch::Stack(const std::vector<int32_t>& frames) {
  otlp::ProfilesDictionary& dictionary = message_->dictionary();
  const auto [stack, is_new] = stacks_.try_emplace(frames, dictionary.stack_table_size());
  if (!is_new) return stack->second;
  bytes_ += kEntryBytes + 2 * sizeof(int32_t) * frames.size();
  otlp::Stack* const made = dictionary.add_stack_table();
  for (const int32_t frame : frames) made->add_location_indices(frame);
  return stack->second;
}

void ForeignBatch::AddSample(size_t type, int32_t stack, int64_t value) {
  if (value <= 0) return;
  bytes_ += kSampleBytes;
  otlp::Sample* const sample = message_->profiles[type]->add_samples();
  sample->set_stack_index(stack);
  sample->add_values(value);
}

std::string ForeignBatch::Finish(int64_t time_unix_ns, int64_t duration_ns) {
  for (otlp::Profile* const profile : message_->profiles) {
    profile->set_time_unix_nano(static_cast<uint64_t>(time_unix_ns));
    profile->set_duration_nano(static_cast<uint64_t>(duration_ns));
  }
  return message_->data.SerializeAsString();
}

}  // namespace stackray
