#include "reporter/export/split_batch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "reporter/attribute_names.h"
#include "reporter/export/dictionary_subset.h"

namespace stackray {
namespace {

namespace profiles = opentelemetry::proto::profiles::v1development;
using Request =
    opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;

constexpr char kLostPrefix[] = "[lost:";  // As the open batch counts them.

// Samples [begin, end), counted through all profiles in order.
struct Range {
  int64_t begin = 0, end = 0;
};

int64_t SamplesIn(const Request& request) {
  int64_t total = 0;
  for (const profiles::ResourceProfiles& resource : request.resource_profiles())
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles())
      for (const profiles::Profile& profile : scope.profiles()) total += profile.samples_size();
  return total;
}

void KeepSamples(profiles::Profile& profile, const Range& range, int64_t first) {
  const int64_t size = profile.samples_size();
  const int begin = static_cast<int>(std::clamp<int64_t>(range.begin - first, 0, size));
  const int end = static_cast<int>(std::clamp<int64_t>(range.end - first, 0, size));
  profile.mutable_samples()->DeleteSubrange(end, static_cast<int>(size) - end);
  profile.mutable_samples()->DeleteSubrange(0, begin);
  if (profile.samples_size() != size) profile.clear_profile_id();  // It named the whole one.
}

template <typename Entries, typename IsEmpty>
void EraseEmpty(Entries* entries, const IsEmpty& is_empty) {
  entries->erase(std::remove_if(entries->begin(), entries->end(), is_empty), entries->end());
}

void KeepRange(Request& request, const Range& range) {
  int64_t next = 0;
  for (profiles::ResourceProfiles& resource : *request.mutable_resource_profiles()) {
    for (profiles::ScopeProfiles& scope : *resource.mutable_scope_profiles()) {
      for (profiles::Profile& profile : *scope.mutable_profiles()) {
        const int64_t size = profile.samples_size();
        KeepSamples(profile, range, next);
        next += size;
      }
      EraseEmpty(scope.mutable_profiles(),
                 [](const auto& profile) { return profile.samples_size() == 0; });
    }
    EraseEmpty(resource.mutable_scope_profiles(),
               [](const auto& scope) { return scope.profiles_size() == 0; });
  }
  EraseEmpty(request.mutable_resource_profiles(),
             [](const auto& resource) { return resource.scope_profiles_size() == 0; });
}

uint64_t CountOf(const profiles::Sample& sample) {
  if (sample.values_size() == 0) return static_cast<uint64_t>(sample.timestamps_unix_nano_size());
  uint64_t count = 0;
  for (const int64_t value : sample.values()) count += static_cast<uint64_t>(value);
  return count;
}

bool IsMarker(const profiles::ProfilesDictionary& dictionary, const profiles::Location& location) {
  for (const int32_t index : location.attribute_indices()) {
    const profiles::KeyValueAndUnit& attribute = dictionary.attribute_table(index);
    if (dictionary.string_table(attribute.key_strindex()) == kFrameTypeAttribute)
      return attribute.value().string_value() == FrameTypeName(FrameType::kMarker);
  }
  return false;
}

// A stack of one frame, the marker `[lost: REASON]`. The indices were checked when the dictionary
// was reduced.
bool IsLostMarker(const profiles::ProfilesDictionary& dictionary, const profiles::Sample& sample) {
  const profiles::Stack& stack = dictionary.stack_table(sample.stack_index());
  if (stack.location_indices_size() != 1) return false;
  const profiles::Location& location = dictionary.location_table(stack.location_indices(0));
  if (location.lines_size() == 0 || !IsMarker(dictionary, location)) return false;
  const profiles::Function& function =
      dictionary.function_table(location.lines(0).function_index());
  return dictionary.string_table(function.name_strindex()).rfind(kLostPrefix, 0) == 0;
}

void CountSamples(const Request& request, SealedBatch& batch) {
  for (const profiles::ResourceProfiles& resource : request.resource_profiles())
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles())
      for (const profiles::Profile& profile : scope.profiles())
        for (const profiles::Sample& sample : profile.samples()) {
          const uint64_t count = CountOf(sample);
          batch.samples += count;
          if (IsLostMarker(request.dictionary(), sample)) batch.lost_samples += count;
        }
}

SealedBatchPtr MakePart(const SealedBatch& whole, Request request, const Range& range) {
  KeepRange(request, range);
  if (!ReduceDictionary(request).ok()) return nullptr;
  auto part = std::make_shared<SealedBatch>();
  CountSamples(request, *part);
  if (!request.SerializeToString(&part->bytes)) return nullptr;
  part->start_unix_ns = whole.start_unix_ns;
  part->duration_ns = whole.duration_ns;
  return part;
}

}  // namespace

std::vector<SealedBatchPtr> SplitBatch(const SealedBatch& batch) {
  Request request;
  if (!request.ParseFromString(batch.bytes)) return {};
  const int64_t total = SamplesIn(request);
  if (total < 2) return {};
  const int64_t middle = total / 2;
  SealedBatchPtr first = MakePart(batch, request, {0, middle});
  SealedBatchPtr second = MakePart(batch, std::move(request), {middle, total});
  if (first == nullptr || second == nullptr) return {};
  return {std::move(first), std::move(second)};
}

}  // namespace stackray
