#include <fmt/format.h>

#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "reporter/attribute_names.h"
#include "reporter/check_report.h"

namespace stackray::batch_check {
namespace {

std::string Encode(const std::string& text) { return text; }
template <typename Message>
std::string Encode(const Message& message) {
  return message.SerializeAsString();
}

class DictionaryCheck {
 public:
  DictionaryCheck(const otlp::ProfilesDictionary& dictionary, References* references,
                  Report* report)
      : dictionary_(dictionary), references_(*references), report_(*report) {}

  void Run();

 private:
  // Written, element 0 zero, nothing twice.
  template <typename Entries>
  void CheckTable(Table table, const Entries& entries);
  void CheckAttributes(Table owner, int at, const IndexList& indices, bool reached);
  void UseString(Table owner, int at, int32_t index) {
    references_.Use(Table::kString, index, references_.reached(owner, at), TableName(owner), at);
  }
  void CheckStack(int at);
  void CheckLocation(int at);
  void CheckAddress(int at, const otlp::Location& location);
  void CheckMapping(int at);
  bool HasBuildId(const otlp::Mapping& mapping) const;
  void CheckFunction(int at);
  void CheckAttribute(int at);
  void CheckLink(int at);

  const otlp::ProfilesDictionary& dictionary_;
  References& references_;
  Report& report_;
};

template <typename Entries>
void DictionaryCheck::CheckTable(Table table, const Entries& entries) {
  if (entries.empty()) {
    report_.Add(BatchRule::kTables, fmt::format("{}: missing", TableName(table)));
    return;
  }
  if (!Encode(*entries.begin()).empty())
    report_.Add(BatchRule::kTables, fmt::format("{}[0]: not the zero value", TableName(table)));
  absl::flat_hash_set<std::string> seen;
  int at = 0;
  for (const auto& entry : entries) {
    if (!seen.insert(Encode(entry)).second)
      report_.Add(BatchRule::kDuplicate, fmt::format("{}[{}]", TableName(table), at));
    ++at;
  }
}

void DictionaryCheck::CheckAttributes(Table owner, int at, const IndexList& indices, bool reached) {
  for (const int32_t index : indices)
    references_.Use(Table::kAttribute, index, reached, TableName(owner), at);
  CheckUniqueKeys(dictionary_, indices, TableName(owner), at, &report_);
}

void DictionaryCheck::CheckStack(int at) {
  const bool reached = references_.reached(Table::kStack, at);
  for (const int32_t index : dictionary_.stack_table(at).location_indices())
    references_.Use(Table::kLocation, index, reached, TableName(Table::kStack), at);
}

void DictionaryCheck::CheckAddress(int at, const otlp::Location& location) {
  if (location.mapping_index() == 0) return;
  const otlp::Mapping& mapping = dictionary_.mapping_table(location.mapping_index());
  if (mapping.memory_start() == 0 && mapping.memory_limit() == 0) return;
  if (location.address() >= mapping.memory_start() && location.address() < mapping.memory_limit())
    return;
  report_.Add(BatchRule::kLocationAddress,
              fmt::format("location_table[{}]: 0x{:x} outside [0x{:x}, 0x{:x})", at,
                          location.address(), mapping.memory_start(), mapping.memory_limit()));
}

void DictionaryCheck::CheckLocation(int at) {
  const otlp::Location& location = dictionary_.location_table(at);
  const bool reached = references_.reached(Table::kLocation, at);
  const std::string_view where = TableName(Table::kLocation);
  if (references_.Use(Table::kMapping, location.mapping_index(), reached, where, at))
    CheckAddress(at, location);
  for (const otlp::Line& line : location.lines()) {
    references_.Use(Table::kFunction, line.function_index(), reached, where, at);
    if (line.line() < 0 || line.column() < 0)
      report_.Add(BatchRule::kLines, fmt::format("{}[{}]", where, at));
  }
  CheckAttributes(Table::kLocation, at, location.attribute_indices(), reached);
}

bool DictionaryCheck::HasBuildId(const otlp::Mapping& mapping) const {
  for (const int32_t index : mapping.attribute_indices()) {
    if (index < 0 || index >= dictionary_.attribute_table_size()) continue;
    const int32_t key = dictionary_.attribute_table(index).key_strindex();
    if (key < 0 || key >= dictionary_.string_table_size()) continue;
    for (const std::string_view name : kBuildIdAttributes) {
      if (dictionary_.string_table(key) == name) return true;
    }
  }
  return false;
}

void DictionaryCheck::CheckMapping(int at) {
  const otlp::Mapping& mapping = dictionary_.mapping_table(at);
  const bool both_zero = mapping.memory_start() == 0 && mapping.memory_limit() == 0;
  if (mapping.memory_start() >= mapping.memory_limit() && !both_zero) {
    report_.Add(BatchRule::kMappingRange,
                fmt::format("mapping_table[{}]: [0x{:x}, 0x{:x})", at, mapping.memory_start(),
                            mapping.memory_limit()));
  }
  if (at != 0 && !HasBuildId(mapping))
    report_.Add(BatchRule::kMappingBuildId, fmt::format("mapping_table[{}]", at));
  UseString(Table::kMapping, at, mapping.filename_strindex());
  CheckAttributes(Table::kMapping, at, mapping.attribute_indices(),
                  references_.reached(Table::kMapping, at));
}

void DictionaryCheck::CheckFunction(int at) {
  const otlp::Function& function = dictionary_.function_table(at);
  UseString(Table::kFunction, at, function.name_strindex());
  UseString(Table::kFunction, at, function.system_name_strindex());
  UseString(Table::kFunction, at, function.filename_strindex());
  if (at != 0 && function.name_strindex() == 0 && function.system_name_strindex() == 0)
    report_.Add(BatchRule::kFunctionName, fmt::format("function_table[{}]", at));
  if (function.start_line() < 0)
    report_.Add(BatchRule::kLines, fmt::format("function_table[{}]", at));
}

void DictionaryCheck::CheckAttribute(int at) {
  const otlp::KeyValueAndUnit& attribute = dictionary_.attribute_table(at);
  UseString(Table::kAttribute, at, attribute.key_strindex());
  UseString(Table::kAttribute, at, attribute.unit_strindex());
  CheckValue(attribute.value(), references_.reached(Table::kAttribute, at),
             TableName(Table::kAttribute), at, &references_);
  const bool has_value = attribute.value().value_case() != otlp_common::AnyValue::VALUE_NOT_SET;
  if (at != 0 && (attribute.key_strindex() == 0 || !has_value))
    report_.Add(BatchRule::kDictionaryAttributes, fmt::format("attribute_table[{}]", at));
}

bool IsId(std::string_view id, size_t bytes) {
  return id.size() == bytes && id.find_first_not_of('\0') != std::string_view::npos;
}

void DictionaryCheck::CheckLink(int at) {
  constexpr size_t kTraceIdBytes = 16, kSpanIdBytes = 8;
  const otlp::Link& link = dictionary_.link_table(at);
  if (at == 0 || (IsId(link.trace_id(), kTraceIdBytes) && IsId(link.span_id(), kSpanIdBytes)))
    return;
  report_.Add(BatchRule::kLink, fmt::format("link_table[{}]: {} and {} bytes", at,
                                            link.trace_id().size(), link.span_id().size()));
}

// In the order in which entries refer to each other, so that what is reached is known in time.
void DictionaryCheck::Run() {
  CheckTable(Table::kMapping, dictionary_.mapping_table());
  CheckTable(Table::kLocation, dictionary_.location_table());
  CheckTable(Table::kFunction, dictionary_.function_table());
  CheckTable(Table::kLink, dictionary_.link_table());
  CheckTable(Table::kString, dictionary_.string_table());
  CheckTable(Table::kAttribute, dictionary_.attribute_table());
  CheckTable(Table::kStack, dictionary_.stack_table());
  for (int i = 0; i < dictionary_.stack_table_size(); ++i) CheckStack(i);
  for (int i = 0; i < dictionary_.location_table_size(); ++i) CheckLocation(i);
  for (int i = 0; i < dictionary_.mapping_table_size(); ++i) CheckMapping(i);
  for (int i = 0; i < dictionary_.function_table_size(); ++i) CheckFunction(i);
  for (int i = 0; i < dictionary_.attribute_table_size(); ++i) CheckAttribute(i);
  for (int i = 0; i < dictionary_.link_table_size(); ++i) CheckLink(i);
}

}  // namespace

void CheckDictionary(const otlp::ProfilesDictionary& dictionary, References* references,
                     Report* report) {
  DictionaryCheck(dictionary, references, report).Run();
}

}  // namespace stackray::batch_check
