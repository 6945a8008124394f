#include "reporter/selection/batch_selection.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/attribute_names.h"
#include "reporter/batch_message.h"
#include "reporter/dictionary_subset.h"

namespace stackray {
namespace {

namespace otlp = opentelemetry::proto::profiles::v1development;
using Resources = google::protobuf::RepeatedPtrField<otlp::ResourceProfiles>;

absl::Status NotReadable() {
  return absl::DataLossError(
      "a batch has text that is not UTF-8, or another structure than a batch");
}

// In the order in which BatchWalk::Visit() hands them over.
std::vector<bool> WantedSamples(const BatchWalk& walk, const SampleFilter& filter, size_t* count) {
  std::vector<bool> wanted;
  walk.Visit([](const WalkedResource&) {}, [](const WalkedProfile&) {},
             [&](const WalkedSample& sample) {
               wanted.push_back(filter.Wants(sample));
               *count += wanted.back() ? 1 : 0;
             });
  return wanted;
}

// Keeps of `items` those for which `is_kept` says so, in their order.
template <typename Items, typename IsKept>
void KeepOnly(Items* items, IsKept is_kept) {
  int kept = 0;
  for (int i = 0; i < items->size(); ++i)
    if (is_kept(items->Mutable(i))) items->SwapElements(kept++, i);
  items->DeleteSubrange(kept, items->size() - kept);
}

// What has no sample left goes as well. False: there are others than were walked.
bool KeepWanted(const std::vector<bool>& wanted, Resources* resources) {
  size_t next = 0;
  const auto keep_sample = [&](otlp::Sample*) { return next < wanted.size() && wanted[next++]; };
  const auto keep_profile = [&](otlp::Profile* profile) {
    const int before = profile->samples_size();
    KeepOnly(profile->mutable_samples(), keep_sample);
    if (profile->samples_size() != before) profile->clear_profile_id();  // It named the whole one.
    return profile->samples_size() > 0;
  };
  KeepOnly(resources, [&](otlp::ResourceProfiles* resource) {
    KeepOnly(resource->mutable_scope_profiles(), [&](otlp::ScopeProfiles* scope) {
      KeepOnly(scope->mutable_profiles(), keep_profile);
      return scope->profiles_size() > 0;
    });
    return resource->scope_profiles_size() > 0;
  });
  return next == wanted.size();
}

// Adds the frames of groups to a dictionary, and the stacks that have them.
class GroupFrames {
 public:
  explicit GroupFrames(otlp::ProfilesDictionary* dictionary) : dictionary_(*dictionary) {
    // Element 0 of each table is the empty one, which other writers may have left out.
    if (dictionary_.string_table().empty()) dictionary_.add_string_table();
    if (dictionary_.attribute_table().empty()) dictionary_.add_attribute_table();
    if (dictionary_.function_table().empty()) dictionary_.add_function_table();
    if (dictionary_.location_table().empty()) dictionary_.add_location_table();
    if (dictionary_.stack_table().empty()) dictionary_.add_stack_table();
    frame_type_ = AddAttribute(kFrameTypeAttribute, kGroupFrameType);
  }

  // The stack with the group's frame outside; `stack` was found in its table before.
  int32_t StackOf(int32_t stack, const std::string& group) {
    const int32_t frame = FrameOf(group);
    const auto [known, is_new] =
        stacks_.try_emplace({stack, frame}, dictionary_.stack_table_size());
    if (is_new) {
      otlp::Stack copy = dictionary_.stack_table(stack);
      copy.add_location_indices(frame);
      *dictionary_.add_stack_table() = std::move(copy);
    }
    return known->second;
  }

 private:
  int32_t AddString(std::string_view text) {
    dictionary_.add_string_table(std::string(text));
    return dictionary_.string_table_size() - 1;
  }

  int32_t AddAttribute(std::string_view key, std::string_view value) {
    otlp::KeyValueAndUnit* const attribute = dictionary_.add_attribute_table();
    attribute->set_key_strindex(AddString(key));
    attribute->mutable_value()->set_string_value(std::string(value));
    return dictionary_.attribute_table_size() - 1;
  }

  int32_t FrameOf(const std::string& group) {
    const auto [known, is_new] = frames_.try_emplace(group, dictionary_.location_table_size());
    if (!is_new) return known->second;
    dictionary_.add_function_table()->set_name_strindex(AddString(group));
    otlp::Location* const location = dictionary_.add_location_table();
    location->add_lines()->set_function_index(dictionary_.function_table_size() - 1);
    location->add_attribute_indices(frame_type_);
    return known->second;
  }

  otlp::ProfilesDictionary& dictionary_;
  int32_t frame_type_ = 0;
  absl::flat_hash_map<std::string, int32_t> frames_;
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> stacks_;
};

std::vector<std::string> GroupsOf(const BatchWalk& walk, const SampleGrouping& grouping) {
  std::vector<std::string> groups;
  WalkedResource resource;
  walk.Visit(
      [&](const WalkedResource& next) { resource = next; }, [](const WalkedProfile&) {},
      [&](const WalkedSample& sample) { groups.push_back(grouping.GroupOf(resource, sample)); });
  return groups;
}

size_t SamplesIn(const Resources& resources) {
  size_t count = 0;
  for (const otlp::ResourceProfiles& resource : resources)
    for (const otlp::ScopeProfiles& scope : resource.scope_profiles())
      for (const otlp::Profile& profile : scope.profiles())
        count += static_cast<size_t>(profile.samples_size());
  return count;
}

}  // namespace

absl::StatusOr<std::string> SelectSamples(std::string_view bytes, const SampleFilter& filter) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  if (!walk.ok()) return walk.status();
  size_t count = 0;
  const std::vector<bool> wanted = WantedSamples(*walk, filter, &count);
  if (count == 0) return std::string();
  if (count == wanted.size()) return std::string(bytes);
  otlp::ProfilesData data;
  if (!ParseBatchMessage(bytes, &data) || !KeepWanted(wanted, data.mutable_resource_profiles()))
    return NotReadable();
  otlp::ProfilesDictionary whole;
  whole.Swap(data.mutable_dictionary());
  if (absl::Status status =
          CopyDictionary(whole, *data.mutable_resource_profiles(), *data.mutable_dictionary());
      !status.ok())
    return status;
  return data.SerializeAsString();
}

absl::StatusOr<std::string> GroupSamples(std::string_view bytes, const SampleGrouping& grouping) {
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(bytes);
  if (!walk.ok()) return walk.status();
  const std::vector<std::string> groups = GroupsOf(*walk, grouping);
  otlp::ProfilesData data;
  if (!ParseBatchMessage(bytes, &data) || SamplesIn(data.resource_profiles()) != groups.size())
    return NotReadable();
  GroupFrames frames(data.mutable_dictionary());
  size_t next = 0;
  for (otlp::ResourceProfiles& resource : *data.mutable_resource_profiles())
    for (otlp::ScopeProfiles& scope : *resource.mutable_scope_profiles())
      for (otlp::Profile& profile : *scope.mutable_profiles())
        for (otlp::Sample& sample : *profile.mutable_samples())
          sample.set_stack_index(frames.StackOf(sample.stack_index(), groups[next++]));
  return data.SerializeAsString();
}

}  // namespace stackray
