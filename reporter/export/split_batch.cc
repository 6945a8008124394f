#include "reporter/export/split_batch.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "profile/marker.h"
#include "reporter/attribute_names.h"
#include "reporter/dictionary_subset.h"
#include "reporter/proto/profiles_service.pb.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

namespace profiles = opentelemetry::proto::profiles::v1development;
using Request =
    opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;

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

// The whole profile, or those of its samples that are in the range. `first`: the number of its
// first one.
void CopyProfile(const profiles::Profile& whole, const Range& range, int64_t first,
                 profiles::Profile* part) {
  const int64_t size = whole.samples_size();
  const int begin = static_cast<int>(std::clamp<int64_t>(range.begin - first, 0, size));
  const int end = static_cast<int>(std::clamp<int64_t>(range.end - first, 0, size));
  *part = whole;
  if (end - begin == size) return;
  part->mutable_samples()->DeleteSubrange(end, static_cast<int>(size) - end);
  part->mutable_samples()->DeleteSubrange(0, begin);
  part->clear_profile_id();  // It named the whole one.
}

// The profiles that have samples in the range, with resource and scope, without a dictionary.
Request CopyRange(const Request& whole, const Range& range) {
  Request part;
  int64_t next = 0;
  for (const profiles::ResourceProfiles& resource : whole.resource_profiles()) {
    profiles::ResourceProfiles* resource_copy = nullptr;
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles()) {
      profiles::ScopeProfiles* scope_copy = nullptr;
      for (const profiles::Profile& profile : scope.profiles()) {
        const int64_t first = next;
        next += profile.samples_size();
        if (next <= range.begin || first >= range.end) continue;
        if (resource_copy == nullptr) {
          resource_copy = part.add_resource_profiles();
          if (resource.has_resource()) *resource_copy->mutable_resource() = resource.resource();
          resource_copy->set_schema_url(resource.schema_url());
        }
        if (scope_copy == nullptr) {
          scope_copy = resource_copy->add_scope_profiles();
          if (scope.has_scope()) *scope_copy->mutable_scope() = scope.scope();
          scope_copy->set_schema_url(scope.schema_url());
        }
        CopyProfile(profile, range, first, scope_copy->add_profiles());
      }
    }
  }
  return part;
}

// Events: one for each timestamp, whatever its value; without timestamps the values count them.
uint64_t CountOf(const profiles::Sample& sample) {
  if (sample.timestamps_unix_nano_size() != 0)
    return static_cast<uint64_t>(sample.timestamps_unix_nano_size());
  uint64_t count = 0;
  for (const int64_t value : sample.values()) count += static_cast<uint64_t>(value);
  return count;
}

std::string_view LocationAttribute(const profiles::ProfilesDictionary& dictionary,
                                   const profiles::Location& location, std::string_view key) {
  for (const int32_t index : location.attribute_indices()) {
    const profiles::KeyValueAndUnit& attribute = dictionary.attribute_table(index);
    if (dictionary.string_table(attribute.key_strindex()) == key)
      return attribute.value().string_value();
  }
  return {};
}

// A stack of one frame, the marker of lost samples. The indices were checked when the dictionary
// was reduced.
bool IsLostMarker(const profiles::ProfilesDictionary& dictionary, const profiles::Sample& sample) {
  const profiles::Stack& stack = dictionary.stack_table(sample.stack_index());
  if (stack.location_indices_size() != 1) return false;
  const profiles::Location& location = dictionary.location_table(stack.location_indices(0));
  std::string_view name;
  if (location.lines_size() != 0)
    name = dictionary.string_table(
        dictionary.function_table(location.lines(0).function_index()).name_strindex());
  return ReadMarker(LocationAttribute(dictionary, location, kMarkerAttribute),
                    LocationAttribute(dictionary, location, kFrameTypeAttribute),
                    name) == MarkerKind::kLost;
}

void CountSamples(const Request& request, Payload& batch) {
  for (const profiles::ResourceProfiles& resource : request.resource_profiles())
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles())
      for (const profiles::Profile& profile : scope.profiles())
        for (const profiles::Sample& sample : profile.samples()) {
          const uint64_t count = CountOf(sample);
          batch.items += count;
          if (IsLostMarker(request.dictionary(), sample)) batch.markers += count;
        }
}

std::optional<Payload> MakePart(const Payload& whole, Request& request, const Range& range) {
  Request copy = CopyRange(request, range);
  if (!CopyDictionary(*request.mutable_dictionary(), *copy.mutable_resource_profiles(),
                      *copy.mutable_dictionary())
           .ok())
    return std::nullopt;
  std::string bytes;
  if (!copy.SerializeToString(&bytes)) return std::nullopt;
  Payload part = Payload::Of(whole.signal, std::move(bytes), 0);
  CountSamples(copy, part);
  part.start_unix_ns = whole.start_unix_ns;
  part.duration_ns = whole.duration_ns;
  return part;
}

// Empty where there is only one, or one of them cannot be made.
std::vector<Payload> MakeParts(const Payload& whole, Request& request,
                               const std::vector<Range>& ranges) {
  std::vector<Payload> parts;
  for (const Range& range : ranges) {
    std::optional<Payload> part = MakePart(whole, request, range);
    if (!part) return {};
    parts.push_back(*std::move(part));
  }
  return parts.size() < 2 ? std::vector<Payload>() : parts;
}

// The numbers of the samples of each profile that has any.
std::vector<Range> RangesOfProfiles(const Request& request) {
  std::vector<Range> ranges;
  int64_t next = 0;
  for (const profiles::ResourceProfiles& resource : request.resource_profiles())
    for (const profiles::ScopeProfiles& scope : resource.scope_profiles())
      for (const profiles::Profile& profile : scope.profiles()) {
        if (profile.samples_size() == 0) continue;
        ranges.push_back({next, next + profile.samples_size()});
        next = ranges.back().end;
      }
  return ranges;
}

}  // namespace

std::vector<Payload> SplitBatch(const Payload& batch) {
  Request request;
  if (!request.ParseFromArray(batch.bytes.data(), static_cast<int>(batch.bytes.size()))) return {};
  const int64_t total = SamplesIn(request);
  if (total < 2) return {};
  return MakeParts(batch, request, {{0, total / 2}, {total / 2, total}});
}

std::vector<Payload> SplitByProfile(const Payload& batch, size_t profiles_each) {
  Request request;
  if (!request.ParseFromArray(batch.bytes.data(), static_cast<int>(batch.bytes.size()))) return {};
  const std::vector<Range> each = RangesOfProfiles(request);
  const size_t least = std::max<size_t>(profiles_each, 1);
  const size_t times = (each.size() + least * kMaxPieces - 1) / (least * kMaxPieces);
  const size_t step = least * std::max<size_t>(times, 1);
  std::vector<Range> ranges;
  for (size_t i = 0; i < each.size(); i += step)
    ranges.push_back({each[i].begin, each[std::min(i + step, each.size()) - 1].end});
  return MakeParts(batch, request, ranges);
}

size_t ProfilesIn(const Payload& batch) {
  size_t count = 0;
  const bool good = EachField(batch.bytes, [&](const WireField& resource) {
    return !IsBytes(resource, 1) || EachField(resource.bytes, [&](const WireField& scope) {
      return !IsBytes(scope, 2) || EachField(scope.bytes, [&](const WireField& profile) {
        count += IsBytes(profile, 2) ? 1 : 0;
        return true;
      });
    });
  });
  return good ? count : 0;
}

}  // namespace stackray
