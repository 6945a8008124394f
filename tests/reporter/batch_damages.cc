#include "tests/reporter/batch_damages.h"

namespace stackray {
namespace {

namespace otlp_common = opentelemetry::proto::common::v1;

using opentelemetry::proto::profiles::v1development::Profile;
using opentelemetry::proto::profiles::v1development::ProfilesData;
using opentelemetry::proto::profiles::v1development::ProfilesDictionary;
using opentelemetry::proto::profiles::v1development::Sample;

ProfilesDictionary* Tables(ProfilesData& data) { return data.mutable_dictionary(); }
Profile* FirstProfile(ProfilesData& data) {
  return data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_profiles(0);
}
Sample* FirstSample(ProfilesData& data) { return FirstProfile(data)->mutable_samples(0); }
auto* Resource(ProfilesData& data) { return data.mutable_resource_profiles(0)->mutable_resource(); }
auto* Scope(ProfilesData& data) {
  return data.mutable_resource_profiles(0)->mutable_scope_profiles(0)->mutable_scope();
}

// One more attribute of the first sample.
otlp_common::AnyValue* AddAttribute(ProfilesData& data, const std::string& key) {
  Tables(data)->add_string_table(key);
  auto* attribute = Tables(data)->add_attribute_table();
  attribute->set_key_strindex(Tables(data)->string_table_size() - 1);
  FirstSample(data)->add_attribute_indices(Tables(data)->attribute_table_size() - 1);
  return attribute->mutable_value();
}
void AddLabels(ProfilesData& data, int count, size_t value_bytes) {
  for (int i = 0; i < count; ++i)
    AddAttribute(data, "process.context.label.k" + std::to_string(i))
        ->set_string_value(std::string(value_bytes, 'v'));
}

const Damage kDamages[] = {
    {"TableNotWritten",
     {"tables"},
     [](auto& d) {
       FirstSample(d)->set_link_index(0);
       Tables(d)->clear_link_table();
     }},
    {"NoDictionaryAtAll", {"tables"}, [](auto& d) { d.Clear(); }},
    {"ElementZeroNotZero",
     {"tables"},
     [](auto& d) { Tables(d)->mutable_mapping_table(0)->set_file_offset(1); }},
    {"FirstStringNotEmpty", {"tables"}, [](auto& d) { Tables(d)->set_string_table(0, "x"); }},
    {"StackIndexOutside", {"index", "orphan"}, [](auto& d) { FirstSample(d)->set_stack_index(2); }},
    {"LinkIndexNegative", {"index", "orphan"}, [](auto& d) { FirstSample(d)->set_link_index(-1); }},
    {"LocationIndexOutside",
     {"index", "orphan"},
     [](auto& d) { Tables(d)->mutable_stack_table(1)->set_location_indices(1, 99); }},
    {"MappingIndexOutside",
     {"index", "orphan"},
     [](auto& d) { Tables(d)->mutable_location_table(1)->set_mapping_index(2); }},
    {"FunctionIndexOutside",
     {"index", "orphan"},
     [](auto& d) {
       Tables(d)->mutable_location_table(2)->mutable_lines(0)->set_function_index(9);
     }},
    {"StringIndexOutside",
     {"index", "orphan"},
     [](auto& d) { Tables(d)->mutable_mapping_table(1)->set_filename_strindex(1000); }},
    {"AttributeIndexOutside",
     {"index"},
     [](auto& d) { FirstSample(d)->add_attribute_indices(77); }},
    {"ProfileAttributeOutside",
     {"index"},
     [](auto& d) { FirstProfile(d)->add_attribute_indices(77); }},
    {"ValueStringOutside",
     {"index"},
     [](auto& d) {
       Tables(d)->mutable_attribute_table(3)->mutable_value()->set_string_value_strindex(500);
     }},
    {"StringTwice",
     {"duplicate", "orphan"},
     [](auto& d) {
       Tables(d)->add_string_table("svc2");
       Tables(d)->add_string_table("svc2");
     }},
    {"StackTwice",
     {"duplicate", "orphan"},
     [](auto& d) { *Tables(d)->add_stack_table() = Tables(d)->stack_table(1); }},
    {"SecondEmptyLink",
     {"duplicate", "link", "orphan"},
     [](auto& d) { Tables(d)->add_link_table(); }},
    {"StringUnused", {"orphan"}, [](auto& d) { Tables(d)->add_string_table("nobody"); }},
    {"LocationUnused",
     {"orphan"},
     [](auto& d) { Tables(d)->mutable_stack_table(1)->mutable_location_indices()->RemoveLast(); }},
    {"SameKeyInSample",
     {"unique-keys"},
     [](auto& d) {
       auto* attribute = Tables(d)->add_attribute_table();
       *attribute = Tables(d)->attribute_table(2);
       attribute->mutable_value()->set_int_value(99);
       FirstSample(d)->add_attribute_indices(Tables(d)->attribute_table_size() - 1);
     }},
    {"SameAttributeTwice",
     {"unique-keys"},
     [](auto& d) { FirstSample(d)->add_attribute_indices(2); }},
    {"SameKeyInResource",
     {"unique-keys"},
     [](auto& d) { *Resource(d)->add_attributes() = Resource(d)->attributes(0); }},
    {"SameKeyInScope",
     {"unique-keys"},
     [](auto& d) {
       Scope(d)->add_attributes()->set_key("a");
       Scope(d)->add_attributes()->set_key("a");
     }},
    {"SameKeyInMapping",
     {"unique-keys"},
     [](auto& d) {
       auto* indices = Tables(d)->mutable_mapping_table(1)->mutable_attribute_indices();
       indices->Add(int32_t{indices->Get(0)});
     }},
    {"ResourceKeyByIndex",
     {"inline-attributes"},
     [](auto& d) {
       Resource(d)->mutable_attributes(0)->clear_key();
       Resource(d)->mutable_attributes(0)->set_key_strindex(1);
     }},
    {"ResourceValueByIndex",
     {"inline-attributes"},
     [](auto& d) {
       Resource(d)->mutable_attributes(0)->mutable_value()->set_string_value_strindex(1);
     }},
    {"ResourceValueByIndexInAList",
     {"inline-attributes"},
     [](auto& d) {
       Resource(d)
           ->mutable_attributes(0)
           ->mutable_value()
           ->mutable_array_value()
           ->add_values()
           ->set_string_value_strindex(1);
     }},
    {"ScopeValueByIndex",
     {"inline-attributes"},
     [](auto& d) {
       auto* attribute = Scope(d)->add_attributes();
       attribute->set_key("a");
       attribute->mutable_value()->set_string_value_strindex(1);
     }},
    {"AttributeWithoutKey",
     {"dictionary-attributes", "orphan"},
     [](auto& d) { Tables(d)->mutable_attribute_table(3)->clear_key_strindex(); }},
    {"AttributeWithoutValue",
     {"dictionary-attributes"},
     [](auto& d) { Tables(d)->mutable_attribute_table(3)->clear_value(); }},
    {"NeitherValueNorTimestamp",
     {"sample-shape"},
     [](auto& d) { FirstSample(d)->clear_timestamps_unix_nano(); }},
    {"OneValueForTwoTimestamps", {"sample-shape"}, [](auto& d) { FirstSample(d)->add_values(2); }},
    {"TwoShapesInAProfile",
     {"sample-shape"},
     [](auto& d) {
       auto* sample = FirstProfile(d)->add_samples();
       sample->set_stack_index(1);
       sample->add_values(1);
     }},
    {"SampleTwice",
     {"sample-identity"},
     [](auto& d) { *FirstProfile(d)->add_samples() = FirstProfile(d)->samples(0); }},
    {"SampleTwiceInOtherOrder",
     {"sample-identity"},
     [](auto& d) {
       auto* sample = FirstProfile(d)->add_samples();
       *sample = FirstProfile(d)->samples(0);
       sample->mutable_attribute_indices()->SwapElements(0, 1);
     }},
    {"TimestampAtTheEnd",
     {"timestamps"},
     [](auto& d) { FirstSample(d)->set_timestamps_unix_nano(1, 2000); }},
    {"TimestampBeforeTheStart",
     {"timestamps"},
     [](auto& d) { FirstSample(d)->set_timestamps_unix_nano(0, 999); }},
    {"NoSampleUnit",
     {"sample-type", "orphan"},
     [](auto& d) { FirstProfile(d)->mutable_sample_type()->clear_unit_strindex(); }},
    {"NoPeriodType",
     {"period-type", "orphan"},
     [](auto& d) { FirstProfile(d)->clear_period_type(); }},
    {"ResourceWithoutScopes",
     {"shells"},
     [](auto& d) { d.add_resource_profiles()->mutable_resource(); }},
    {"ScopeWithoutProfiles",
     {"shells"},
     [](auto& d) {
       d.mutable_resource_profiles(0)->add_scope_profiles()->mutable_scope()->set_name("x");
     }},
    {"ProfileWithoutSamples",
     {"shells"},
     [](auto& d) {
       auto* profile = d.mutable_resource_profiles(0)->mutable_scope_profiles(0)->add_profiles();
       *profile = *FirstProfile(d);
       profile->clear_samples();
     }},
    {"ResourceMissing",
     {"shells"},
     [](auto& d) { d.mutable_resource_profiles(0)->clear_resource(); }},
    {"ScopeMissing",
     {"shells"},
     [](auto& d) { d.mutable_resource_profiles(0)->mutable_scope_profiles(0)->clear_scope(); }},
    {"MappingUpsideDown",
     {"mapping-range", "location-address"},
     [](auto& d) { Tables(d)->mutable_mapping_table(1)->set_memory_limit(0x1000); }},
    {"MappingWithoutBuildId",
     {"mapping-build-id", "orphan"},
     [](auto& d) { Tables(d)->mutable_mapping_table(1)->clear_attribute_indices(); }},
    {"AddressAtTheLimit",
     {"location-address"},
     [](auto& d) { Tables(d)->mutable_location_table(1)->set_address(0x2000); }},
    {"AddressBelowTheStart",
     {"location-address"},
     [](auto& d) { Tables(d)->mutable_location_table(1)->set_address(0xfff); }},
    {"FunctionWithoutName",
     {"function-name", "orphan"},
     [](auto& d) {
       Tables(d)->mutable_function_table(1)->clear_name_strindex();
       Tables(d)->mutable_function_table(1)->set_start_line(1);
     }},
    {"ProfileIdTooShort",
     {"profile-id"},
     [](auto& d) { FirstProfile(d)->set_profile_id("short"); }},
    {"ProfileIdOfZeros",
     {"profile-id"},
     [](auto& d) { FirstProfile(d)->set_profile_id(std::string(16, '\0')); }},
    {"LineNegative",
     {"lines"},
     [](auto& d) { Tables(d)->mutable_location_table(2)->mutable_lines(0)->set_line(-1); }},
    {"ColumnNegative",
     {"lines"},
     [](auto& d) { Tables(d)->mutable_location_table(2)->mutable_lines(0)->set_column(-1); }},
    {"StartLineNegative",
     {"lines"},
     [](auto& d) { Tables(d)->mutable_function_table(1)->set_start_line(-1); }},
    {"TraceIdOfZeros",
     {"link"},
     [](auto& d) { Tables(d)->mutable_link_table(1)->set_trace_id(std::string(16, '\0')); }},
    {"SpanIdOfZeros",
     {"link"},
     [](auto& d) { Tables(d)->mutable_link_table(1)->set_span_id(std::string(8, '\0')); }},
    {"TraceIdTooLong",
     {"link"},
     [](auto& d) { Tables(d)->mutable_link_table(1)->set_trace_id(std::string(17, 'x')); }},
    {"SpanIdMissing", {"link"}, [](auto& d) { Tables(d)->mutable_link_table(1)->clear_span_id(); }},
    {"LabelTooLong", {"context-labels"}, [](auto& d) { AddLabels(d, 1, 256); }},
    {"LabelsTooMany", {"context-labels"}, [](auto& d) { AddLabels(d, 33, 1); }},
    {"LabelsOfTooManyBytes", {"context-labels"}, [](auto& d) { AddLabels(d, 3, 214); }},
    {"LabelIsANumber",
     {"context-labels"},
     [](auto& d) { AddAttribute(d, "process.context.label.k")->set_int_value(1); }},
    {"LabelWithoutName",
     {"context-labels"},
     [](auto& d) { AddAttribute(d, "process.context.label.")->set_string_value("v"); }},
    {"MarkOfCutLabels",
     {"context-labels"},
     [](auto& d) { AddAttribute(d, "stackray.context.labels_cut")->set_string_value("yes"); }},
};

}  // namespace

std::vector<Damage> BatchDamages() { return {std::begin(kDamages), std::end(kDamages)}; }

}  // namespace stackray
