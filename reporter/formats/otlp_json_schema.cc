#include "reporter/formats/otlp_json_schema.h"

namespace stackray {
namespace {

using enum JsonKind;
constexpr bool kMany = true, kOne = false;

// AnyValue, its lists and KeyValue hold each other.
extern const JsonMessage kAnyValue, kKeyValue;

constexpr JsonField kArrayValueFields[] = {{1, "values", kMessage, kMany, &kAnyValue}};
constexpr JsonMessage kArrayValue{kArrayValueFields};
constexpr JsonField kKeyValueListFields[] = {{1, "values", kMessage, kMany, &kKeyValue}};
constexpr JsonMessage kKeyValueList{kKeyValueListFields};
constexpr JsonField kAnyValueFields[] = {
    {1, "stringValue", kText},
    {2, "boolValue", kBool},
    {3, "intValue", kInt64},
    {4, "doubleValue", kDouble},
    {5, "arrayValue", kMessage, kOne, &kArrayValue},
    {6, "kvlistValue", kMessage, kOne, &kKeyValueList},
    {7, "bytesValue", kBase64},
    {8, "stringValueStrindex", kInt32},
};
constexpr JsonField kKeyValueFields[] = {
    {1, "key", kText}, {2, "value", kMessage, kOne, &kAnyValue}, {3, "keyStrindex", kInt32}};
constexpr JsonMessage kAnyValue{kAnyValueFields};
constexpr JsonMessage kKeyValue{kKeyValueFields};

constexpr JsonField kResourceFields[] = {{1, "attributes", kMessage, kMany, &kKeyValue},
                                         {2, "droppedAttributesCount", kUint32}};
constexpr JsonMessage kResource{kResourceFields};

constexpr JsonField kScopeFields[] = {{1, "name", kText},
                                      {2, "version", kText},
                                      {3, "attributes", kMessage, kMany, &kKeyValue},
                                      {4, "droppedAttributesCount", kUint32}};
constexpr JsonMessage kScope{kScopeFields};

constexpr JsonField kValueTypeFields[] = {{1, "typeStrindex", kInt32}, {2, "unitStrindex", kInt32}};
constexpr JsonMessage kValueType{kValueTypeFields};

constexpr JsonField kSampleFields[] = {{1, "stackIndex", kInt32},
                                       {2, "attributeIndices", kInt32, kMany},
                                       {3, "linkIndex", kInt32},
                                       {4, "values", kInt64, kMany},
                                       {5, "timestampsUnixNano", kFixed64, kMany}};
constexpr JsonMessage kSample{kSampleFields};

constexpr JsonField kProfileFields[] = {{1, "sampleType", kMessage, kOne, &kValueType},
                                        {2, "samples", kMessage, kMany, &kSample},
                                        {3, "timeUnixNano", kFixed64},
                                        {4, "durationNano", kUint64},
                                        {5, "periodType", kMessage, kOne, &kValueType},
                                        {6, "period", kInt64},
                                        {7, "profileId", kHex},
                                        {8, "droppedAttributesCount", kUint32},
                                        {9, "originalPayloadFormat", kText},
                                        {10, "originalPayload", kBase64},
                                        {11, "attributeIndices", kInt32, kMany}};
constexpr JsonMessage kProfile{kProfileFields};

constexpr JsonField kScopeProfilesFields[] = {{1, "scope", kMessage, kOne, &kScope},
                                              {2, "profiles", kMessage, kMany, &kProfile},
                                              {3, "schemaUrl", kText}};
constexpr JsonMessage kScopeProfiles{kScopeProfilesFields};

constexpr JsonField kResourceProfilesFields[] = {
    {1, "resource", kMessage, kOne, &kResource},
    {2, "scopeProfiles", kMessage, kMany, &kScopeProfiles},
    {3, "schemaUrl", kText}};
constexpr JsonMessage kResourceProfiles{kResourceProfilesFields};

constexpr JsonField kMappingFields[] = {{1, "memoryStart", kUint64},
                                        {2, "memoryLimit", kUint64},
                                        {3, "fileOffset", kUint64},
                                        {4, "filenameStrindex", kInt32},
                                        {5, "attributeIndices", kInt32, kMany}};
constexpr JsonMessage kMapping{kMappingFields};

constexpr JsonField kLineFields[] = {
    {1, "functionIndex", kInt32}, {2, "line", kInt64}, {3, "column", kInt64}};
constexpr JsonMessage kLine{kLineFields};

constexpr JsonField kLocationFields[] = {{1, "mappingIndex", kInt32},
                                         {2, "address", kUint64},
                                         {3, "lines", kMessage, kMany, &kLine},
                                         {4, "attributeIndices", kInt32, kMany}};
constexpr JsonMessage kLocation{kLocationFields};

constexpr JsonField kFunctionFields[] = {{1, "nameStrindex", kInt32},
                                         {2, "systemNameStrindex", kInt32},
                                         {3, "filenameStrindex", kInt32},
                                         {4, "startLine", kInt64}};
constexpr JsonMessage kFunction{kFunctionFields};

constexpr JsonField kLinkFields[] = {{1, "traceId", kHex}, {2, "spanId", kHex}};
constexpr JsonMessage kLink{kLinkFields};

constexpr JsonField kKeyValueAndUnitFields[] = {{1, "keyStrindex", kInt32},
                                                {2, "value", kMessage, kOne, &kAnyValue},
                                                {3, "unitStrindex", kInt32}};
constexpr JsonMessage kKeyValueAndUnit{kKeyValueAndUnitFields};

constexpr JsonField kStackFields[] = {{1, "locationIndices", kInt32, kMany}};
constexpr JsonMessage kStack{kStackFields};

constexpr JsonField kDictionaryFields[] = {
    {1, "mappingTable", kMessage, kMany, &kMapping},
    {2, "locationTable", kMessage, kMany, &kLocation},
    {3, "functionTable", kMessage, kMany, &kFunction},
    {4, "linkTable", kMessage, kMany, &kLink},
    {5, "stringTable", kText, kMany},
    {6, "attributeTable", kMessage, kMany, &kKeyValueAndUnit},
    {7, "stackTable", kMessage, kMany, &kStack}};
constexpr JsonMessage kDictionary{kDictionaryFields};

constexpr JsonField kProfilesDataFields[] = {
    {1, "resourceProfiles", kMessage, kMany, &kResourceProfiles},
    {2, "dictionary", kMessage, kOne, &kDictionary}};

}  // namespace

const JsonMessage kProfilesDataJson{kProfilesDataFields};

}  // namespace stackray
