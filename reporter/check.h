// Does a batch obey the rules of OTLP profiles? Looks at the bytes as any receiver would; shares no
// code with what writes them.
//
// Input:   any bytes. A damaged batch is described, never trusted.
// Memory:  the parsed message (a few times `bytes`) while it runs.
// Threads: any; no state.
#ifndef STACKRAY_REPORTER_CHECK_H_
#define STACKRAY_REPORTER_CHECK_H_

#include <string>
#include <string_view>
#include <vector>

namespace stackray {

enum class BatchRule {
  kWire,
  kTables,
  kIndex,
  kDuplicate,
  kOrphan,
  kUtf8,
  kUniqueKeys,
  kInlineAttributes,
  kDictionaryAttributes,
  kSampleShape,
  kSampleIdentity,
  kTimestamps,
  kSampleType,
  kPeriodType,
  kShells,
  kMappingRange,
  kMappingBuildId,
  kLocationAddress,
  kFunctionName,
  kProfileId,
  kLines,
  kLink,
  kContextLabels,
};
inline constexpr int kBatchRules = 23;

// Short and stable, for scripts: "orphan". And the rule as a sentence.
std::string_view BatchRuleId(BatchRule rule);
std::string_view BatchRuleSentence(BatchRule rule);

struct RuleViolation {
  BatchRule rule;
  std::string where;  // "location_table[7]: mapping_index 9 of 3"
};

// More violations than this are not listed.
inline constexpr size_t kMaxViolations = 100;

// Empty: the batch obeys every rule. A rule can appear often, each time with its place.
std::vector<RuleViolation> CheckBatch(std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_CHECK_H_
