#include "reporter/formats/pprof.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "reporter/attribute_names.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"
#include "reporter/wire/writer.h"

namespace stackray {
namespace {

namespace profile_fields {
constexpr int kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
              kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11, kPeriod = 12,
              kDefaultSampleType = 14;
}
namespace value_type_fields {
constexpr int kType = 1, kUnit = 2;
}
namespace sample_fields {
constexpr int kLocationIds = 1, kValues = 2, kLabel = 3;
}
namespace label_fields {
constexpr int kKey = 1, kText = 2, kNumber = 3;
}
namespace mapping_fields {
constexpr int kId = 1, kStart = 2, kLimit = 3, kOffset = 4, kFile = 5, kBuildId = 6,
              kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9, kHasInlineFrames = 10;
}
namespace location_fields {
constexpr int kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}
namespace line_fields {
constexpr int kFunctionId = 1, kLine = 2;
}
namespace function_fields {
constexpr int kId = 1, kName = 2, kSystemName = 3, kFile = 4;
}

struct Function {
  uint32_t name = 0, system_name = 0, file = 0;
  friend bool operator==(const Function&, const Function&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Function& f) {
    return H::combine(std::move(h), f.name, f.system_name, f.file);
  }
};

// What is known of a mapping from all of its locations that are used.
struct MappingFacts {
  uint64_t lowest = UINT64_MAX, highest = 0;
  bool all_named = true, all_filenames = true, all_lines = true, any_inlined = false;
};

// The executables of all processes that have samples, by path; of one whose executable is not known
// its command.
class Programs {
 public:
  Programs(const ProfileView& view, const std::vector<ViewRow>& rows) {
    std::vector<bool> used(view.processes().size());
    for (const ViewRow& row : rows) used[view.threads()[row.thread].process] = true;
    for (uint32_t id = 0; id < used.size(); ++id) {
      const ViewProcess& process = view.processes()[id];
      if (!used[id] || (process.pid == 0 && process.command == 0))
        continue;  // The host's lost ones.
      const std::string command = view.ProcessName(id);
      names_.insert(process.executable != 0
                        ? std::string(view.Text(process.executable))
                        : command.substr(0, command.find('/')));  // "kworker/0:1"
    }
    host_ = view.host_name().empty() ? "host" : view.host_name();
  }

  bool has_one() const { return names_.size() == 1; }
  // The only one's path, or what they are together.
  std::string Title() const {
    if (has_one()) return *names_.begin();
    return Concat(host_, " (", names_.size(), " programs)");
  }

 private:
  std::set<std::string> names_;
  std::string host_;
};

class PprofWriter {
 public:
  explicit PprofWriter(const ProfileView& view)
      : view_(view), types_(view.UsedTypes()), rows_(view.TotalRows()), programs_(view, rows_) {
    if (types_.empty()) types_.push_back(ProfileView::kCpuType);
    if (view.period_ns() >= 1) period_ns_ = std::llround(std::min(view.period_ns(), 1e15));
  }

  std::string Write() {
    for (const uint32_t type : types_) {
      const TypeSums& sums = view_.types()[type];
      AddValueType(profile_fields::kSampleType, sums.type, sums.unit);
      if (HasTime(type)) AddValueType(profile_fields::kSampleType, "cpu", "nanoseconds");
    }
    for (const ViewRow& row : rows_) AddSample(row);
    AddMappings();
    for (const uint32_t id : locations_) AddLocation(id);
    for (uint32_t id = 1; id < functions_.items().size(); ++id) AddFunction(id);
    wire::AppendNumber(profile_fields::kTimeNanos, static_cast<uint64_t>(view_.start_unix_ns()),
                       &out_);
    wire::AppendNumber(profile_fields::kDurationNanos,
                       static_cast<uint64_t>(view_.end_unix_ns() - view_.start_unix_ns()), &out_);
    if (period_ns_ > 0) {
      AddValueType(profile_fields::kPeriodType, "cpu", "nanoseconds");
      wire::AppendNumber(profile_fields::kPeriod, static_cast<uint64_t>(period_ns_), &out_);
    }
    // Else it would be the last of the types.
    if (types_.size() > 1)
      wire::AppendNumber(
          profile_fields::kDefaultSampleType,
          Text(HasTime(types_[0]) ? std::string_view("cpu") : view_.types()[types_[0]].type),
          &out_);
    for (uint32_t id = 0; id < strings_.size(); ++id) {
      wire::AppendBytes(profile_fields::kStringTable, strings_[id], &out_);
    }
    return std::move(out_);
  }

 private:
  // `go tool pprof` prints names as they are.
  uint32_t Text(std::string_view text) { return strings_.Intern(PrintableText(text), true); }

  void AddValueType(uint32_t field, std::string_view type, std::string_view unit) {
    std::string value_type;
    wire::AppendNumber(value_type_fields::kType, Text(type), &value_type);
    wire::AppendNumber(value_type_fields::kUnit, Text(unit), &value_type);
    wire::AppendBytes(field, value_type, &out_);
  }

  void AddSample(const ViewRow& row) {
    std::string packed;
    for (uint32_t node = row.node; node != ProfileView::kRoot; node = view_.nodes()[node].parent) {
      wire::AppendVarint(LocationId(view_.nodes()[node].frame), &packed);
    }
    std::string sample;
    if (!packed.empty()) wire::AppendBytes(sample_fields::kLocationIds, packed, &sample);
    packed.clear();
    for (const uint32_t type : types_) {
      const int64_t value = view_.threads()[row.thread].type == type ? row.count : 0;
      wire::AppendVarint(static_cast<uint64_t>(value), &packed);
      if (HasTime(type)) wire::AppendVarint(static_cast<uint64_t>(Nanoseconds(value)), &packed);
    }
    wire::AppendBytes(sample_fields::kValues, packed, &sample);
    AddLabels(view_.threads()[row.thread], &sample);
    wire::AppendBytes(profile_fields::kSample, sample, &out_);
  }

  // The on-CPU type, where it is known how much time a sample stands for.
  bool HasTime(uint32_t type) const { return type == ProfileView::kCpuType && period_ns_ > 0; }
  int64_t Nanoseconds(int64_t count) const {
    return count > INT64_MAX / period_ns_ ? INT64_MAX : count * period_ns_;
  }

  void AddLabels(const ViewThread& thread, std::string* sample) {
    const ViewProcess& process = view_.processes()[thread.process];
    AddLabel("process", view_.ProcessName(thread.process), 0, sample);
    if (process.pid != 0) AddLabel("pid", "", process.pid, sample);
    if (thread.tid != 0) AddLabel("tid", "", thread.tid, sample);
    if (thread.name != 0) AddLabel("thread", view_.Text(thread.name), 0, sample);
    if (process.container != 0) AddLabel("container", view_.Text(process.container), 0, sample);
    if (thread.wait != 0) AddLabel(kWaitAttribute, view_.Text(thread.wait), 0, sample);
    for (uint32_t id = thread.labels; id != 0; id = view_.labels()[id].next) {
      const ViewLabel& label = view_.labels()[id];
      AddLabel(view_.Text(label.key), view_.Text(label.text), label.number, sample);
    }
  }

  void AddLabel(std::string_view key, std::string_view text, int64_t number, std::string* sample) {
    std::string label;
    wire::AppendNumber(label_fields::kKey, Text(key), &label);
    wire::AppendNumber(label_fields::kText, Text(text), &label);
    wire::AppendNumber(label_fields::kNumber, static_cast<uint64_t>(number), &label);
    wire::AppendBytes(sample_fields::kLabel, label, sample);
  }

  // Numbers of this file: 1 for the first location that is used, and so on.
  uint64_t LocationId(uint32_t location) {
    const auto [found, fresh] = location_ids_.try_emplace(location, locations_.size() + 1);
    if (fresh) {
      locations_.push_back(location);
      LearnMapping(view_.locations()[location]);
    }
    return found->second;
  }

  void LearnMapping(const ViewLocation& location) {
    if (location.mapping == 0) return;
    MappingFacts& facts = mappings_[location.mapping];
    facts.lowest = std::min(facts.lowest, location.address);
    facts.highest = std::max(facts.highest, location.address);
    if (location.first_line == 0) facts.all_named = false;
    for (uint32_t id = location.first_line; id != 0; id = view_.lines()[id].next) {
      const ViewLine& line = view_.lines()[id];
      if (line.file == 0) facts.all_filenames = false;
      if (line.line <= 0) facts.all_lines = false;
      if (line.next != 0) facts.any_inlined = true;
    }
  }

  // The main program's comes first: pprof titles the profile by it.
  void AddMappings() {
    const std::string title = programs_.Title();
    const auto is_main = [&](const auto& entry) {
      return programs_.has_one() && view_.Text(view_.mappings()[entry.first].path) == title;
    };
    const auto main = std::find_if(mappings_.begin(), mappings_.end(), is_main);
    if (main != mappings_.end())
      AddMapping(main->first, main->second);
    else
      AddTitle(title);
    for (auto entry = mappings_.begin(); entry != mappings_.end(); ++entry)
      if (entry != main) AddMapping(entry->first, entry->second);
  }

  // A mapping that no location is in. Marked as if it had all names, so that nobody looks for such
  // a file.
  void AddTitle(std::string_view title) {
    std::string mapping;
    wire::AppendNumber(mapping_fields::kId, view_.mappings().size(), &mapping);
    wire::AppendNumber(mapping_fields::kFile, Text(title), &mapping);
    for (const uint32_t field : {mapping_fields::kHasFunctions, mapping_fields::kHasFilenames,
                                 mapping_fields::kHasLineNumbers, mapping_fields::kHasInlineFrames})
      wire::AppendNumber(field, 1, &mapping);
    wire::AppendBytes(profile_fields::kMapping, mapping, &out_);
  }

  void AddMapping(uint32_t id, const MappingFacts& facts) {
    constexpr uint64_t kPage = 4096;
    const ViewMapping& item = view_.mappings()[id];
    std::string mapping;
    wire::AppendNumber(mapping_fields::kId, id, &mapping);
    wire::AppendNumber(mapping_fields::kStart, facts.lowest & ~(kPage - 1), &mapping);
    wire::AppendNumber(
        mapping_fields::kLimit,
        facts.highest >= UINT64_MAX - kPage ? UINT64_MAX : (facts.highest | (kPage - 1)) + 1,
        &mapping);
    wire::AppendNumber(mapping_fields::kFile, Text(view_.Text(item.path)), &mapping);
    wire::AppendNumber(mapping_fields::kBuildId, Text(view_.Text(item.build_id)), &mapping);
    const bool named = facts.all_named;
    wire::AppendNumber(mapping_fields::kHasFunctions, named, &mapping);
    wire::AppendNumber(mapping_fields::kHasFilenames, named && facts.all_filenames, &mapping);
    wire::AppendNumber(mapping_fields::kHasLineNumbers, named && facts.all_lines, &mapping);
    wire::AppendNumber(mapping_fields::kHasInlineFrames, named && facts.any_inlined, &mapping);
    wire::AppendBytes(profile_fields::kMapping, mapping, &out_);
  }

  void AddLocation(uint32_t id) {
    const ViewLocation& item = view_.locations()[id];
    std::string location;
    wire::AppendNumber(location_fields::kId, location_ids_[id], &location);
    wire::AppendNumber(location_fields::kMappingId, item.mapping, &location);
    wire::AppendNumber(location_fields::kAddress, item.address, &location);
    for (uint32_t line = item.first_line; line != 0; line = view_.lines()[line].next) {
      AddLine(view_.lines()[line], &location);
    }
    // pprof shows a location without name and mapping as nothing at all, and one without a name by
    // its address.
    if (item.first_line == 0 && (item.mapping == 0 || item.function_start))
      AddNamelessLine(item, &location);
    wire::AppendBytes(profile_fields::kLocation, location, &out_);
  }

  void AddLine(const ViewLine& item, std::string* location) {
    const std::string_view system_name = view_.Text(item.system_name);
    const std::string_view function = view_.Text(item.function);
    const std::string_view name = !function.empty() ? function : system_name;
    AddLineOf({Text(name.empty() ? "[unknown]" : name),
               Text(system_name.empty() ? name : system_name), Text(view_.Text(item.file))},
              item.line, location);
  }

  // The mapping stays one whose functions have to be looked for.
  void AddNamelessLine(const ViewLocation& item, std::string* location) {
    if (!item.function_start) return AddLine({}, location);
    const std::string name = AddressName(view_.Text(view_.mappings()[item.mapping].path),
                                         item.address, item.function_start);
    AddLineOf({Text(name), Text(name), 0}, 0, location);
  }

  void AddLineOf(const Function& function, int64_t number, std::string* location) {
    std::string line;
    wire::AppendNumber(line_fields::kFunctionId, functions_.Intern(function, true), &line);
    wire::AppendNumber(line_fields::kLine, static_cast<uint64_t>(std::max<int64_t>(number, 0)),
                       &line);
    wire::AppendBytes(location_fields::kLine, line, location);
  }

  void AddFunction(uint32_t id) {
    std::string function;
    wire::AppendNumber(function_fields::kId, id, &function);
    wire::AppendNumber(function_fields::kName, functions_[id].name, &function);
    wire::AppendNumber(function_fields::kSystemName, functions_[id].system_name, &function);
    wire::AppendNumber(function_fields::kFile, functions_[id].file, &function);
    wire::AppendBytes(profile_fields::kFunction, function, &out_);
  }

  const ProfileView& view_;
  std::vector<uint32_t> types_;  // Those that have samples.
  std::vector<ViewRow> rows_;
  const Programs programs_;
  int64_t period_ns_ = 0;
  std::string out_;
  StringTable strings_;
  std::vector<uint32_t> locations_;  // The view's ids, in order of first use.
  absl::flat_hash_map<uint32_t, uint64_t> location_ids_;
  std::map<uint32_t, MappingFacts> mappings_;  // By the view's ids.
  InternTable<Function> functions_;
};

}  // namespace

std::string PprofBytes(const ProfileView& view) { return PprofWriter(view).Write(); }

absl::StatusOr<std::string> PprofGzip(const ProfileView& view) {
  return GzipCompress(PprofBytes(view));
}

}  // namespace stackray
