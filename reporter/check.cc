#include "reporter/check.h"

#include <fmt/format.h>

#include <array>

#include "reporter/batch_message.h"
#include "reporter/check_report.h"

namespace stackray {
namespace {

using batch_check::CheckDictionary;
using batch_check::CheckProfiles;
using batch_check::CheckText;
using batch_check::References;
using batch_check::Report;

struct RuleText {
  BatchRule rule;
  std::string_view id;
  std::string_view sentence;
};

constexpr std::array<RuleText, kBatchRules> kRuleTexts = {{
    {BatchRule::kWire, "wire", "The bytes are one ExportProfilesServiceRequest."},
    {BatchRule::kTables, "tables",
     "All seven tables are written, and element 0 of each is the zero value."},
    {BatchRule::kIndex, "index", "Every index lies in its table."},
    {BatchRule::kDuplicate, "duplicate", "No table holds an entry twice."},
    {BatchRule::kOrphan, "orphan", "Every entry but element 0 is reached from a profile."},
    {BatchRule::kUtf8, "utf8", "Every text is valid UTF-8."},
    {BatchRule::kUniqueKeys, "unique-keys",
     "A key appears once in an attribute list, a resource or a scope."},
    {BatchRule::kInlineAttributes, "inline-attributes",
     "Attributes of resources and scopes are inline: a key and a value, no index."},
    {BatchRule::kDictionaryAttributes, "dictionary-attributes",
     "An attribute in the dictionary has its key by index, and a value."},
    {BatchRule::kSampleShape, "sample-shape",
     "A sample has a value or a timestamp, as many of both if both, as all samples of its "
     "profile; where events have values of their own (off_cpu, page_faults) it has both."},
    {BatchRule::kSampleIdentity, "sample-identity",
     "Stack, set of attributes and link of a sample are unique in its profile."},
    {BatchRule::kTimestamps, "timestamps",
     "Timestamps lie within [time, time + duration) of their profile."},
    {BatchRule::kSampleType, "sample-type", "A profile's sample type names a type and a unit."},
    {BatchRule::kPeriodType, "period-type",
     "A profile of samples or page_faults writes its period type, one of off_cpu has no period."},
    {BatchRule::kShells, "shells",
     "Resources, scopes and profiles are written and never without content."},
    {BatchRule::kMappingRange, "mapping-range", "A mapping starts below its limit, or both are 0."},
    {BatchRule::kMappingBuildId, "mapping-build-id",
     "A mapping has a build id: gnu, go or htlhash."},
    {BatchRule::kLocationAddress, "location-address", "A location's address lies in its mapping."},
    {BatchRule::kFunctionName, "function-name", "A function has at least one name."},
    {BatchRule::kProfileId, "profile-id",
     "A profile id is absent or 16 bytes that are not all zero."},
    {BatchRule::kLines, "lines", "Line, column and start line are not negative."},
    {BatchRule::kLink, "link",
     "A link but element 0 has 16 bytes of a trace id and 8 of a span id, neither all zero."},
    {BatchRule::kContextLabels, "context-labels",
     "A sample has at most 32 labels of a context, each with a name and a text of at most 255 "
     "bytes, 640 bytes of texts in all; the mark of cut ones is true."},
}};

constexpr bool InEnumOrder() {
  for (size_t i = 0; i < kRuleTexts.size(); ++i) {
    if (kRuleTexts[i].rule != static_cast<BatchRule>(i)) return false;
  }
  return true;
}
static_assert(InEnumOrder());

}  // namespace

std::string_view BatchRuleId(BatchRule rule) { return kRuleTexts[static_cast<size_t>(rule)].id; }
std::string_view BatchRuleSentence(BatchRule rule) {
  return kRuleTexts[static_cast<size_t>(rule)].sentence;
}

std::vector<RuleViolation> CheckBatch(std::string_view bytes) {
  Report report;
  std::string text_checked(bytes);
  batch_check::otlp::ProfilesData data;
  if (!CheckText(&text_checked, &report) || !ParseBatchMessage(text_checked, &data)) {
    report.Add(BatchRule::kWire, fmt::format("batch of {} bytes", bytes.size()));
    return std::move(report).Finish();
  }
  References references(data.dictionary(), &report);
  CheckProfiles(data, &references, &report);
  CheckDictionary(data.dictionary(), &references, &report);
  references.ReportOrphans();
  return std::move(report).Finish();
}

}  // namespace stackray
