// What the parts of the batch check share: where violations go, and which entries were referred to.
#ifndef STACKRAY_REPORTER_CHECK_REPORT_H_
#define STACKRAY_REPORTER_CHECK_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "reporter/check.h"
#include "reporter/proto/profiles.pb.h"

namespace stackray::batch_check {

namespace otlp = opentelemetry::proto::profiles::v1development;
namespace otlp_common = opentelemetry::proto::common::v1;
using IndexList = google::protobuf::RepeatedField<int32_t>;

enum class Table { kMapping, kLocation, kFunction, kLink, kString, kAttribute, kStack };
inline constexpr std::array kTables = {Table::kMapping, Table::kLocation, Table::kFunction,
                                       Table::kLink,    Table::kString,   Table::kAttribute,
                                       Table::kStack};
std::string_view TableName(Table table);  // "mapping_table"
int TableSize(const otlp::ProfilesDictionary& dictionary, Table table);

class Report {
 public:
  // `where` is the place; nothing is kept beyond kMaxViolations.
  void Add(BatchRule rule, std::string where) {
    if (violations_.size() < kMaxViolations) violations_.push_back({rule, std::move(where)});
  }
  bool full() const { return violations_.size() >= kMaxViolations; }
  std::vector<RuleViolation> Finish() && { return std::move(violations_); }

 private:
  std::vector<RuleViolation> violations_;
};

// Checks indices against their tables and remembers what was referred to from a sample, directly or
// through other entries. `dictionary` and `report` outlive it.
class References {
 public:
  References(const otlp::ProfilesDictionary& dictionary, Report* report);

  // `reached`: the referring entry itself is in use. True when the index lies in its table.
  bool Use(Table table, int32_t index, bool reached, std::string_view where, int at);
  bool reached(Table table, int index) const {
    return used_[static_cast<size_t>(table)][static_cast<size_t>(index)];
  }
  void ReportOrphans() const;

 private:
  Report* const report_;
  std::array<std::vector<bool>, kTables.size()> used_;
};

// Keys of dictionary attributes, each at most once. Indices outside are passed over.
void CheckUniqueKeys(const otlp::ProfilesDictionary& dictionary, const IndexList& indices,
                     std::string_view where, int at, Report* report);

// The dictionary: its tables, entries and their references (check_dictionary.cc).
// References from samples must have been followed before.
void CheckDictionary(const otlp::ProfilesDictionary& dictionary, References* references,
                     Report* report);
// Resources, scopes, profiles, samples (check_samples.cc).
void CheckProfiles(const otlp::ProfilesData& data, References* references, Report* report);
// An attribute value's references into the string table, lists included.
void CheckValue(const otlp_common::AnyValue& value, bool reached, std::string_view where, int at,
                References* references);
// Text that is not UTF-8, by place. Overwrites the broken bytes in *message by '?', so that it can
// be parsed. False: the bytes are not protobuf.
bool CheckText(std::string* message, Report* report);

}  // namespace stackray::batch_check

#endif  // STACKRAY_REPORTER_CHECK_REPORT_H_
