#include <fmt/format.h>

#include <set>
#include <string_view>

#include "reporter/check_report.h"

namespace stackray::batch_check {

std::string_view TableName(Table table) {
  switch (table) {
    case Table::kMapping: return "mapping_table";
    case Table::kLocation: return "location_table";
    case Table::kFunction: return "function_table";
    case Table::kLink: return "link_table";
    case Table::kString: return "string_table";
    case Table::kAttribute: return "attribute_table";
    case Table::kStack: return "stack_table";
  }
  return "";
}

int TableSize(const otlp::ProfilesDictionary& dictionary, Table table) {
  switch (table) {
    case Table::kMapping: return dictionary.mapping_table_size();
    case Table::kLocation: return dictionary.location_table_size();
    case Table::kFunction: return dictionary.function_table_size();
    case Table::kLink: return dictionary.link_table_size();
    case Table::kString: return dictionary.string_table_size();
    case Table::kAttribute: return dictionary.attribute_table_size();
    case Table::kStack: return dictionary.stack_table_size();
  }
  return 0;
}

References::References(const otlp::ProfilesDictionary& dictionary, Report* report)
    : report_(report) {
  for (const Table table : kTables)
    used_[static_cast<size_t>(table)].resize(static_cast<size_t>(TableSize(dictionary, table)));
}

bool References::Use(Table table, int32_t index, bool reached, std::string_view where, int at) {
  std::vector<bool>& used = used_[static_cast<size_t>(table)];
  if (index < 0 || static_cast<size_t>(index) >= used.size()) {
    // A table that is missing altogether is another rule's.
    if (index != 0) {
      report_->Add(BatchRule::kIndex, fmt::format("{}[{}]: index {} into {} of {}", where, at,
                                                  index, TableName(table), used.size()));
    }
    return false;
  }
  if (reached) used[static_cast<size_t>(index)] = true;
  return true;
}

void References::ReportOrphans() const {
  for (const Table table : kTables) {
    const std::vector<bool>& used = used_[static_cast<size_t>(table)];
    for (size_t i = 1; i < used.size() && !report_->full(); ++i) {
      if (!used[i]) report_->Add(BatchRule::kOrphan, fmt::format("{}[{}]", TableName(table), i));
    }
  }
}

void CheckUniqueKeys(const otlp::ProfilesDictionary& dictionary, const IndexList& indices,
                     std::string_view where, int at, Report* report) {
  std::set<std::string_view> keys;
  for (const int32_t index : indices) {
    if (index < 0 || index >= dictionary.attribute_table_size()) continue;
    const int32_t key = dictionary.attribute_table(index).key_strindex();
    if (key < 0 || key >= dictionary.string_table_size()) continue;
    if (!keys.insert(dictionary.string_table(key)).second) {
      report->Add(BatchRule::kUniqueKeys,
                  fmt::format("{}[{}]: {} twice", where, at, dictionary.string_table(key)));
    }
  }
}

void CheckValue(const otlp_common::AnyValue& value, bool reached, std::string_view where, int at,
                References* references) {
  if (value.has_string_value_strindex())
    references->Use(Table::kString, value.string_value_strindex(), reached, where, at);
  for (const auto& element : value.array_value().values())
    CheckValue(element, reached, where, at, references);
  for (const auto& pair : value.kvlist_value().values()) {
    references->Use(Table::kString, pair.key_strindex(), reached, where, at);
    CheckValue(pair.value(), reached, where, at, references);
  }
}

}  // namespace stackray::batch_check
