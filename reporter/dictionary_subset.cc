#include "reporter/dictionary_subset.h"

#include <array>
#include <cstdint>
#include <vector>

namespace stackray {
namespace {

namespace common = opentelemetry::proto::common::v1;
namespace profiles = opentelemetry::proto::profiles::v1development;
using Profiles = google::protobuf::RepeatedPtrField<profiles::ResourceProfiles>;

enum Table { kMapping, kLocation, kFunction, kLink, kString, kAttribute, kStack, kTables };

// What is done with every index that points into a table: first marked as used, later renumbered.
// The walks below give each index to it and store what comes back, so that there is one walk for
// both.
class IndexMap {
 public:
  explicit IndexMap(const profiles::ProfilesDictionary& dictionary) {
    const std::array<int, kTables> sizes = {
        dictionary.mapping_table_size(),  dictionary.location_table_size(),
        dictionary.function_table_size(), dictionary.link_table_size(),
        dictionary.string_table_size(),   dictionary.attribute_table_size(),
        dictionary.stack_table_size()};
    for (int table = 0; table < kTables; ++table) {
      used_[table].resize(static_cast<size_t>(sizes[table]));
      if (!used_[table].empty()) used_[table][0] = true;
    }
  }

  int32_t operator()(Table table, int32_t index) {
    const std::vector<bool>& used = used_[table];
    if (index < 0 || static_cast<size_t>(index) >= used.size()) {
      damaged_ = true;
      return 0;
    }
    if (renumbering_) return new_index_[table][static_cast<size_t>(index)];
    used_[table][static_cast<size_t>(index)] = true;
    return index;
  }

  void StartRenumbering() {
    renumbering_ = true;
    for (int table = 0; table < kTables; ++table) {
      int32_t next = 0;
      for (const bool used : used_[table]) new_index_[table].push_back(used ? next++ : 0);
    }
  }

  bool Uses(Table table, int index) const { return used_[table][static_cast<size_t>(index)]; }
  bool damaged() const { return damaged_; }

 private:
  std::array<std::vector<bool>, kTables> used_;
  std::array<std::vector<int32_t>, kTables> new_index_;
  bool renumbering_ = false;
  bool damaged_ = false;
};

void Walk(IndexMap& map, Table table, google::protobuf::RepeatedField<int32_t>* indices) {
  for (int32_t& index : *indices) index = map(table, index);
}

void Walk(IndexMap& map, common::KeyValue* pair);

// Nesting is bounded: protobuf refuses to parse more than 100 levels.
void Walk(IndexMap& map, common::AnyValue* value) {
  if (value->value_case() == common::AnyValue::kStringValueStrindex)
    value->set_string_value_strindex(map(kString, value->string_value_strindex()));
  if (value->value_case() == common::AnyValue::kArrayValue)
    for (common::AnyValue& element : *value->mutable_array_value()->mutable_values())
      Walk(map, &element);
  if (value->value_case() == common::AnyValue::kKvlistValue)
    for (common::KeyValue& pair : *value->mutable_kvlist_value()->mutable_values())
      Walk(map, &pair);
}

void Walk(IndexMap& map, common::KeyValue* pair) {
  if (pair->key_strindex() != 0) pair->set_key_strindex(map(kString, pair->key_strindex()));
  if (pair->has_value()) Walk(map, pair->mutable_value());
}

void Walk(IndexMap& map, profiles::ValueType* type) {
  type->set_type_strindex(map(kString, type->type_strindex()));
  type->set_unit_strindex(map(kString, type->unit_strindex()));
}

void Walk(IndexMap& map, profiles::Profile* profile) {
  if (profile->has_sample_type()) Walk(map, profile->mutable_sample_type());
  if (profile->has_period_type()) Walk(map, profile->mutable_period_type());
  Walk(map, kAttribute, profile->mutable_attribute_indices());
  for (profiles::Sample& sample : *profile->mutable_samples()) {
    sample.set_stack_index(map(kStack, sample.stack_index()));
    sample.set_link_index(map(kLink, sample.link_index()));
    Walk(map, kAttribute, sample.mutable_attribute_indices());
  }
}

void Walk(IndexMap& map, Profiles* part) {
  for (profiles::ResourceProfiles& resource : *part) {
    if (resource.has_resource())
      for (common::KeyValue& pair : *resource.mutable_resource()->mutable_attributes())
        Walk(map, &pair);
    for (profiles::ScopeProfiles& scope : *resource.mutable_scope_profiles()) {
      if (scope.has_scope())
        for (common::KeyValue& pair : *scope.mutable_scope()->mutable_attributes())
          Walk(map, &pair);
      for (profiles::Profile& profile : *scope.mutable_profiles()) Walk(map, &profile);
    }
  }
}

void Walk(IndexMap& map, profiles::Stack* stack) {
  Walk(map, kLocation, stack->mutable_location_indices());
}

void Walk(IndexMap& map, profiles::Location* location) {
  location->set_mapping_index(map(kMapping, location->mapping_index()));
  for (profiles::Line& line : *location->mutable_lines())
    line.set_function_index(map(kFunction, line.function_index()));
  Walk(map, kAttribute, location->mutable_attribute_indices());
}

void Walk(IndexMap& map, profiles::Mapping* mapping) {
  mapping->set_filename_strindex(map(kString, mapping->filename_strindex()));
  Walk(map, kAttribute, mapping->mutable_attribute_indices());
}

void Walk(IndexMap& map, profiles::Function* function) {
  function->set_name_strindex(map(kString, function->name_strindex()));
  function->set_system_name_strindex(map(kString, function->system_name_strindex()));
  function->set_filename_strindex(map(kString, function->filename_strindex()));
}

void Walk(IndexMap& map, profiles::KeyValueAndUnit* attribute) {
  attribute->set_key_strindex(map(kString, attribute->key_strindex()));
  attribute->set_unit_strindex(map(kString, attribute->unit_strindex()));
  if (attribute->has_value()) Walk(map, attribute->mutable_value());
}

// Users before what they use: what a walk marks is walked after it. Marking leaves every index as
// it is.
void MarkUsed(IndexMap& map, profiles::ProfilesDictionary& dictionary) {
  const auto walk = [&map](Table table, auto* entries) {
    for (int i = 0; i < entries->size(); ++i)
      if (map.Uses(table, i)) Walk(map, entries->Mutable(i));
  };
  walk(kStack, dictionary.mutable_stack_table());
  walk(kLocation, dictionary.mutable_location_table());
  walk(kMapping, dictionary.mutable_mapping_table());
  walk(kFunction, dictionary.mutable_function_table());
  walk(kAttribute, dictionary.mutable_attribute_table());
}

// Copies and renumbers the used entries.
void CopyUsed(IndexMap& map, const profiles::ProfilesDictionary& from,
              profiles::ProfilesDictionary* to) {
  const auto copy = [&map](Table table, const auto& entries, auto* kept) {
    for (int i = 0; i < entries.size(); ++i)
      if (map.Uses(table, i)) *kept->Add() = entries[i];
  };
  copy(kLink, from.link_table(), to->mutable_link_table());
  copy(kString, from.string_table(), to->mutable_string_table());
  const auto copy_and_walk = [&](Table table, const auto& entries, auto* kept) {
    copy(table, entries, kept);
    for (auto& entry : *kept) Walk(map, &entry);
  };
  copy_and_walk(kStack, from.stack_table(), to->mutable_stack_table());
  copy_and_walk(kLocation, from.location_table(), to->mutable_location_table());
  copy_and_walk(kMapping, from.mapping_table(), to->mutable_mapping_table());
  copy_and_walk(kFunction, from.function_table(), to->mutable_function_table());
  copy_and_walk(kAttribute, from.attribute_table(), to->mutable_attribute_table());
}

}  // namespace

absl::Status CopyDictionary(profiles::ProfilesDictionary& whole, Profiles& part,
                            profiles::ProfilesDictionary& dictionary) {
  IndexMap map(whole);
  Walk(map, &part);
  MarkUsed(map, whole);
  if (map.damaged()) return absl::DataLossError("a batch's index points outside its table");
  map.StartRenumbering();
  Walk(map, &part);
  CopyUsed(map, whole, &dictionary);
  return absl::OkStatus();
}

}  // namespace stackray
