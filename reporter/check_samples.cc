#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "profile/sample_types.h"
#include "reporter/attribute_names.h"
#include "reporter/check_report.h"

namespace stackray::batch_check {
namespace {

using AttributeList = google::protobuf::RepeatedPtrField<otlp_common::KeyValue>;

bool HasReference(const otlp_common::AnyValue& value);
bool HasReference(const otlp_common::KeyValue& attribute) {
  return attribute.key_strindex() != 0 || attribute.key().empty() ||
         HasReference(attribute.value());
}
bool HasReference(const otlp_common::AnyValue& value) {
  if (value.has_string_value_strindex()) return true;
  const auto& list = value.array_value().values();
  const auto& pairs = value.kvlist_value().values();
  return std::any_of(list.begin(), list.end(), [](const auto& v) { return HasReference(v); }) ||
         std::any_of(pairs.begin(), pairs.end(), [](const auto& v) { return HasReference(v); });
}

// Identity of a sample in its profile: stack, link, attributes in ascending order.
using Identity = std::tuple<int32_t, int32_t, std::vector<int32_t>>;

class ProfilesCheck {
 public:
  ProfilesCheck(const otlp::ProfilesData& data, References* references, Report* report)
      : data_(data), references_(*references), report_(*report) {}

  void Run();

 private:
  void CheckInline(const AttributeList& attributes, std::string_view owner, int at);
  void CheckResource(int at);
  void CheckScope(int at, const otlp::ScopeProfiles& scope);
  void CheckProfile(const otlp::Profile& profile);
  // nullptr: a type that stackray does not make.
  const SampleType* TypeOf(const otlp::Profile& profile) const;
  void CheckTypes(const otlp::Profile& profile);
  void CheckSample(const otlp::Profile& profile, const otlp::Sample& sample, int at);
  void CheckTimes(const otlp::Profile& profile, const otlp::Sample& sample, int at);
  void CheckLabels(const otlp::Sample& sample, int at);
  // Empty: an index outside its table, which is another rule's.
  std::string_view StringAt(int32_t index) const;

  const otlp::ProfilesData& data_;
  References& references_;
  Report& report_;
  int profiles_ = -1;  // Number of the current profile, counted through the whole batch.
};

void ProfilesCheck::CheckInline(const AttributeList& attributes, std::string_view owner, int at) {
  std::set<std::string_view> keys;
  for (const otlp_common::KeyValue& attribute : attributes) {
    if (HasReference(attribute)) {
      report_.Add(BatchRule::kInlineAttributes,
                  fmt::format("{}[{}]: {}", owner, at, attribute.key()));
    }
    references_.Use(Table::kString, attribute.key_strindex(), true, owner, at);
    CheckValue(attribute.value(), true, owner, at, &references_);
    if (!keys.insert(attribute.key()).second) {
      report_.Add(BatchRule::kUniqueKeys,
                  fmt::format("{}[{}]: {} twice", owner, at, attribute.key()));
    }
  }
}

void ProfilesCheck::CheckTypes(const otlp::Profile& profile) {
  const auto& type = profile.sample_type();
  const auto& period = profile.period_type();
  for (const int32_t index :
       {type.type_strindex(), type.unit_strindex(), period.type_strindex(), period.unit_strindex()})
    references_.Use(Table::kString, index, true, "profile", profiles_);
  if (type.type_strindex() == 0 || type.unit_strindex() == 0)
    report_.Add(BatchRule::kSampleType, fmt::format("profile[{}]", profiles_));
  // Types of other writers may have a period or none.
  const SampleType* const row = TypeOf(profile);
  if (row == nullptr) return;
  const bool has_period = profile.has_period_type() || profile.period() != 0;
  if (row->period_type.empty() ? has_period : !profile.has_period_type())
    report_.Add(BatchRule::kPeriodType, fmt::format("profile[{}]: {}", profiles_, row->type));
}

const SampleType* ProfilesCheck::TypeOf(const otlp::Profile& profile) const {
  return FindSampleType(StringAt(profile.sample_type().type_strindex()),
                        StringAt(profile.sample_type().unit_strindex()));
}

std::string_view ProfilesCheck::StringAt(int32_t index) const {
  const otlp::ProfilesDictionary& dictionary = data_.dictionary();
  return index >= 0 && index < dictionary.string_table_size()
             ? std::string_view(dictionary.string_table(index))
             : std::string_view();
}

// What a thread worked on, as its process says it, within the bounds that readers may count on.
void ProfilesCheck::CheckLabels(const otlp::Sample& sample, int at) {
  const auto& attributes = data_.dictionary().attribute_table();
  size_t labels = 0, bytes = 0;
  bool is_good = true;
  for (const int32_t index : sample.attribute_indices()) {
    if (index < 0 || index >= attributes.size()) continue;
    const std::string_view key = StringAt(attributes[index].key_strindex());
    const otlp_common::AnyValue& value = attributes[index].value();
    if (key == kLabelsCutAttribute) is_good &= value.string_value() == "true";
    if (!key.starts_with(kLabelPrefix)) continue;
    ++labels;
    bytes += value.string_value().size();
    is_good &=
        key.size() > kLabelPrefix.size() && value.string_value().size() <= kLongestLabelValue;
    is_good &= value.value_case() == otlp_common::AnyValue::kStringValue;
  }
  if (is_good && labels <= kMostSampleLabels && bytes <= kMostLabelBytes) return;
  report_.Add(BatchRule::kContextLabels, fmt::format("profile[{}] sample[{}]: {} labels, {} bytes",
                                                     profiles_, at, labels, bytes));
}

void ProfilesCheck::CheckTimes(const otlp::Profile& profile, const otlp::Sample& sample, int at) {
  const uint64_t start = profile.time_unix_nano();
  for (const uint64_t time : sample.timestamps_unix_nano()) {
    if (time >= start && time - start < profile.duration_nano()) continue;
    report_.Add(BatchRule::kTimestamps,
                fmt::format("profile[{}] sample[{}]: {}", profiles_, at, time));
    return;
  }
}

void ProfilesCheck::CheckSample(const otlp::Profile& profile, const otlp::Sample& sample, int at) {
  const std::string where = fmt::format("profile[{}] sample", profiles_);
  references_.Use(Table::kStack, sample.stack_index(), true, where, at);
  references_.Use(Table::kLink, sample.link_index(), true, where, at);
  for (const int32_t index : sample.attribute_indices())
    references_.Use(Table::kAttribute, index, true, where, at);
  CheckUniqueKeys(data_.dictionary(), sample.attribute_indices(), where, at, &report_);

  const int values = sample.values_size(), times = sample.timestamps_unix_nano_size();
  const otlp::Sample& first = profile.samples(0);
  const bool like_first = (values > 0) == (first.values_size() > 0) &&
                          (times > 0) == (first.timestamps_unix_nano_size() > 0);
  const SampleType* const type = TypeOf(profile);
  const bool must_pair = type != nullptr && type->weighted;
  if ((values == 0 && times == 0) || (values > 0 && times > 0 && values != times) || !like_first ||
      (must_pair && values != times)) {
    report_.Add(BatchRule::kSampleShape,
                fmt::format("{}[{}]: {} values, {} timestamps", where, at, values, times));
  }
  CheckTimes(profile, sample, at);
  CheckLabels(sample, at);
}

void ProfilesCheck::CheckProfile(const otlp::Profile& profile) {
  ++profiles_;
  CheckTypes(profile);
  if (profile.samples().empty())
    report_.Add(BatchRule::kShells, fmt::format("profile[{}]: no samples", profiles_));
  const std::string& id = profile.profile_id();
  if (!id.empty() && (id.size() != 16 || id.find_first_not_of('\0') == std::string::npos))
    report_.Add(BatchRule::kProfileId, fmt::format("profile[{}]: {} bytes", profiles_, id.size()));
  for (const int32_t index : profile.attribute_indices())
    references_.Use(Table::kAttribute, index, true, "profile", profiles_);
  CheckUniqueKeys(data_.dictionary(), profile.attribute_indices(), "profile", profiles_, &report_);

  absl::flat_hash_set<Identity> seen;
  for (int i = 0; i < profile.samples_size(); ++i) {
    const otlp::Sample& sample = profile.samples(i);
    CheckSample(profile, sample, i);
    std::vector<int32_t> attributes(sample.attribute_indices().begin(),
                                    sample.attribute_indices().end());
    std::sort(attributes.begin(), attributes.end());
    if (!seen.emplace(sample.stack_index(), sample.link_index(), std::move(attributes)).second)
      report_.Add(BatchRule::kSampleIdentity, fmt::format("profile[{}] sample[{}]", profiles_, i));
  }
}

void ProfilesCheck::CheckScope(int at, const otlp::ScopeProfiles& scope) {
  if (!scope.has_scope())
    report_.Add(BatchRule::kShells, fmt::format("resource_profiles[{}]: scope missing", at));
  if (scope.profiles().empty()) {
    report_.Add(BatchRule::kShells,
                fmt::format("resource_profiles[{}]: scope without profiles", at));
  }
  CheckInline(scope.scope().attributes(), "scope of resource_profiles", at);
  for (const otlp::Profile& profile : scope.profiles()) CheckProfile(profile);
}

void ProfilesCheck::CheckResource(int at) {
  const otlp::ResourceProfiles& resource = data_.resource_profiles(at);
  if (!resource.has_resource())
    report_.Add(BatchRule::kShells, fmt::format("resource_profiles[{}]: resource missing", at));
  if (resource.scope_profiles().empty())
    report_.Add(BatchRule::kShells, fmt::format("resource_profiles[{}]: no scopes", at));
  CheckInline(resource.resource().attributes(), "resource_profiles", at);
  for (const otlp::ScopeProfiles& scope : resource.scope_profiles()) CheckScope(at, scope);
}

void ProfilesCheck::Run() {
  for (int i = 0; i < data_.resource_profiles_size(); ++i) CheckResource(i);
}

}  // namespace

void CheckProfiles(const otlp::ProfilesData& data, References* references, Report* report) {
  ProfilesCheck(data, references, report).Run();
}

}  // namespace stackray::batch_check
